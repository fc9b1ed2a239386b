"""Reading expressions as the book writes them: `(I − H ψ K)* D⁻¹ (I − H ψ K)`."""

import re
from collections.abc import Callable, Iterator

from ..errors import OptionError
from .operator import Operator

TOKEN = re.compile(r"\s*(⁻¹|\^-1|[()*+−-]|[^\s()*+−⁻^-]+)")
ASCII = {
    "phi": "φ", "psi": "ψ", "phi~": "φ~", "psi~": "ψ~", "E_phi": "𝓔φ", "E_psi": "𝓔ψ", "P_plus": "P⁺",
    "phi_tilde": "φ~", "psi_tilde": "ψ~", "Upsilon": "Υ", "Omega": "Ω",
    "-": "−", "^-1": "⁻¹",
}  # fmt: skip


def read(text: str, symbol: Callable[[str], Operator]) -> Operator:
    """The operator that a text describes, each symbol looked up by name; phi, psi, E_phi, -, ^-1 are understood too."""
    tokens = [ASCII.get(t, t) for t in TOKEN.findall(text)]
    stream = Tokens(tokens, text)
    result = sum_of(stream, symbol)
    if stream.next is not None:
        raise OptionError(f'"{text}" cannot be read: "{stream.next}" is not expected there.')
    return result


class Tokens:
    def __init__(self, tokens, text):
        self._rest: Iterator[str] = iter(tokens)
        self.text = text
        self.next: str | None = next(self._rest, None)

    def take(self) -> str:
        token = self.next
        if token is None:
            raise OptionError(f'"{self.text}" cannot be read: it ends too early.')
        self.next = next(self._rest, None)
        return token


def sum_of(tokens, symbol):
    negative = tokens.next == "−" and tokens.take()
    result = product_of(tokens, symbol)
    result = -result if negative else result
    while tokens.next in ("+", "−"):
        sign = tokens.take()
        term = product_of(tokens, symbol)
        result = result + term if sign == "+" else result - term
    return result


def product_of(tokens, symbol):
    result = factor_of(tokens, symbol)
    while tokens.next not in (None, ")", "+", "−"):
        result = result @ factor_of(tokens, symbol)
    return result


def factor_of(tokens, symbol):
    token = tokens.take()
    if token == "(":
        result = sum_of(tokens, symbol)
        if tokens.take() != ")":
            raise OptionError(f'"{tokens.text}" cannot be read: a bracket is not closed.')
    else:
        result = symbol(token)
    while tokens.next in ("*", "⁻¹"):
        result = result.T if tokens.take() == "*" else result.inv()
    return result
