"""Dynamics: how a mechanism moves. Checks what comes in, picks the kernel, returns."""

from functools import cached_property

import numpy as np

from .errors import ShapeError, UnknownNameError, did_you_mean, listed
from .model import Model, lower
from .sweeps import quantities

INPUTS = {"q": "nq", "q0": "nq", "q1": "nq", "v": "nv", "dv": "nv", "vdot": "nv", "tau": "nv"}


class Dynamics:
    """Every quantity of a model's dynamics, for one state or any batch of them: leading axes are batch axes."""

    def __init__(self, model: Model):
        self.model = model

    # --- what there is

    @cached_property
    def _nodes(self):
        return {np.dtype(t): lower(self.model, t) for t in (np.float64, np.float32)}

    @cached_property
    def nq(self) -> int:
        return sum(hinge.joint.nq for hinge in self.model.hinges)

    @cached_property
    def nv(self) -> int:
        return sum(hinge.joint.nv for hinge in self.model.hinges)

    @cached_property
    def bodies(self) -> list[str]:
        return [body.name for body in self.model.bodies]

    @cached_property
    def joints(self) -> list[str]:
        return list(self._rows)

    @cached_property
    def _rows(self) -> dict[str, tuple[slice, slice]]:
        rows, nq, nv = {}, 0, 0
        for hinge in self.model.hinges:
            joint = hinge.joint
            if joint.nq:
                rows[hinge.name] = slice(nq, nq + joint.nq), slice(nv, nv + joint.nv)
            for name, part, _ in joint.parts:
                if name and part.nq:
                    known = name if name not in rows and not name.isdigit() else f"{hinge.name}.{name}"
                    rows[known] = slice(nq, nq + part.nq), slice(nv, nv + part.nv)
                nq, nv = nq + part.nq, nv + part.nv
        return rows

    def q_index(self, joint: str) -> slice:
        """Where the coordinates of a joint are in q."""
        return self._row(joint)[0]

    def v_index(self, joint: str) -> slice:
        """Where the velocities of a joint are in v."""
        return self._row(joint)[1]

    def _row(self, joint):
        if joint not in self._rows:
            raise UnknownNameError(f'{self.model.name} has no joint "{joint}" that moves.{did_you_mean(joint, self._rows)}')
        return self._rows[joint]

    def neutral(self) -> np.ndarray:
        """q with every joint at its identity."""
        parts = [part.group.identity for hinge in self.model.hinges for _, part, _ in hinge.joint.parts]
        return np.concatenate([np.zeros(0), *parts])

    def random_state(self, shape=(), seed=None) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) drawn at random: angles and distances within their limits, attitudes uniform, velocities normal."""
        rng = np.random.default_rng(seed)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        q = [np.zeros((*shape, 0))]
        for hinge in self.model.hinges:
            q += [random_element(part, shape, rng) for _, part, _ in hinge.joint.parts]
        return np.concatenate(q, -1), rng.standard_normal((*shape, self.nv))

    # --- what moves

    def mass_matrix(self, q, *, out=None):
        return self._run("mass_matrix", q=q, out=out)

    def mass_matrix_inverse(self, q, *, out=None):
        return self._run("mass_matrix_inverse", q=q, out=out)

    def inverse_dynamics(self, q, v, vdot, external=None, *, out=None):
        """tau = 𝓜 vdot + C v + g − J* external."""
        return self._run("inverse_dynamics", q=q, v=v, vdot=vdot, external=external, out=out)

    def forward_dynamics(self, q, v, tau, external=None, *, out=None):
        """vdot = 𝓜⁻¹ (tau − C v − g + J* external)."""
        return self._run("forward_dynamics", q=q, v=v, tau=tau, external=external, out=out)

    def bias(self, q, v, *, out=None):
        return self._run("bias", q=q, v=v, out=out)

    def gravity_force(self, q, *, out=None):
        return self._run("gravity_force", q=q, out=out)

    def coriolis_matrix(self, q, v, *, out=None):
        return self._run("coriolis_matrix", q=q, v=v, out=out)

    def passive_force(self, q, v, *, out=None):
        return self._run("passive_force", q=q, v=v, out=out)

    def kinetic_energy(self, q, v, *, out=None):
        return self._run("kinetic_energy", q=q, v=v, out=out)

    def potential_energy(self, q, *, out=None):
        return self._run("potential_energy", q=q, out=out)

    def center_of_mass(self, q, *, out=None):
        return self._run("center_of_mass", q=q, out=out)

    def centroidal_momentum(self, q, v, *, out=None):
        return self._run("centroidal_momentum", q=q, v=v, out=out)

    def poses(self, q, *, out=None):
        return self._run("poses", q=q, out=out)

    def pose(self, q, body: str, *, out=None):
        return self._run("pose", q=q, out=out, at=self._place(body))

    def jacobian(self, q, body: str, axes: str = "body", *, out=None):
        if axes not in ("body", "world"):
            raise ValueError(f'axes is "{axes}"; it may be "body" or "world".')
        return self._run("jacobian", q=q, out=out, at=(*self._place(body), axes))

    def integrate(self, q, dv, *, out=None):
        return self._run("integrate", q=q, dv=dv, out=out)

    def difference(self, q0, q1, *, out=None):
        return self._run("difference", q0=q0, q1=q1, out=out)

    def qdot(self, q, v, *, out=None):
        return self._run("qdot", q=q, v=v, out=out)

    # --- how

    def _place(self, name):
        index, pose = self.model.place(name)
        nodes = self._nodes[np.dtype(float)]
        return nodes.on[index], (nodes.placements[index] @ pose).matrix

    def _run(self, what, *, out=None, at=(), **inputs):
        arrays = {name: np.asarray(x) for name, x in inputs.items() if x is not None}
        for name, x in arrays.items():
            self._check(name, x)
        kind = np.result_type(*arrays.values(), np.float32)
        nodes = self._nodes[np.dtype(kind)]
        arrays = {name: x.astype(kind, copy=False) for name, x in arrays.items()}
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - (2 if name == "external" else 1)] for name, x in arrays.items()))
        with np.errstate(all="ignore"):
            result = np.asarray(getattr(quantities, what)(nodes, *arrays.values(), *at))
        result = np.broadcast_to(result, batch + result.shape[result.ndim - CORE.get(what, 1) :])
        if out is None:
            return result.copy() if not result.flags.writeable else result
        out[...] = result
        return out

    def _check(self, name, x):
        core = (len(self.bodies), 6) if name == "external" else (getattr(self, INPUTS[name]),)
        if x.dtype.kind not in "fiub" or x.dtype.itemsize > 8:
            raise ShapeError(f"{name} has dtype {x.dtype}; {self.model.name} takes float64 or float32.")
        if x.shape[x.ndim - len(core) :] != core:
            said = f"external wrenches of shape {core}, one for each body" if name == "external" else f"{INPUTS[name]} = {core[0]}"
            raise ShapeError(f"{name} has shape {x.shape}, but {self.model.name} has {said} ({listed(self.joints, 2)}).")

    def __str__(self) -> str:
        return str(self.model)

    def __repr__(self) -> str:
        return f"Dynamics({self.model!r})"

    def _repr_html_(self) -> str:
        return self.model._repr_html_()


CORE = {"mass_matrix": 2, "mass_matrix_inverse": 2, "coriolis_matrix": 2, "jacobian": 2, "pose": 2, "poses": 3,
        "kinetic_energy": 0, "potential_energy": 0}  # fmt: skip


def random_element(joint, shape, rng):
    """Coordinates of a joint at random: uniform within limits, or a turn or metre each way where there are none."""
    q = rng.uniform(-1, 1, (*shape, joint.nq))
    if joint.group.units:
        for rows in joint.group.units:
            x = rng.standard_normal((*shape, rows.stop - rows.start))
            q[..., rows] = x / np.linalg.norm(x, axis=-1, keepdims=True)
        return q
    reach = np.pi * (joint.group.basis[:, :3] != 0).any(1) + (joint.group.basis[:, :3] == 0).all(1)
    lower, upper = joint.each("lower", -np.inf), joint.each("upper", np.inf)
    lower, upper = np.where(np.isfinite(lower), lower, -reach), np.where(np.isfinite(upper), upper, reach)
    return lower + (upper - lower) * (q + 1) / 2
