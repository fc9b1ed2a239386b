"""Which couplings of a model are gears: a rotor beside the joint that it drives."""

from ..model import Model
from .nodes import Nodes


def gears(model: Model, nodes: Nodes) -> dict[int, tuple[int, float]]:
    """The couplings of a model that are gears, as {node of the joint: (node of its rotor, ratio)}.

    A gear is linear, and joint and rotor, one velocity each, stand on the same node, the rotor carrying nothing else.
    """
    own = {label: k for k, label in enumerate(nodes.labels) if nodes.tree.widths[k] == 1}
    found: dict[int, tuple[int, float]] = {}
    for coupling in model.couplings:
        m, k = own.get(coupling.joint), own.get(coupling.of or "")
        linear = coupling.active and len(coupling.coefficients) == 2
        if linear and m is not None and k is not None:
            alone = not nodes.tree.children[m] and nodes.tree.parent[m] == nodes.tree.parent[k]
            if alone and k not in found:
                found[k] = m, coupling.coefficients[1]
    return found
