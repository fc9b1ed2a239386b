"""Mode shapes of finite elements: normal modes, clamped or free, and those of Craig and Bampton.

Shapes are columns over all freedoms, orthonormal in the mass matrix and orthogonal in the stiffness.
"""

import numpy as np
import scipy.linalg
import scipy.sparse

from ..errors import ModelError
from .body import check_symmetric

DENSE = 1500  # freedoms: above it, eigenvalues come from sparse factors
ZERO = 1e-6  # of the first frequency that is not zero, squared: what rigid motions are below


def checked(what: str, x, size: int):
    """A matrix of a user as an array or a sparse one, square of this size, symmetric, without NaN."""
    x = scipy.sparse.csr_array(x) if scipy.sparse.issparse(x) else np.asarray(x, float)
    if x.shape != (size, size):
        raise ModelError(f"{what} has shape {x.shape}; the nodes have {size} freedoms: ({size}, {size}).")
    if not np.isfinite(x.data if scipy.sparse.issparse(x) else x).all():
        raise ModelError(f"{what} has entries that are no finite numbers.")
    check_symmetric(what, x)
    return x


def part(x, rows, columns):
    """A part of a matrix, dense or sparse."""
    return x[rows][:, columns] if scipy.sparse.issparse(x) else x[np.ix_(rows, columns)]


def normal_modes(K, M, count: int | None, up_to: float | None, what: str, rigid: int = 0):
    """Frequencies in Hz and shapes of the lowest modes, without `rigid` motions: a number of them, or all up to a frequency in Hz."""
    size = K.shape[0]
    if count is None and up_to is None:
        raise ModelError(f"{what} needs the number of modes, count=..., or the highest frequency, up_to=... in Hz.")
    if count is not None and not (isinstance(count, int | np.integer) and 0 <= count <= size - rigid):
        raise ModelError(f"{what} has count = {count!r}; there are {max(size - rigid, 0)} modes: use more finite elements or fewer modes.")
    if not size:
        return np.zeros(0), np.zeros((0, 0))
    wanted = count if up_to is None else None
    while True:
        squares, shapes = _lowest(K, M, size if wanted is None and size <= DENSE else min(size, (wanted or 20) + rigid), what)
        found = np.sqrt(np.maximum(squares, 0.0))[rigid:] / (2 * np.pi)
        if up_to is None or len(squares) == size or found[-1] > up_to:
            break
        wanted = 2 * (wanted or 20)
    keep = len(found) if up_to is None else int(np.count_nonzero(found <= up_to))
    keep = keep if count is None else min(keep, count)
    if up_to is not None and not keep:
        raise ModelError(f"{what} has no mode up to {up_to:g} Hz: the first has {found[0]:.6g} Hz. Raise up_to, or give count.")
    return found[:keep], shapes[:, rigid : rigid + keep]


def _lowest(K, M, count: int, what: str):
    """ω² and shapes of the lowest modes."""
    size = K.shape[0]
    if size <= DENSE:
        K, M = (x.toarray() if scipy.sparse.issparse(x) else x for x in (K, M))
        try:
            return scipy.linalg.eigh(K, M, subset_by_index=(0, count - 1)) if count else (np.zeros(0), np.zeros((size, 0)))
        except np.linalg.LinAlgError:
            raise ModelError(_singular(what, M)) from None
    K, M = (scipy.sparse.csc_array(x) for x in (K, M))
    if (M.diagonal() <= 0).any():
        raise ModelError(_singular(what, M))
    shift = -1e-4 * K.diagonal().sum() / M.diagonal().sum()
    squares, shapes = scipy.sparse.linalg.eigsh(K, count, M, sigma=shift, v0=np.ones(size))
    order = np.argsort(squares)
    return squares[order], shapes[:, order]


def _singular(what: str, M) -> str:
    still = np.flatnonzero(M.diagonal() <= 0)
    where = f", freedom {still[0]} among them has none" if len(still) else ""
    return (
        f"the mass matrix of {what} is singular: some freedoms have no inertia{where}. Give every node mass and, where it turns, "
        "rotary inertia, or reduce the matrices to the freedoms that have it; held=[...] are freedoms that do not move."
    )


def craig_bampton(K, M, C, count, up_to, what: str):
    """Shapes of a body whose interface freedoms are d, its displacements C d where these are rows of C, by Craig and Bampton: one static
    shape for each d, and normal modes with the interfaces held."""
    m, bound = C.shape[1], np.flatnonzero(np.any(C != 0, axis=1))
    inner = np.setdiff1d(np.arange(K.shape[0]), bound)
    _, fixed = normal_modes(part(K, inner, inner), part(M, inner, inner), count, up_to, what)
    basis = np.zeros((K.shape[0], m + fixed.shape[1]))
    basis[bound, :m], basis[inner, m:] = C[bound], fixed
    right = part(K, inner, bound) @ C[bound]
    Ki = part(K, inner, inner)
    if len(inner):
        solved = (
            scipy.sparse.linalg.splu(scipy.sparse.csc_array(Ki)).solve(right) if scipy.sparse.issparse(Ki) else np.linalg.solve(Ki, right)
        )
        basis[inner, :m] = -solved
    return basis


def orthogonal(K, M, basis, what: str):
    """The same shapes combined so that they are orthonormal in M and orthogonal in K; rigid motions are left out."""
    k, m = (basis.T @ (x @ basis) for x in (K, M))
    try:
        squares, mix = scipy.linalg.eigh((k + k.T) / 2, (m + m.T) / 2)
    except np.linalg.LinAlgError:
        raise ModelError(
            f"the modes of {what} are linearly dependent, or move no mass: their mass matrix is singular. Leave out those that others make."
        ) from None
    scale = squares[squares > 1e-9 * squares.max(initial=0.0)].min(initial=np.inf)
    return basis @ mix[:, squares > ZERO * scale]


def without_rounding(shapes: np.ndarray) -> np.ndarray:
    """Exact zeros for what is rounding in each column: they cost nothing in a kernel. The largest entry of each is positive."""
    if not shapes.size:
        return shapes
    shapes = np.where(np.abs(shapes) < 1e-9 * np.abs(shapes).max(0), 0.0, shapes)
    return shapes * np.sign(shapes[np.abs(shapes).argmax(0), np.arange(shapes.shape[1])])
