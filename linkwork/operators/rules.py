"""Inverses and determinants: the identities of the book as a table, read and written in its own notation.

An expression is looked up by how it prints. A rule holds for the operators of one SKO model, so all of them must come
from the same one; the right side is then read with the operators of that model.
"""

from collections.abc import Callable

import numpy as np

from ..errors import LinkworkError, ShapeError
from ..spatial import logdet
from .leaves import Diagonal, InverseDiagonal, Leaf, Propagation, SymmetricDiagonal
from .operator import Identity, Operator, Product, Sum
from .sko import SKO, Changes


class NoRuleError(LinkworkError, NotImplementedError):
    """No identity of the book gives this inverse or determinant."""


INVERSES = {
    "φ":                                "I − 𝓔φ",                           # (3.36), Lemma 8.3
    "I − 𝓔φ":                           "φ",
    "ψ":                                "I − 𝓔ψ",                           # (7.5), Lemma 9.8
    "I − 𝓔ψ":                           "ψ",
    "I + H φ K":                        "I − H ψ K",                        # Lemmas 7.4, 9.11
    "I − H ψ K":                        "I + H φ K",
    "I + K H φ":                        "I − K H ψ",                        # (7.11), (9.44)
    "I − K H ψ":                        "I + K H φ",
    "I + φ K H":                        "I − ψ K H",
    "I − ψ K H":                        "I + φ K H",
    "H φ M φ* H* + armature":           "(I − H ψ K)* D⁻¹ (I − H ψ K)",     # Lemmas 7.5, 9.11
}  # fmt: skip

UNIT_DETERMINANT = {  # triangular with ones on the diagonal: (9.52)
    "φ", "ψ", "I − 𝓔φ", "I − 𝓔ψ", "I + H φ K", "I − H ψ K", "I + K H φ", "I − K H ψ", "I + φ K H", "I − ψ K H",
}  # fmt: skip


def inverse(A: Operator) -> Operator:
    if A.shape[0] != A.shape[1]:
        raise ShapeError(f"{A} is {A.shape[0]} x {A.shape[1]}; only a square operator has an inverse.")
    for rule in (by_table, of_identity, of_diagonal, of_mass_matrix, of_multiple, of_product):
        if (found := rule(A)) is not None:
            return found
    if (found := by_table(A.T)) is not None:  # (A*)⁻¹ = (A⁻¹)*
        return found.T
    raise NoRuleError(
        f"no identity gives the inverse of {A}. Write it with those that have one ({', '.join(INVERSES)}), "
        "solve with scipy.sparse.linalg, which takes operators, or use np.linalg on .dense()."
    )


def log_determinant(A: Operator):
    """log |det A|."""
    if A.shape[0] != A.shape[1]:
        raise ShapeError(f"{A} is {A.shape[0]} x {A.shape[1]}; only a square operator has a determinant.")
    if isinstance(A, Identity) or has_unit_determinant(A) or has_unit_determinant(A.T):
        return np.zeros_like(A.some, shape=())
    if isinstance(A, SymmetricDiagonal):
        sign = -1 if isinstance(A, InverseDiagonal) else 1
        blocks = A.blocks()
        return sign * A.tree.total({k: logdet(blocks[k]) for k in A.tree.base_to_tips()})
    if (model := mass_matrix_model(A)) is not None:  # det 𝓜 = Π det D(k): (9.53)
        return model.log_determinant
    if isinstance(A, Product) and all(f.shape[0] == f.shape[1] for f in A.factors):
        return sum(log_determinant(f) for f in A.factors)
    raise NoRuleError(f"no identity gives the determinant of {A}. Use np.linalg.slogdet on .dense().")


# --- rules: each gives the inverse, or None


def by_table(A):
    if (home := one_home(A)) is None or key(A) not in TABLE:
        return None
    return home(TABLE[key(A)])


def of_identity(A):
    return A if isinstance(A, Identity) else None


def of_diagonal(A):
    """diag{X}⁻¹ = diag{X⁻¹}, of inertias."""
    if isinstance(A, InverseDiagonal):
        return SymmetricDiagonal(A.name, A.home, A.tree, A.left, A.right, A.blocks)
    if isinstance(A, SymmetricDiagonal):
        return InverseDiagonal(A.name, A.home, A.tree, A.left, A.right, A.blocks)
    return None


