"""The three 6 x 6 cross operators of a spatial vector z = [x; y].

    z~ = [[x~, 0 ], [y~, x~]]      rate of a motion vector fixed in a frame with velocity z   Jain (1.23)
    z̄  = [[x~, y~], [0,  x~]]      the same for a force vector, z̄ = −(z~)*                    Jain (1.25)
    ẑ  = [[x~, y~], [y~, 0 ]]      the swap of the second: Â* B = B̄ A                         Jain (1.27b), corrected
"""

import numpy as np

from ..lie import so3
from ..lie.scalars import of_arrays
from .shift import blocks


def _parts(z):
    return so3.tilde(z[..., :3]), so3.tilde(z[..., 3:])


@of_arrays
def tilde(z):
    x, y = _parts(z)
    return blocks(x, np.zeros_like(x), y, x)


@of_arrays
def bar(z):
    x, y = _parts(z)
    return blocks(x, y, np.zeros_like(x), x)


@of_arrays
def hat(z):
    x, y = _parts(z)
    return blocks(x, y, y, np.zeros_like(x))
