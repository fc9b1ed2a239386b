"""Forward dynamics through embedded loops without their large blocks: only the bodies' own 6 x 6 ones are formed."""

import numpy as np

from ..model.tree import concatenated
from ..spatial import solve


def embedded_forward_dynamics(tree, phi, H, M, J, a, b, tau, base, groups, carriers, X, bend):
    """v̇ of given forces where each group S of nodes moves as v_S = X_S u: tips to base, then base to tips.

    With P(j), z(j) what node j and all that hangs on it from outside S feel like, and within S

        R(j) = P(j) + Σ φ R φ*,   𝓜_S, N   its mass matrix, and what its columns are at the carrier p
        D    = X* (𝓜_S + J) X,   ε = X* (τ − 𝓒_S),   ν = D⁻¹ ε
        P⁺   = Σ φ R φ* − N X D⁻¹ X* N*,   z⁺ = f_S + N X ν                     what p feels of S
        u̇    = ν − D⁻¹ X* N* α(p),   v̇_S = X u̇ + Ẋ u                              Jain (15.16) to (15.23)

    𝓒_S and f_S are the forces in S, and on p, when p is at rest and u̇ = 0. For a single node with X = I this is the
    articulated-body algorithm.
    """
    P = {k: M[k] for k in tree.base_to_tips()}
    z = {k: b[k] for k in tree.base_to_tips()}
    NX, D, nu, vdot, alpha = tree.slots(5)
    for g in reversed(range(len(groups))):
        members, p = groups[g], carriers[g]
        inside = set(members)
        R, f, accel, mass, N = tree.slots(5)
        rest = split(tree, members, bend[g])
        for k in members:
            moved    = accel[tree.parent[k]] if tree.parent[k] in inside else None
            own      = H[k].mT @ rest[k] + a[k]
            accel[k] = own if moved is None else phi[k].mT @ moved + own
        for k in reversed(members):
            R[k], f[k] = P[k] + R.get(k, 0.0), P[k] @ accel[k] + z[k] + f.get(k, 0.0)
            up = tree.parent[k]
            R[up], f[up] = R.get(up, 0.0) + phi[k] @ R[k] @ phi[k].mT, f.get(up, 0.0) + phi[k] @ f[k]
            F, j = R[k] @ H[k].mT, k
            while j != p:
                mass[j, k] = H[j] @ F
                F, j = phi[j] @ F, tree.parent[j]
            N[k] = F
        S    = matrix(tree, members, mass, J)
        eps  = X[g].mT @ (join([tau[k] - H[k] @ f[k] for k in members]) - joint_inertia(members, J, rest))
        D[g] = X[g].mT @ S @ X[g]
        NX[g] = concatenated([N[k] for k in members], -1) @ X[g]
        nu[g] = solve(D[g], eps)
        if p != tree.world:
            P[p] = P[p] + R[p] - NX[g] @ solve(D[g], NX[g].mT)
            z[p] = z[p] + f[p] + NX[g] @ nu[g]
    alpha[tree.world] = base
    for g, members in enumerate(groups):
        udot = nu[g] - solve(D[g], NX[g].mT @ alpha[carriers[g]])
        vdot.update(split(tree, members, X[g] @ udot + bend[g]))
        for k in members:
            alpha[k] = phi[k].mT @ alpha[tree.parent[k]] + H[k].mT @ vdot[k] + a[k]
    return vdot


def split(tree, members, x):
    """The rows of each member in a column of its group."""
    out, start = {}, 0
    for k in members:
        out[k] = x[..., start : start + tree.widths[k], :]
        start += tree.widths[k]
    return out


def join(parts):
    return concatenated(parts, -2)


def joint_inertia(members, J, x):
    return join([J[k] @ x[k] for k in members])


def matrix(tree, members, mass, J):
    """The symmetric matrix of blocks (j, k), j on the path of k, with joint inertia on its diagonal."""
    zero = lambda j, k: np.zeros_like(J[members[0]], shape=(tree.widths[j], tree.widths[k]))
    lines = []
    for j in members:
        row = []
        for k in members:
            block = mass[j, k] if (j, k) in mass else mass[k, j].mT if (k, j) in mass else zero(j, k)
            row.append(block + J[k] if j == k else block)
        lines.append(concatenated(row, -1))
    return concatenated(lines, -2)
