"""Forward dynamics written with batched arrays of torch or JAX, as one would by hand: the same sweep, a matrix product at a time."""

import numpy as np


class SweepByHand:
    """The articulated-body sweep of a robot whose joints are free, revolute or prismatic."""

    def __init__(self, xp, robot, there):
        """`xp` is torch or jax.numpy, `there` makes its arrays of NumPy's."""
        nodes = robot.lowered.plain()
        self.xp, self.tree, self.q_rows = xp, nodes.tree, nodes.q_rows

        parts = nodes.fixed, nodes.H, nodes.M, nodes.joint_inertias
        self.fixed, self.H, self.M, self.armature = ([there(np.asarray(x, float)) for x in part] for part in parts)
        self.falling, self.eye = there(np.asarray(nodes.falling, float)), there(np.eye(3))

    def __call__(self, q, v, tau):
        xp, tree, H = self.xp, self.tree, self.H
        n = len(self.H)
        rows = list(tree.rows)
        phi, V, a, b = [None] * n, [None] * n, [None] * n, [None] * n
        for k in range(n):
            R, p = self._placed(k, q[:, self.q_rows[k]])
            phi[k] = self._blocks(R, self._tilde(p) @ R, xp.zeros_like(R), R)
            moved = H[k].mT @ v[:, rows[k], None]
            V[k] = moved if tree.parent[k] < 0 else phi[k].mT @ V[tree.parent[k]] + moved
            w, u = self._tilde(V[k][:, :3, 0]), self._tilde(V[k][:, 3:, 0])
            a[k] = self._blocks(w, xp.zeros_like(w), u, w) @ moved
            b[k] = self._blocks(w, u, xp.zeros_like(w), w) @ (self.M[k] @ V[k])
        P, z, G, nu = [self.M[k] for k in range(n)], list(b), [None] * n, [None] * n
        for k in reversed(range(n)):
            z[k] = z[k] + P[k] @ a[k]
            HP = H[k] @ P[k]
            D = HP @ H[k].mT + self.armature[k]
            eps = tau[:, rows[k], None] - H[k] @ z[k]
            inverse = 1 / D if D.shape[-1] == 1 else xp.linalg.inv(D)
            G[k], nu[k] = (inverse @ HP).mT, inverse @ eps
            if tree.parent[k] >= 0:
                up = tree.parent[k]
                P[up] = P[up] + phi[k] @ (P[k] - G[k] @ HP) @ phi[k].mT
                z[up] = z[up] + phi[k] @ (z[k] + G[k] @ eps)
        alpha, vdot = [None] * n, [None] * n
        for k in range(n):
            alpha_plus = phi[k].mT @ (self.falling if tree.parent[k] < 0 else alpha[tree.parent[k]])
            vdot[k] = nu[k] - G[k].mT @ alpha_plus
            alpha[k] = alpha_plus + H[k].mT @ vdot[k] + a[k]
        return xp.concatenate(vdot, 1)[..., 0]

    def _placed(self, k, q):
        """Rotation and position of a node on its parent."""
        if q.shape[1] == 7:
            x, y, z, w = (q[:, i] for i in range(4))
            R = self.xp.stack(
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
                 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], -1
            ).reshape(-1, 3, 3)  # fmt: skip
            p = q[:, 4:]
        else:
            axis = self._tilde(self.H[k][:, :3])
            s, c = self.xp.sin(q)[..., None], self.xp.cos(q)[..., None]
            R, p = self.eye + s * axis + (1 - c) * (axis @ axis), q * self.H[k][:, 3:]
        F = self.fixed[k]
        return F[:3, :3] @ R, (F[:3, :3] @ p[..., None] + F[:3, 3:])[..., 0]

    def _tilde(self, x):
        o = self.xp.zeros_like(x[:, 0])
        x, y, z = (x[:, i] for i in range(3))
        return self.xp.stack([o, -z, y, z, o, -x, -y, x, o], -1).reshape(-1, 3, 3)

    def _blocks(self, a, b, c, d):
        return self.xp.concatenate([self.xp.concatenate([a, b], -1), self.xp.concatenate([c, d], -1)], -2)
