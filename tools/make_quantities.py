"""The page of all quantities, made from their declarations: python tools/make_quantities.py > docs/quantities.md"""

from inspect import signature

from linkwork import Dynamics
from linkwork.quantities import QUANTITIES, Quantity

PAGE = """# Quantities

Everything that is declared in `linkwork/quantities`, as the declarations say it. This page is written by
`python tools/make_quantities.py > docs/quantities.md`.

Shapes are of one sample: leading axes are a batch. Arguments in brackets may be left out. The columns:

- **takes into account**: what acts on a mechanism or binds it, besides its bodies and joints, and is in the result. The
  armature of joints is part of the mass matrix and of all that follows from it; momenta of six components, of bodies, know none;
- **loops and couplings**: *kept*, if the result is that of the mechanism with its loops, couplings and drives; *left out*, if it is
  the tree's by contract, whatever binds the joints besides; *refused*, if they would change it and it does not know them;
  *unaffected*, if they do not change it at a given state;
- **rolls**: whether long mechanisms get a kernel that loops over their nodes, *by columns* if it makes a matrix column by column,
  *composed* if it is made of other quantities that do.

## Methods of `Dynamics`

{methods}

## Others

By their names: `robot.ask("mass_matrix_times", q, vdot)`; options follow the name, `robot.ask(("jacobian", "hand", "world"), q)`.
`robot.ask` takes the names above too, and those of
[quantities that you add](extending/quantity.md).

{others}
"""
HEAD = "| quantity | result | takes into account | loops and couplings | rolls |\n|---|---|---|---|---|"


def page() -> str:
    ours = [x for x in QUANTITIES.values() if x.decided_by]
    methods, others = ("\n".join([HEAD, *(row(x) for x in ours if (x.name in vars(Dynamics)) is named)]) for named in (True, False))
    return PAGE.format(methods=methods, others=others)


def row(quantity: Quantity) -> str:
    cells = f"`{called(quantity)}`", shape(quantity), str(quantity.honours), bound(quantity), rolls(quantity)
    return f"| {' | '.join(cells)} |"


def called(quantity: Quantity) -> str:
    options = [] if quantity.options is None else [str(x).split(":")[0] for x in signature(quantity.options).parameters.values()][1:]
    optional = "".join(f"[, {name}]" for name in quantity.optional)
    return f"{quantity.name}({', '.join((*quantity.inputs, *options))}{optional})"


def shape(quantity: Quantity) -> str:
    shapes = quantity.result if quantity.several else (quantity.result,)
    return ", ".join(f"({', '.join(map(str, x))})" if x else "number" for x in shapes)


def bound(quantity: Quantity) -> str:
    if quantity.constrained:
        return "kept"
    return "left out" if quantity.of_tree else "refused" if quantity.refuses else "unaffected"


def rolls(quantity: Quantity) -> str:
    if quantity.product is not None:
        return "by columns"
    return "yes" if quantity.rolls else "no" if quantity.long is None else "composed"


if __name__ == "__main__":
    print(page(), end="")
