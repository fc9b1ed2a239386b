"""Lowered: what kernels and plain runs need of a model, in one place."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..engine.loading.cache import is_ours
from ..engine.running.checks import check_arrays, checked
from ..engine.tracing.program import Input
from ..errors import ModelError, listed
from ..model import Model
from .derived import Derived, Producer
from .fluid import FluidForces
from .lowering import lower
from .nodes import Nodes
from .singular import singular

DTYPES = np.dtype(np.float64), np.dtype(np.float32)


class Lowered:
    """A model as nodes for every way to run, with the shapes of its arrays and the checks of what users give.

    plain(dtype)     nodes for a run in NumPy
    nodes            nodes that kernels are traced on: fixed translations and rotations apart, in frames that make them sparse
    joint_space      the same with inertia regrouped, for results that concern the joints alone
    """

    def __init__(self, model: Model, producers: Sequence[Producer] = ()):
        """`producers` make other blocks of the rigid tree's, one after another (see `derived`)."""
        in_fluid = () if model.fluid is None else (FluidForces(model, model.fluid),)
        self.model, self.foreign_producers = model, tuple(producers)  # those that are not part of the model
        self.producers = (*in_fluid, *producers)
        for x in self.producers:
            if not isinstance(x, Producer):
                raise ModelError(f"{model.name}: system is {x!r}; it takes producers of blocks, objects of a linkwork.systems.Producer.")
        if self.producers and model.flexible_bodies:
            titles = " and ".join(x.title for x in self.producers)
            raise ModelError(
                f"{model.name} has flexible bodies and {titles}, which knows the blocks of rigid bodies alone. Use bodies without modes, "
                "or forces from outside: external=..."
            )
        self._plain: dict[np.dtype, Nodes] = {}

    def plain(self, dtype=np.float64) -> Nodes:
        dtype = np.dtype(dtype)
        if dtype not in self._plain:
            self._plain[dtype] = lower(self.model, dtype)
        return self._plain[dtype]

    @cached_property
    def nodes(self) -> Nodes:
        return lower(self.model, split=True)

    @cached_property
    def joint_space(self) -> Nodes:
        return self.nodes.regrouped() if self.is_rigid else self.nodes

    @cached_property
    def is_rigid(self) -> bool:
        """Is the system the rigid tree itself: no producer of other blocks, no flexible body?"""
        return not self.producers and not self.is_flexible

    @cached_property
    def is_flexible(self) -> bool:
        """Are there bodies that deform?"""
        return not self.plain().is_rigid

    def system(self, nodes):
        """The system that nodes of this model are, over whatever scalars."""
        for producer in self.producers:
            nodes = Derived(nodes, producer)
        return nodes

    def only_rigid(self, who: str) -> None:
        """Raises if the system is not the rigid tree itself."""
        if self.is_flexible:
            instead = "Use Dynamics(model), or bodies without modes."
            raise ModelError(f"{who} is for rigid trees; {self.model.name} has flexible bodies. {instead}")
        if self.producers:
            titles = " and ".join(x.title for x in self.producers)
            instead = f"lw.Dynamics and lw.simulate know {'it' if len(self.producers) == 1 else 'them'}."
            raise ModelError(f"{who} is for rigid trees, and leaves out {titles} of {self.model.name}. {instead}")

    # --- sizes

    @cached_property
    def nq(self) -> int:
        return sum(placed.joint.nq for placed in self.model.joints)

    @cached_property
    def nv(self) -> int:
        return sum(placed.joint.nv for placed in self.model.joints)

    @property
    def nb(self) -> int:
        return len(self.model.bodies)

    def shape(self, sizes) -> tuple[int, ...]:
        """Sizes by name ("nq", "nv", "nb") or number as a shape."""
        return tuple(getattr(self, n) if isinstance(n, str) else n for n in sizes)

    @cached_property
    def units(self) -> tuple[slice, ...]:
        """The rows of q that are unit quaternions."""
        nodes = self.nodes
        return tuple(
            slice(rows.start + u.start, rows.start + u.stop) for rows, group in zip(nodes.q_rows, nodes.groups) for u in group.units
        )

    def input(self, name: str, sizes) -> Input:
        """An argument of a kernel; coordinates are called q, q0 or q1."""
        return Input(name, self.shape(sizes), self.units if name in ("q", "q0", "q1") else ())

    @cached_property
    def digest(self) -> str:
        """A name for everything that decides the dynamics, if all the code is the library's own."""
        return self.nodes.digest()

    @cached_property
    def is_ours(self) -> bool:
        """Is all the code the library's own? Kernels on disk are found by the digest only then: the text of a user's joint or
        producer is not part of it."""
        return not self.producers and all(is_ours(type(group)) for group in self.nodes.groups)

    @property
    def decided_by(self) -> str | None:
        """What tells it from others: see engine/loading/identity.py."""
        return self.digest if self.is_ours else None

    # --- checks

    def check(self, inputs, arrays) -> None:
        """Arrays have the dtypes and shapes of these inputs, and their batch axes go together; or it is said which do not."""
        check_arrays(self.model.name, inputs, arrays, self._expected)

    def checked(self, inputs, given) -> tuple[list[np.ndarray], np.dtype]:
        """What is given for these inputs as such arrays, and the dtype to compute in."""
        return checked(self.model.name, inputs, given, self._expected)

    def _expected(self, x: Input) -> str:
        moving = [placed.name for placed in self.model.joints if placed.joint.nv]
        wrenches = f"external wrenches of shape {x.shape}, one for each body"
        has = wrenches if x.name == "external" else f"{'nq' if x.name[0] in 'qQ' else 'nv'} = {x.shape[0]}"
        return f"{self.model.name} has {has} ({listed(moving, 2)})"

    def refuse_singular(self, at: np.ndarray | None) -> None:
        """Raises if some joint moves nothing that has inertia: no force gives it a finite acceleration. With a configuration
        `at` all joints are looked at, without one only the tips."""
        if at is None and not self.is_rigid:
            return  # what they add is known at a configuration only
        nodes = self.nodes if at is None else self.system(self.plain())
        if (k := singular(nodes, at)) is not None:
            joint, body = nodes.labels[k], self.model.joint(nodes.labels[k]).child
            raise ModelError(
                f'{self.model.name}: joint "{joint}" moves nothing that has inertia along it, so its acceleration is not defined. '
                f'Give body "{body}", or one it carries, a mass or a tensor, or the joint an armature.'
            )
