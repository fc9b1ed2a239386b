"""Trees drawn at random: any shape, any joints, skew axes and placements."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

import linkwork as lw

from .mechanisms import JOINTS, solid, spread


@st.composite
def trees(draw, max_bodies=40):
    """A model of up to `max_bodies`: parents and joints from Hypothesis, so that they shrink; numbers from a seed."""
    n = draw(st.integers(1, max_bodies))
    kinds = draw(st.lists(st.sampled_from(sorted(JOINTS)), min_size=n, max_size=n))
    parents = [draw(st.integers(-1, i - 1)) for i in range(len(kinds))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    builder = lw.Builder("drawn", rng.normal(0, 5, 3))
    for i, (p, kind) in enumerate(zip(parents, kinds)):
        joint = turned(JOINTS[kind], rng)
        mass = solid(rng, 10 ** rng.uniform(-1, 1))
        builder.body(f"body{i}", None if p < 0 else f"body{p}", spread(rng), joint, joint_on=spread(rng, 0.2), **mass)
    return builder.model()


def turned(joint, rng):
    """The joint about another axis; a compound keeps its own."""
    return joint if isinstance(joint, lw.Compound) else replace(joint, axis=tuple(rng.standard_normal(3)))
