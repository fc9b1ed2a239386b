"""Flexible bodies from finite elements: nodes with rigid inertias, or mass and stiffness matrices.

A node has six freedoms [θx θy θz ux uy uz] or three, [ux uy uz]. Freedom j of node i is number 6 i + j, or 3 i + j.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import scipy.sparse

from ..errors import ModelError, did_you_mean
from ..lie.scalars import numbers
from ..lie.so3 import tilde
from ..spatial import Pose
from .attachment import Attachment
from .body import FlexibleBody, Outline
from .faces import triangles
from .modes import checked, craig_bampton, normal_modes, orthogonal, without_rounding
from .samples import Samples, Terms, cleaned, condensed, polynomial

KINDS = "cantilever", "free", "craig-bampton"
KEEP = "second", "all", "cut"


def of_matrices(mass, stiffness, positions, *, rotations: str = "first", **options) -> FlexibleBody:
    """From mass and stiffness matrices, arrays or SciPy sparse, and the positions (N, 3) of the nodes.

    Three freedoms a node, or six, rotations "first" or "last" among them. A mass matrix of three freedoms that is the same in every
    direction is taken as it is. Of others the inertia of the undeformed body is exact, and what deformation changes of it is that of
    masses in the nodes: `of_nodes` knows more. Second-order displacements (stiffening by load) are not in matrices:
    give them as `quadratic` (N, 3 or 6, n, n) with your own modes, or make the body of several. Options: see `reduced`.
    """
    positions = _positions(positions)
    count = len(positions)
    size = np.shape(stiffness)[0] if np.ndim(stiffness) else 0
    if size not in (3 * count, 6 * count):
        raise ModelError(f"the stiffness matrix has shape {np.shape(stiffness)}; {count} nodes have {3 * count} or {6 * count} freedoms.")
    d = size // count
    K, M = checked("the stiffness matrix", stiffness, size), checked("the mass matrix", mass, size)
    if d == 6 and rotations == "last":
        order = np.arange(size).reshape(count, 2, 3)[:, ::-1].ravel()
        K, M = K[order][:, order], M[order][:, order]
    elif rotations not in ("first", "last"):
        raise ModelError(f'rotations is {rotations!r}; it is "first" or "last".')
    return reduced(K, M, positions, d, None, **options)


def of_nodes(positions, inertias, stiffness, **options) -> FlexibleBody:
    """From rigid nodes: positions (N, 3), the mass (N,) or the spatial inertia (N, 6, 6) of each about its position, and the stiffness
    (6N, 6N) between their displacements, turns first                                            Jain (13.1) to (13.19)."""
    positions, inertias = _positions(positions), numbers(inertias)
    count = len(positions)
    if inertias.shape == (count,):
        inertias = inertias[:, None, None] * np.diag([0.0, 0, 0, 1, 1, 1])
    if inertias.shape != (count, 6, 6) or not np.isfinite(inertias).all():
        raise ModelError(f"inertias have shape {inertias.shape}; {count} nodes take masses ({count},) or spatial inertias ({count}, 6, 6).")
    K = checked("the stiffness matrix", stiffness, 6 * count)
    M = scipy.sparse.block_diag(list(inertias), format="csr")
    return reduced(K, checked("the mass matrix", M, 6 * count), positions, 6, inertias, **options)


def reduced(
    K, M, positions, d: int, inertias, *, modes="cantilever", count=None, up_to=None, root=0, interfaces=None, frames=None, held=(),
    orthogonalize=False, quadratic=None, damping=0.0, keep="second", faces=None, name="the flexible body",
) -> FlexibleBody:  # fmt: skip
    """The body of a finite-element model in a few modes.

    modes          "cantilever": normal modes with the root held; "free": those of the free body; "craig-bampton": one static shape for each
                   freedom of the interfaces, and normal modes with root and interfaces held; or shapes of your own (freedoms, n)
    count, up_to   how many normal modes, or the highest frequency in Hz
    root           a node, or several, on the joint: the frame "root"; None: the body has none, and its own frame stands on the joint
    interfaces     name -> node or nodes, or names among frames: where other bodies will be, and which the modes must be able to move in
                   every direction
    frames         name -> node or nodes: other frames
    held           numbers of freedoms that do not move
    damping        a ratio, one for each mode, or a matrix (n, n)
    keep           "second": kinetic energy to the second degree in (η, η̇), and positive; "all": every degree; "cut": second degree,
                   cheapest, for small deformation only
    faces          triangles (m, 3) or quadrilaterals (m, 4) of nodes, the surface that pictures show; `outer_faces` makes them of elements
    """
    faces = None if faces is None else triangles(faces, len(positions))
    if keep not in KEEP:
        raise ModelError(f"keep is {keep!r}; it is {', '.join(KEEP)}.{did_you_mean(str(keep), KEEP)}")
    frames = dict(frames or {})
    interfaces = _interfaces(interfaces, frames)
    places = _places(positions, d, root, {**interfaces, **frames})
    B = rigid_motions(positions, d)
    check_unstrained(K, B)
    Phi = reduced_shapes(K, M, B, places, tuple(interfaces), d, modes=modes, count=count, up_to=up_to, root=root, held=held,
                 orthogonalize=orthogonalize, name=name)  # fmt: skip
    n = Phi.shape[1]
    G = np.zeros((len(positions), d, n, n)) if quadratic is None else numbers(quadratic)
    if G.shape != (len(positions), d, n, n):
        raise ModelError(
            f"quadratic has shape {G.shape}; {len(positions)} nodes of {d} freedoms and {n} modes take {(len(positions), d, n, n)}."
        )
    points, directors, extra = _inertia(M, B, Phi, G, positions, d, inertias)
    found = {key: _attached(Phi, G, positions, d, nodes) for key, nodes in places.items()}
    check_interfaces(found, tuple(interfaces), n, name)
    k, m = (Phi.T @ (x @ Phi) for x in (K, M))
    outline = Outline(positions, Phi.reshape(len(positions), d, n)[:, -3:], G[:, -3:] if G.any() else None, faces=faces)
    return made(points, directors, found, k, modal_damping(damping, k, m), None if root is None else "root", keep,
                outline, extra, quadratic is not None)  # fmt: skip


def made(points, directors, frames, k, D, root, keep, outline, extra=None, stiffens=True) -> FlexibleBody:
    """The body of samples: condensed, or as a polynomial, or both."""
    k = (k + k.T) / 2
    k = np.where(np.abs(k) < 1e-9 * np.sqrt(np.outer(np.diag(k), np.diag(k))), 0.0, k)
    if keep == "all" and directors is not None:
        points, directors = Samples(*map(np.concatenate, zip(points, directors))), None
    fields = None if keep == "cut" else condensed(points, exact=keep == "all")
    cut = [polynomial(x) for x in (points if keep == "cut" else None, directors) if x is not None]
    if extra is not None:
        n = len(k)
        cut.append(Terms(extra, np.zeros((n, n + 6, n + 6)), np.zeros((n, n, n + 6, n + 6))))
    terms = Terms(*(np.sum(x, 0) for x in zip(*cut))) if cut else None
    if terms is not None:
        whole = terms.C0 if fields is None else terms.C0 + _of_fields(fields)
        terms = cleaned(terms, np.diagonal(whole))
        terms = terms if any(x.any() for x in terms) else None
    return FlexibleBody(fields, terms, k, D, frames, root, outline, stiffens)


def modal_damping(damping, k, m) -> np.ndarray:
    """2 ζ ω m of each mode, of ratios ζ; or the diagonal of a matrix of these modes."""
    n, given = len(k), numbers(damping)
    if given.shape == (n, n) and n > 1:
        if np.abs(given - np.diag(np.diag(given))).max() > 1e-9 * np.abs(given).max():
            raise ModelError(
                "the damping matrix is not diagonal in these modes. Give a ratio for each; K and M themselves are diagonal in them."
            )
        return np.diag(given).copy()
    if given.shape not in ((), (n,)) or not (np.isfinite(given).all() and (given >= 0).all()):
        raise ModelError(f"damping is {damping!r}; it is a ratio that is not negative, one for each of {n} modes, or a matrix ({n}, {n}).")
    return 2 * np.broadcast_to(given, (n,)) * np.sqrt(np.maximum(np.diag(k) * np.diag(m), 0.0))


def reduced_shapes(K, M, B, places, interfaces, d, *, modes, count, up_to, root, held, orthogonalize, name) -> np.ndarray:
    """Mode shapes (freedoms, n) as `reduced` describes them."""
    size = K.shape[0]
    held = np.asarray(list(held), int)
    if not isinstance(modes, str):
        given = np.atleast_2d(np.asarray(modes, float))
        if given.shape[0] != size or not np.isfinite(given).all():
            raise ModelError(f"modes of {name} have shape {given.shape}; they are columns of finite numbers over {size} freedoms.")
        return _own_modes(K, M, B, given, orthogonalize, name)
    if modes not in KINDS:
        raise ModelError(f'modes is "{modes}"; it is {", ".join(KINDS)}, or shapes of your own.{did_you_mean(modes, KINDS)}')
    own = lambda nodes: np.concatenate([np.zeros(0, int), *(np.arange(d) + d * i for i in nodes)]).astype(int)
    clamped = own(places["root"]) if root is not None and modes != "free" else np.zeros(0, int)
    free = np.setdiff1d(np.arange(size), np.concatenate([held, clamped]))
    Kf, Mf = K[free][:, free], M[free][:, free]
    if modes == "craig-bampton":
        if not interfaces:
            raise ModelError(
                f'{name} has modes "craig-bampton" but no interfaces; name the frames that other bodies stand on: interfaces=...'
            )
        ends = np.concatenate([_interface(B, places[x], d, free) for x in interfaces], 1)
        basis = craig_bampton(Kf, Mf, ends, 0 if count is None and up_to is None else count, up_to, name)
        found = orthogonal(Kf, Mf, basis, name)
    else:
        if modes == "cantilever" and root is None:
            raise ModelError(f'{name} has cantilever modes but no root to hold; name its node, root=..., or take modes="free".')
        rigid = 6 - np.linalg.matrix_rank(B[np.setdiff1d(np.arange(size), free)], tol=1e-9 * np.abs(B).max()) if modes == "free" else 0
        _, found = normal_modes(Kf, Mf, count, up_to, name, rigid)
    out = np.zeros((size, found.shape[1]))
    out[free] = found
    return without_rounding(out)


def _own_modes(K, M, B, given, orthogonalize: bool, name: str) -> np.ndarray:
    """Shapes of the user: orthogonal as they come, or made so."""
    _check_deforming(M, B, given, name)
    if orthogonalize:
        return without_rounding(orthogonal(K, M, given, name))
    for what, x in (("mass", M), ("stiffness", K)):
        G = given.T @ (x @ given)
        size = np.sqrt(np.abs(np.diag(G)))
        off = np.abs(G - np.diag(np.diag(G))) / (np.outer(size, size) + 1e-300)
        if G.size and off.max() > 1e-6:
            i, j = np.unravel_index(int(off.argmax()), off.shape)
            raise ModelError(
                f"modes {i} and {j} of {name} are not orthogonal in the {what} matrix: {off.max():.3g} of their lengths. "
                "orthogonalize=True makes modes of the same shapes that are."
            )
    return given


def _check_deforming(M, B, given, name: str) -> None:
    """No shape is a motion of the body as a whole, which is the joint's: what is left of Φ without its rigid part has mass."""
    left = given - B @ np.linalg.lstsq(B.T @ (M @ B), B.T @ (M @ given), rcond=1e-12)[0]
    before, after = (np.einsum("ij,ij->j", x, M @ x) for x in (given, left))
    if still := np.flatnonzero((after < 1e-10 * before) & (before > 0)).tolist():
        raise ModelError(
            f"shapes {', '.join(map(str, still))} among the modes of {name} move it as a rigid body, which its joint does. Leave them out: "
            "the first six modes of a free body are of this kind."
        )