def of_mass_matrix(A):
    """H A X A* H* + Y with any inertias X and Y is the mass matrix of an SKO model of its own: (9.51)."""
    model = mass_matrix_model(A)
    return None if model is None else model.operators(TABLE[key_of_text("H φ M φ* H* + armature")])


def of_multiple(A):
    """(c A)⁻¹ = A⁻¹ / c."""
    if isinstance(A, Sum) and len(A.terms) == 1:
        c, B = A.terms[0]
        return (1 / c) * inverse(B.T if A.turned else B)
    return None


def of_product(A):
    """(A B)⁻¹ = B⁻¹ A⁻¹, where both are square."""
    if not isinstance(A, Product) or any(f.shape[0] != f.shape[1] for f in A.factors):
        return None
    return Product([g for f in reversed(A.factors) for g in factors(inverse(f))])


# --- recognising


def factors(A):
    return A.factors if isinstance(A, Product) else (A,)


def one_home(A):
    """The algebra that all leaves belong to, if it is one."""
    homes = {id(leaf.home): leaf.home for leaf in A.leaves}
    return next(iter(homes.values())) if len(homes) == 1 else None


def has_unit_determinant(A) -> bool:
    return one_home(A) is not None and key(A) in UNIT_KEYS


def key(A) -> frozenset:
    """How an expression prints, the order of terms left open."""
    if isinstance(A, Sum) and not A.turned:
        return frozenset(str(Sum([term])) for term in A.terms)
    return frozenset([str(A)])


def key_of_text(text: str) -> frozenset:
    signed = text.replace(" − ", " + −").split(" + ")
    return frozenset(signed) if "(" not in text else frozenset([text])


TABLE = {key_of_text(left): right for left, right in INVERSES.items()}
UNIT_KEYS = {key_of_text(text) for text in UNIT_DETERMINANT}


def mass_matrix_model(A) -> SKO | None:
    """The SKO model whose mass matrix A is, if A is written as H φ X φ* H* or with joint inertias Y added to it."""
    terms = A.terms if isinstance(A, Sum) and not A.turned else ((1, A),)
    body = [(c, B) for c, B in terms if isinstance(B, Product)]
    rest = [(c, B) for c, B in terms if not isinstance(B, Product)]
    if len(body) != 1 or body[0][0] != 1 or not all(type(B) is SymmetricDiagonal for _, B in rest):
        return None
    parts = body[0][1].factors
    kinds: tuple[Callable, ...] = (Diagonal, Propagation, SymmetricDiagonal, Propagation, Diagonal)
    if len(parts) != 5 or not all(isinstance(p, Leaf) and isinstance(p, kind) for p, kind in zip(parts, kinds)):  # type: ignore[arg-type]
        return None
    H, phi, X, phi_T, H_T = parts
    pairs = not H.turned and H_T.is_transpose_of(H) and not phi.turned and phi_T.is_transpose_of(phi)
    if not pairs or isinstance(X, InverseDiagonal):
        return None
    home = H.home
    if home is phi.home is X.home and X.name == "M" and [(c, B.name) for c, B in rest if B.home is home] == [(1, "armature")]:
        return home.sko
    Y = None
    if rest:
        blocks = [(c, B.blocks()) for c, B in rest]
        Y = {k: sum((c * b[k] for c, b in blocks[1:]), blocks[0][0] * blocks[0][1][k]) for k in H.tree.base_to_tips()}
    return SKO(H.tree, phi.blocks(), H.blocks(), X.blocks(), Y, changes=changes(H, phi, X, [B for _, B in rest]))


def changes(H, phi, X, rest) -> Changes | None:
    """How the blocks of such a model change: as those of the one that H and φ are from, where X is its M or constant."""
    home = H.home
    known = home.has_letter(H) and H.name == "H" and home.has_letter(phi) and phi.name == "φ" and home.sko.changes is not None
    if not known or any(map(leaf_changes, rest)) or (leaf_changes(X) and not (home.has_letter(X) and X.name == "M")):
        return None
    mine = home.sko.changes
    if home.has_letter(X) or mine.is_rigid:
        return mine
    return Changes(lambda v: (d := mine.rates(v))._replace(N={k: np.zeros_like(d.N[k]) for k in H.tree.base_to_tips()}))


def leaf_changes(A) -> bool:
    """Does a diagonal change with the configuration? Armatures and blocks of one's own do not."""
    return A.home.has_letter(A) and A.name != "armature"
