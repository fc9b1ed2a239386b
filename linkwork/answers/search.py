"""The way to rest: steps within a trust region, down the potential energy, or towards the balance of forces wherever that is.

    energy    f = U(q) − W(q),     slope g,      curvature (K + K*)/2                ends where K has no negative eigenvalue
    forces    f = ½ g* g,          slope K* g,   curvature K* K                      ends at any balance, stable or not

Every step keeps the constraints, and is as good as its first and second derivatives say, or is shortened (Moré and Sorensen).
"""

import numpy as np

from ..errors import EquilibriumError
from ..model import Spring
from ..model.coordinates import entry_names, entry_units
from .balance import INDIFFERENT, Place, Problem

EPS = float(np.finfo(float).eps)
STEPS = 300
FIRST = 0.3  # radians or sizes of the mechanism: the first step
TURN = 1.0  # radians that a joint may turn in one step
NEAR = 1e-9  # radians or sizes: balance that is nearer is reached
LEFT = 1e-10  # of the force scale: what no step removes may be left
TURNS = 60  # steps, each of a radian at most: a joint that has found no rest then turns on and on
AWAY = 1e7  # sizes of the mechanism: what goes farther goes away
SMALL = 1e-12  # of the energy: changes below are rounding


def settle(problem: Problem, q, active, by_energy: bool) -> tuple[Place, int]:
    """The balance that is reached from a configuration on the constraints, and the number of steps; or an error that says why none is."""
    place, radius, travelled, step = problem.at(q, active), FIRST, 0.0, 0
    check_numbers(place)
    for step in range(STEPS):
        if balanced(place):
            place = polished(place)
            further = onward(place, by_energy)
            if further is None:
                check_springs(place)
                return place, step
            place, radius = further, FIRST
            continue
        s, expected = best_step(place, radius, by_energy)
        length, there = float(np.linalg.norm(s)), place.moved(s)
        gained = -np.inf if there is None else gain(place, there, by_energy)
        if there is not None and (gained > 1e-4 * expected > 0 or (there.active != place.active and gained >= 0)):
            travelled += length
            radius = max(radius, 2 * length) if gained > 0.75 * expected else radius if gained > 0.25 * expected else length / 2
            place = there
            if travelled > AWAY or (by_energy and step % 10 == 9 and falls_away(place, step)):
                raise EquilibriumError(going_away(place))
        else:
            radius = min(radius, length) / 4
            if radius < 1e-13:
                break
    raise EquilibriumError(stuck(place, by_energy, step + 1))


def best_step(place: Place, radius: float, by_energy: bool) -> tuple[np.ndarray, float]:
    """A step within the region, and how much less f it is expected to give."""
    grad, H = (place.g, symmetric(place.K)) if by_energy else (place.K.T @ place.g, place.K.T @ place.K)
    s = turned_less(place, place.newton if newton_serves(place, radius, by_energy) else trust_step(grad, H, radius))
    return s, float(-(grad @ s + s @ H @ s / 2))


def onward(place: Place, by_energy: bool) -> Place | None:
    """Where to go on from a balance that is none, a limit having to pull, or that is not stable; None where it is the answer."""
    if (i := pulling_limit(place)) is not None:
        return place.without(i)
    down = falling(place) if by_energy else None
    return None if down is None else escape(place, down)


def check_springs(place: Place) -> None:
    """No spring that has a length stands with both ends at one point, where its energy has a tip and no derivative."""
    robot = place.problem.robot
    for spring in (x for x in robot.model.forces if isinstance(x, Spring) and x.stiffness * x.length > 0):
        ends = [
            np.array(point) if body is None else (robot.pose(place.q, body) @ [*point, 1.0])[:3]
            for body, point in ((spring.one, spring.at), (spring.other, spring.on))
        ]
        if np.linalg.norm(ends[1] - ends[0]) <= 1e-9 * spring.length:
            raise EquilibriumError(
                f'{robot.model.name} balances where both ends of spring "{spring.name}" are at one point: it pushes in no direction there, '
                "and away from there as soon as it is left. Start beside it."
            )


def check_numbers(place: Place) -> None:
    if not (np.isfinite(place.missing).all() and np.isfinite(place.whole_stiffness).all()):
        names = entry_names(place.problem.robot.model)[1]
        wrong = [name for name, x, row in zip(names, place.missing, place.whole_stiffness) if not np.isfinite([x, *row]).all()]
        raise EquilibriumError(
            f"{place.problem.robot.model.name} has forces at this start that are no numbers, along {', '.join(wrong[:3])}: a quaternion of "
            "zeros, say. Start a little beside it."
        )


def balanced(place: Place) -> bool:
    near = max(NEAR, 8 * EPS * float(np.abs(place.q).max(initial=0.0)))  # large angles have no more digits
    if place.far <= near and place.unbalanced <= LEFT:
        return True
    return bool(np.linalg.norm(place.g) <= 32 * EPS * place.stiffness_scale)  # rounding, where hardly anything pushes back


def symmetric(K) -> np.ndarray:
    return (K + K.T) / 2


def gain(place: Place, there: Place, by_energy: bool) -> float:
    """How much less f is there; where energies differ by rounding, forces say it."""
    if not np.isfinite(there.missing).all():
        return -np.inf
    if not by_energy:
        return float(place.g @ place.g - there.g @ there.g) / 2
    less = place.energy - there.energy
    rounding = SMALL * max(abs(place.energy), abs(there.energy), place.force_scale)
    if abs(less) > rounding:
        return less
    smaller = float(np.linalg.norm(there.g)) < float(np.linalg.norm(place.g))
    return np.inf if smaller and len(place.g) else less