def check_unstrained(K, B) -> None:
    """K B* = 0: rigid motions strain nothing                                                       Jain (13.40)."""
    left, size = (abs(x).max(0) for x in (K @ B, abs(K) @ abs(B)))
    noise = 1e-8 * abs(K).max() * abs(B).max(0)  # entries of small terms beside large ones have lost digits in files
    if (left > 1e-4 * size + noise).any():
        j = int((left / (size + noise + 1e-300)).argmax())
        how = f"{'turn about' if j < 3 else 'shift along'} {'xyz'[j % 3]}"
        raise ModelError(
            f"the stiffness matrix resists a rigid motion: a {how} of all nodes takes {left[j]:.3g} N or N m, where forces of up to "
            f'{size[j]:.3g} should cancel. Check the order of the freedoms (rotations="last" if displacements come first), the unit of the '
            "positions, and that the matrix is that of the free body: supports belong to the joint."
        )


def rigid_motions(positions, d: int) -> np.ndarray:
    """B* (freedoms, 6): displacements of the nodes when the body moves as one [θ; u]           Jain (13.16)."""
    turned = -tilde(positions)  # θ × p
    moved = np.concatenate([turned, np.broadcast_to(np.eye(3), turned.shape)], -1)
    if d == 6:
        turns = np.broadcast_to(np.concatenate([np.eye(3), np.zeros((3, 3))], -1), moved.shape)
        moved = np.concatenate([turns, moved], -2)
    return moved.reshape(-1, 6)


