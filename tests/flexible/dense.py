"""Equations of motion of flexible bodies from positions alone, summed over samples of mass; nothing of the recursion is used.

    Σ w J* (J v̇ + c),   J and c the first and second derivatives of positions along curves of constant velocity,

taken by Cauchy's integral in the complex plane. A robot with root-free description: bodies with samples, joints as matrices.
"""

import numpy as np
import scipy.linalg

N, RADIUS = 24, 0.01


def hat3(x):
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def twist(z):
    out = np.zeros((4, 4), np.asarray(z).dtype)
    out[:3, :3], out[:3, 3] = hat3(z[:3]), z[3:]
    return out


def frame(attachment, eta):
    """The pose of a frame on a body: orthogonal, from the Cayley map as a solution of linear equations."""
    u = attachment.linear @ eta + np.einsum("pij,i,j->p", attachment.quadratic, eta, eta) / 2
    g = u[:3] / 2 * (1 + u[:3] @ u[:3] / 12)
    T = np.eye(4, dtype=eta.dtype)
    T[:3, :3] = np.linalg.solve(np.eye(3) - hat3(g), np.eye(3) + hat3(g)) @ attachment.pose.rotation
    T[:3, 3] = np.array(attachment.pose.translation) + u[3:]
    return T


class Link:
    """A flexible body on a joint: number of the parent or -1, its frame there (name, or pose), the joint's group, body, root, samples."""

    def __init__(self, parent, place, group, body, root, samples):
        self.parent, self.place, self.group, self.body, self.root, self.samples = parent, place, group, body, root, samples


def positions(links, q, v, t):
    """Of all samples at q moved along v for a (complex) time t."""
    T, etas, out, i, j = [], [], [], 0, 0
    for x in links:
        n, g = x.body.n, x.group
        eta = q[i + g.nq : i + g.nq + n] + t * v[j + g.nv : j + g.nv + n]
        base = x.place if x.parent < 0 else T[x.parent] @ frame(links[x.parent].body.frames[x.place], etas[x.parent])
        step = scipy.linalg.expm(t * twist(g.basis.T @ v[j : j + g.nv] + 0j))
        T.append(base @ g.matrix(q[i : i + g.nq]) @ step @ np.linalg.inv(frame(x.body.attachment(x.root), eta)))
        etas.append(eta)
        for s in x.samples:
            r = s.r0 + s.r1 @ eta + np.einsum("spij,i,j->sp", s.r2, eta, eta, optimize=True) / 2
            out.append(r @ T[-1][:3, :3].T + s.moves[:, None] * T[-1][:3, 3])
        i, j = i + g.nq + n, j + g.nv + n
    return np.concatenate(out)


def derivatives(f):
    """f'(0), f''(0) of an analytic function that is real for real arguments."""
    w = np.exp(2j * np.pi * np.arange(N) / N)
    values = np.stack([f(RADIUS * z) for z in w])
    return [k * np.tensordot(w**-k, values, 1).real / N / RADIUS**k for k in (1, 2)]


def equations(links, q, v, gravity):
    """Mass matrix, bias with gravity and elastic forces, kinetic energy."""
    w = np.concatenate([s.weights for x in links for s in x.samples])
    moves = np.concatenate([s.moves for x in links for s in x.samples])
    J = np.stack([derivatives(lambda t, e=e: positions(links, q, e, t))[0] for e in np.eye(len(v))], -1)
    c = derivatives(lambda t: positions(links, q, v, t))[1] - moves[:, None] * np.asarray(gravity)
    bias = np.einsum("s,sxi,sx->i", w, J, c)
    i = j = 0
    for x in links:
        n, g = x.body.n, x.group
        bias[j + g.nv : j + g.nv + n] += x.body.stiffness @ q[i + g.nq : i + g.nq + n]
        i, j = i + g.nq + n, j + g.nv + n
    u = J @ v
    return np.einsum("s,sxi,sxj->ij", w, J, J), bias, 0.5 * np.einsum("s,sx,sx", w, u, u)
