"""Derivatives of the centre of mass, of momentum and of kinetic energy, those by q along the group."""

from .. import sweeps
from ..lie.embedding import tilde
from ..sweeps.momentum import moment_of_mass
from ..systems.rigid import placements
from . import by_program, long
from .declaration import Honours, quantity
from .momentum import from_center

NOTHING = Honours.NOTHING
MOMENTUM = by_program.jacobian("centroidal_momentum", "q", "v")


def masses(system, who: str, q):
    """Blocks at q, and the centre of mass and the mass of all, columns."""
    system.check_rigid(who)
    X = placements(system, q)
    total = moment_of_mass(system.tree, X, system.moment)
    return system.placed_blocks(X, q), total[..., :3, :] / total[..., 3:, :], total[..., 3:, :]


@quantity((3, "nv"), NOTHING, rolls=False, long=long.center_of_mass_jacobian, program=by_program.jacobian("center_of_mass", "q"))
def center_of_mass_jacobian(system, q):
    """ċ per velocity, in the world: linear momentum by the mass."""
    s, _, mass = masses(system, "center_of_mass_jacobian", q)
    _, by_v = sweeps.momentum_derivatives(s, s.tree.constant(system.still) | {s.tree.world: system.still})
    return by_v[..., 3:, :] / mass


@quantity(((6, "nv"),) * 2, NOTHING, rolls=False, long=long.centroidal_momentum_derivatives, program=MOMENTUM)
def centroidal_momentum_derivatives(system, q, v):
    """∂h/∂q, and ∂h/∂v, the centroidal momentum matrix, of the momentum about the centre of mass c:

        ∂[n − c × f; f] = [∂n − c × ∂f + f × ∂c; ∂f]
    """
    s, c, mass = masses(system, "centroidal_momentum_derivatives", q)
    V = sweeps.velocities(s, s.tree.split(v), system.still)
    f = (system.still + sweeps.momentum(s, V))[..., 3:, 0]
    by_q, by_v = sweeps.momentum_derivatives(s, V)
    return from_center(c[..., 0], by_q, tilde(f) @ by_v[..., 3:, :] / mass), from_center(c[..., 0], by_v)


@quantity((6,), NOTHING, program=by_program.jvp("centroidal_momentum"))
def centroidal_momentum_change(system, q, v, dq, dv):
    """The rate of `centroidal_momentum` while q moves with the velocity dq and v with the rate dv; for dq = v and dv = v̇, what gravity
    and forces from outside exert about the centre of mass."""
    s, c, mass = masses(system, "centroidal_momentum_change", q)
    v, dq, dv = (s.tree.split(x) for x in (v, dq, dv))
    V, W = (sweeps.velocities(s, x, system.still) for x in (v, dq))
    f, moving = ((system.still + sweeps.momentum(s, x))[..., 3:, :] for x in (V, W))
    h_dot = system.still + sweeps.momentum_rate(s, V, dq, dv, system.still)
    return from_center(c[..., 0], h_dot, tilde(f[..., 0]) @ moving / mass)[..., 0]


@quantity((("nv",),) * 2, NOTHING, of_joints=True, program=by_program.jacobian("kinetic_energy", "q", "v"))
def kinetic_energy_gradient(system, q, v):
    """∂T/∂q, and ∂T/∂v = 𝓜 v, the generalized momentum."""
    system.check_rigid("kinetic_energy_gradient")
    s, rates = system.blocks(q), system.tree.split(v)
    return tuple(map(s.tree.join, sweeps.kinetic_energy_gradient(s, rates, system.still)))