def _interface(B, nodes, d: int, free) -> np.ndarray:
    """Displacements of the free freedoms of an interface, one column for each way it can move: its nodes move as one rigid body."""
    rows = np.concatenate([np.arange(d) + d * i for i in nodes])
    whole = np.zeros((len(B), d if len(nodes) == 1 else 6))
    whole[rows] = np.eye(d) if len(nodes) == 1 else B[rows]
    whole = whole[free]
    return whole[:, np.any(whole != 0, axis=0)]


def _attached(Phi, G, positions, d: int, nodes) -> Attachment:
    """The frame of one node, or of several, which moves as they do in the mean: the rigid motion nearest to theirs."""
    n, center = Phi.shape[1], positions[nodes].mean(0)
    own = Phi.reshape(len(positions), d, n)[nodes].reshape(d * len(nodes), n), G[nodes].reshape(d * len(nodes), n, n)
    mean = np.linalg.pinv(rigid_motions(positions[nodes] - center, d))
    linear, quadratic = (np.tensordot(mean, x, 1) for x in own)
    clean = lambda x: np.where(np.abs(x) < 1e-11 * np.abs(x).max(initial=0.0), 0.0, x)
    return Attachment(Pose.of(center), clean(linear), clean(quadratic))


def _interfaces(given, frames: Mapping) -> dict:
    """Interfaces by name with their nodes; names alone are those of frames."""
    if given is None or isinstance(given, Mapping):
        return dict(given or {})
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in frames:
            raise ModelError(
                f'interface "{name}" is no frame of the body; name its node or nodes, interfaces={{"{name}": 7}}.'
                f"{did_you_mean(str(name), list(frames))}"
            )
    return {name: frames[name] for name in names}


