"""A model as text and as HTML: the tree with its joints, coordinates and masses."""

from html import escape
from itertools import accumulate

from .contacts import contacts_off

HEADER = ("body", "joint", "kind", "in q", "kg")
LIMIT = 200  # bodies; a long chain drawn to its end would be a page a thousand columns wide


def rows(model):
    """(drawn name, joint, kind, coordinates, mass) for each body, base to tips, up to the limit."""
    children: dict = {}
    for i, p in enumerate(model.parent):
        children.setdefault(p, []).append(i)
    starts = [0, *accumulate(placed.joint.nq for placed in model.joints)]
    out: list[tuple[str, ...]] = []
    stack = [(i, "", True) for i in reversed(children.get(-1, []))]
    while stack and len(out) < LIMIT:
        i, indent, last = stack.pop()
        root = model.parent[i] < 0
        branch = "" if root else "└─ " if last else "├─ "
        placed, body = model.joints[i], model.bodies[i]
        nq = placed.joint.nq
        coordinates = "" if nq == 0 else f"q[{starts[i]}]" if nq == 1 else f"q[{starts[i]}:{starts[i] + nq}]"
        mass = body.mass + (model.flexible_bodies[placed.name].mass if placed.name in model.flexible_bodies else 0.0)
        out.append((indent + branch + body.name, placed.name, placed.joint.kind, coordinates, f"{mass:.4g}"))
        below = indent + ("" if root else "   " if last else "│  ")
        inner = children.get(i, [])
        stack.extend((j, below, j == inner[-1]) for j in reversed(inner))
    return out


def headline(model) -> str:
    nq, nv = sum(h.joint.nq for h in model.joints), sum(h.joint.nv for h in model.joints)
    facts = [_count(len(model.bodies), "body", "bodies"), f"nq = {nq}", f"nv = {nv}", f"{model.mass:.6g} kg"]
    for parts, *names in ((model.loops, "loop", "loops"), (model.couplings, "coupling", "couplings")):
        active = sum(x.active for x in parts)
        facts += [_count(active, *names)] * bool(active)
        facts += [f"{_count(len(parts) - active, *names)} not active"] * (len(parts) > active)
    facts += [_count(len(model.constraints), "constraint", "constraints")] * bool(model.constraints)
    if model.fluid is not None:
        facts.append(f"{_count(len(model.fluid.immersed), 'body', 'bodies')} in a fluid of {model.fluid.density:.6g} kg/m³")
    return f"{model.name}: {', '.join(facts)}"


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def left_out(model) -> list[str]:
    more = len(model.bodies) - LIMIT
    return [f"... and {_count(more, 'body', 'bodies')} more"] if more > 0 else []


def tree(model) -> str:
    table = [HEADER, *rows(model)]
    widths = [max(len(row[c]) for row in table) for c in range(4)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, [*widths, 0])).rstrip() for row in table]
    return "\n".join([headline(model), *lines, *left_out(model), *contacts_off(model)])


def html(model) -> str:
    cells = "".join(
        f'<tr><td style="text-align:left;white-space:pre;font-family:monospace">{escape(name)}</td>'
        + "".join(f"<td>{escape(x)}</td>" for x in rest)
        + "</tr>"
        for name, *rest in rows(model)
    )
    head = "".join(f"<th>{x}</th>" for x in HEADER)
    below = "<br>".join(map(escape, [*left_out(model), *contacts_off(model)]))
    return f"<b>{escape(headline(model))}</b><table><tr>{head}</tr>{cells}</table>{below}"