def newton_serves(place: Place, radius: float, by_energy: bool) -> bool:
    """Is a full step to the balance within the region, and downhill?"""
    if place.far > radius or place.unbalanced > LEFT:
        return False
    return not by_energy or falling(place) is None


def falling(place: Place) -> np.ndarray | None:
    """The direction in which the energy has the most negative curvature, if there is one."""
    if not len(place.g):
        return None
    values, vectors = np.linalg.eigh(symmetric(place.K))
    return vectors[:, 0] if values[0] < -INDIFFERENT * place.stiffness_scale else None


def escape(place: Place, down) -> Place | None:
    """Off a balance that is not stable, along the direction in which the energy falls most; None where it falls nowhere near."""
    down = down * np.sign(down[np.argmax(np.abs(down))])
    for length in FIRST * 0.25 ** np.arange(10):
        for sign in (1.0, -1.0):
            there = place.moved(turned_less(place, sign * length * down))
            if there is not None and gain(place, there, True) > 0:
                return there
    return None


def polished(place: Place) -> Place:
    """Full steps as long as each at least halves what is left of the forces."""
    for _ in range(10):
        if np.linalg.norm(place.g) <= 0.1 * EPS * place.force_scale:
            break
        there = place.moved(place.newton)
        if there is None or not np.linalg.norm(there.g) < 0.5 * np.linalg.norm(place.g):
            break
        place = there
    return place


def pulling_limit(place: Place) -> int | None:
    """The limit that would have to pull, the most, if one does."""
    if not place.active:
        return None
    pushing = np.array([limit.side for limit in place.active]) * place.stop_forces
    pushing = pushing * np.array([place.problem.set.reach[limit.rate] for limit in place.active])
    i = int(np.argmin(pushing))
    return i if pushing[i] < -LEFT * place.force_scale else None


def trust_step(grad, H, radius: float) -> np.ndarray:
    """The least of grad s + ½ s H s within a radius: s = −(H + μ)⁻¹ grad, with the least μ ≥ 0 for which H + μ is not negative."""
    values, V = np.linalg.eigh(H)
    b, least = V.T @ grad, max(0.0, -float(values[0]))
    size = max(float(np.abs(values).max()), float(np.linalg.norm(grad)) / radius, 1e-300)

    def step(mu):
        return -b / np.maximum(values + mu, 1e-16 * size)

    low, high = least, least + size
    while np.linalg.norm(step(high)) > radius:
        low, high = high, 2 * high
    if np.linalg.norm(step(low)) > radius:
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if np.linalg.norm(step(middle)) > radius else (low, middle)
        return V @ step(high)
    s = step(low)
    if values[0] < 0:  # hardly anything pushes along the direction that falls: go to the edge of the region
        way = -b[0] if abs(b[0]) > 1e-12 * float(np.linalg.norm(b)) else V[np.argmax(np.abs(V[:, 0])), 0]
        s[0] += np.sign(way) * np.sqrt(max(radius**2 - float(s @ s), 0.0))
    return V @ s


def turned_less(place: Place, s) -> np.ndarray:
    """A step that turns no joint by more than a radian."""
    most = float(np.abs((place.X_position @ s)[place.problem.set.turns]).max(initial=0.0))
    return s * min(1.0, TURN / most) if most else s


def falls_away(place: Place, steps: int) -> bool:
    """Is the energy far away, where the forces lead, lower than any rest nearby can be? First along lengths alone; along angles, between
    whose turns there may be a rest, where many steps have found none."""
    p, left = place.problem, -place.X @ place.g
    if len(p.set):
        return False
    for limit in p.limits if p.stops else ():
        if limit.side * left[limit.rate] < 0:
            left[limit.rate] = 0.0
    for way in (np.where(p.set.turns, 0.0, left), *([left] if steps > TURNS else [])):
        far = 1e6 * p.set.reach * way / max(float(np.abs(way).max(initial=0.0)), 1e-300)
        if p.energy(p.robot.integrate(place.q, far)) < place.energy - 1e4 * place.force_scale:
            return True
    return False


def going_away(place: Place) -> str:
    name, along = place.problem.robot.model.name, main_names(place, place.X @ place.g)
    return (
        f"{name} has no equilibrium from this start: nothing holds it along {along}, and the energy falls without end. "
        "Give that joint a spring, a limit (limits=True), or another tau."
    )


def stuck(place: Place, by_energy: bool, steps: int) -> str:
    """What to say of a search that has ended without balance."""
    name, left = place.problem.robot.model.name, place.X @ place.g
    said = f"{name} came to no equilibrium from this start: after {steps} steps forces of up to {force_text(place, left)} are left along "
    said += main_names(place, left)
    if by_energy:
        return (
            f"{said}; the energy still falls there, or has a kink. Give what falls without end a spring, a limit (limits=True) or another "
            'tau; or start elsewhere, or with search="forces".'
        )
    more = "" if place.problem.without_energy else ', or search="energy", which goes down to a stable one'
    return f"{said}, and no small change makes them less. There may be no equilibrium with these forces: try another start{more}."


def force_text(place: Place, left, digits: int = 3) -> str:
    """The largest of the forces (nv,), given as moments, in the unit of its own coordinate."""
    if not len(left):
        return "0 N"
    i = int(np.argmax(np.abs(left)))
    return f"{abs(left[i]) / place.problem.set.reach[i]:.{digits}g} {entry_units(place.problem.robot.model)[i][2]}"


def main_names(place: Place, direction) -> str:
    """The coordinates that take the largest part in a direction (nv,), without units."""
    names, size = entry_names(place.problem.robot.model)[1], np.abs(direction)
    order = [i for i in np.argsort(-size)[:3] if size[i] > 0.3 * size.max(initial=0.0)]
    return ", ".join(names[i] for i in order) or "no coordinate"