def _places(positions, d: int, root, given: Mapping) -> dict[str, list[int]]:
    """Node numbers of each frame."""
    if "root" in given:
        raise ModelError('a frame is called "root", which is the one on the joint: root=... says which node that is.')
    out = {}
    for name, nodes in (({} if root is None else {"root": root}) | dict(given)).items():
        nodes = list(nodes) if isinstance(nodes, Iterable) and not isinstance(nodes, str) else [nodes]
        if not nodes or any(not isinstance(i, int | np.integer) or not 0 <= i < len(positions) for i in nodes):
            raise ModelError(f'frame "{name}" is on nodes {nodes}; there are nodes 0 to {len(positions) - 1}.')
        if d == 3 and np.linalg.matrix_rank(positions[nodes] - positions[nodes].mean(0), tol=1e-9 * np.ptp(positions, 0).max()) < 2:
            raise ModelError(
                f'frame "{name}" is on nodes {nodes}, which have no rotations and lie on a line: they say nothing of how it turns. '
                "Name three nodes or more that do not."
            )
        out[name] = nodes
    return out


def check_interfaces(found, interfaces, n: int, name: str) -> None:
    """Modes move the interfaces in every direction, each by itself."""
    if not interfaces:
        return
    rows = np.concatenate([found[x].linear for x in interfaces])
    able = int(np.count_nonzero(rows.any(1)))
    if np.linalg.matrix_rank(rows, tol=1e-9 * np.abs(rows).max(initial=0.0)) < able:
        raise ModelError(
            f"{n} modes of {name} are too few for its interfaces {', '.join(interfaces)}, which have {able} ways to move: joints "
            'there would be stiffer than the body. Take modes="craig-bampton", which has a shape for each, or name them as frames=.'
        )


def _positions(given) -> np.ndarray:
    positions = numbers(given)
    if positions.ndim != 2 or positions.shape[1] != 3 or not len(positions) or not np.isfinite(positions).all():
        raise ModelError(f"positions have shape {positions.shape}; they are finite numbers (N, 3), one row for each node.")
    return positions


