"""The tables of what goes on which road in docs/simulation.md, made from the table of capabilities: python tools/make_capabilities.py"""

from pathlib import Path

from linkwork.simulate.requests.capabilities import BATCH, CONDITIONS, GPU, GRADIENT, ROADS, ROLLOUT, RUN, SLOPE, TABLE
from linkwork.simulate.requests.features import FEATURES

PAGE = Path(__file__).parents[1] / "docs" / "simulation.md"
BEGIN, END = "<!-- made by tools/make_capabilities.py -->", "<!-- end of what is made -->"
KINDS = {RUN: "single", SLOPE: "single", BATCH: "batch", GPU: "batch", ROLLOUT: "rollout", GRADIENT: "rollout"}
PASSES = {SLOPE: (RUN,), BATCH: (RUN,), GPU: (RUN,), GRADIENT: (ROLLOUT,)}  # roads whose refusals count on others too


def tables() -> str:
    """Both tables: features on roads, with a dash where the table refuses; and refusals with their reasons and remedies."""
    head = f"| | {' | '.join(KINDS)} |\n|---|{'---|' * len(KINDS)}"
    rows = [f"| {x.title} | {' | '.join(cell(road, name) for road in KINDS)} |" for name, x in FEATURES.items() if x.where]
    said = [f"| {' | '.join(refused)} |" for refused in refusals()]
    return "\n".join([head, *rows, "", "| | takes no | because | instead |\n|---|---|---|---|", *said])


def cell(road: str, feature: str) -> str:
    """yes; a dash where the feature is refused; nothing where it cannot be asked for."""
    if KINDS[road] not in FEATURES[feature].where:
        return ""
    return "–" if any(feature in TABLE[x] for x in (road, *PASSES.get(road, ()))) else "yes"


def refusals() -> list[tuple[str, str, str, str]]:
    """Roads, features, reason and remedy: roads that refuse the same features for one reason together."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for road, column in TABLE.items():
        by_reason: dict[tuple[str, str], list[str]] = {}
        for feature, why in column.items():
            by_reason.setdefault(why, []).append(FEATURES[feature].title)
        for why, features in by_reason.items():
            found.setdefault((", ".join(features), *why), []).append((ROADS | CONDITIONS)[road])
    return [("; ".join(roads), *row) for row, roads in found.items()]


def page(text: str) -> str:
    """The page with the tables in their place."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