def _inertia(M, B, Phi, G, positions, d: int, inertias):
    """Points, directors or None, and what the undeformed inertia has besides them or None."""
    count, n = len(positions), Phi.shape[1]
    by_node = Phi.reshape(count, d, n)
    move, second = by_node[:, -3:], G[:, -3:]
    if inertias is not None:
        return (*_of_rigid_nodes(inertias, by_node[:, :3], move, G[:, :3], second, positions), None)
    weights = _isotropic(M, count) if d == 3 else None
    if weights is None:
        weights = _lumped(M, count, d)
    points = Samples(positions, move, second, np.ones(count), weights)
    whole = np.concatenate([Phi, B], 1)
    exact, fields = whole.T @ (M @ whole), condensed(points, exact=False)
    extra = exact - _of_fields(fields)
    extra = (extra + extra.T) / 2
    size = np.sqrt(np.abs(np.diag(exact))) + 1e-150
    extra = np.where(np.abs(extra) < 1e-10 * np.outer(size, size), 0.0, extra)
    return points, None, extra if extra.any() else None


def _of_fields(fields) -> np.ndarray:
    """U* U without deformation."""
    U = np.concatenate([fields.r1, -tilde(fields.r0), fields.moves[:, None, None] * np.eye(3)], -1)
    return np.einsum("exi,exj->ij", U, U)


def _isotropic(M, count: int):
    """m (N, N) of a mass matrix m ⊗ I₃, or None."""
    M = scipy.sparse.csr_array(M)
    m = M[0::3][:, 0::3]
    off = abs(M - scipy.sparse.kron(m, scipy.sparse.eye_array(3), format="csr"))
    return m if off.max() <= 1e-9 * abs(M).max() else None


def _lumped(M, count: int, d: int) -> np.ndarray:
    """The mass of each node: what all nodes moving along an axis feel there, in the mean of the three axes."""
    out = np.zeros(count)
    for axis in range(d - 3, d):
        rows = np.arange(axis, d * count, d)
        out += np.asarray(M[rows][:, rows].sum(1)).ravel() / 3
    if (out < 0).any():
        raise ModelError(
            f"node {int(out.argmin())} gets the mass {out.min():.3g} kg when masses are put into the nodes; elements of second order "
            "do that. Give a mass matrix of three freedoms a node that is the same in every direction, or nodes with inertias."
        )
    return out


def _of_rigid_nodes(inertias, turn, move, turn2, move2, positions):
    """Points at the centres of the nodes' masses, and directors along the principal axes of their tensors."""
    mass = inertias[:, 5, 5]
    moment = np.stack([inertias[:, 2, 4], inertias[:, 0, 5], inertias[:, 1, 3]], -1)
    if (mass < 0).any():
        raise ModelError(f"node {int(mass.argmin())} has the mass {mass.min():.3g} kg; it may not be negative.")
    center = moment / np.where(mass > 0, mass, 1.0)[:, None]
    tensor = inertias[:, :3, :3] + mass[:, None, None] * tilde(center) @ tilde(center)
    r1, r2 = _director(turn, turn2, center)
    points = Samples(positions + center, move + r1, move2 + r2, np.ones(len(mass)), mass)
    second_moment = np.trace(tensor, axis1=-2, axis2=-1)[:, None, None] / 2 * np.eye(3) - tensor
    weights, axes = np.linalg.eigh(second_moment)
    if (weights < -1e-6 * np.abs(weights).max(initial=0.0)).any():
        i = int(weights.min(-1).argmin())
        raise ModelError(f"node {i} has a tensor that no rigid body has: the largest principal moment exceeds the sum of the others.")
    if not weights.any():
        return points, None
    each = [(axes[:, :, k], *_director(turn, turn2, axes[:, :, k]), np.zeros(len(mass)), np.maximum(weights[:, k], 0.0)) for k in range(3)]
    return points, Samples(*map(np.concatenate, zip(*each)))


def _director(turn, turn2, d):
    """First and second derivatives by η of a direction d (N, 3) that turns with its node: θ × d and ½ θ × (θ × d) + ½ θ₂ × d."""
    across = lambda a, b: np.cross(a, b, axis=1)
    first = across(turn, np.broadcast_to(d[:, :, None], turn.shape))
    return first, symmetric(pairs(turn, first)) + across(turn2, np.broadcast_to(d[:, :, None, None], turn2.shape))


def pairs(a, b):
    """aᵢ × bⱼ of all columns of a and b (..., 3, n)."""
    return np.cross(a[..., :, None] + 0 * b[..., None, :], b[..., None, :] + 0 * a[..., :, None], axis=-3)


def symmetric(a):
    return (a + a.mT) / 2
