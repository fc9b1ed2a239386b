"""Coefficients and split constants of the elementary functions. Written by tools/fit_functions.py."""


def _floats(text):
    return tuple(float.fromhex(word) for word in text.split())


DOUBLE = {
    "sin": _floats("""
        -0x1.5555555555548p-3 0x1.111111110f73p-7 -0x1.a01a019be9217p-13 0x1.71de35552b25dp-19
        -0x1.ae5e4b83909aap-26 0x1.5d8b556ea2602p-33
    """),  # relative error 2^-57.9
    "cos": _floats("""
        -0x1p-1 0x1.555555555554bp-5 -0x1.6c16c16c15015p-10 0x1.a01a019c8f24fp-16
        -0x1.27e4f7f190c95p-22 0x1.1ee9dbce75afcp-29 -0x1.8fa6842a792d3p-37
    """),  # relative error 2^-63.9
    "atan": _floats("""
        -0x1.5555555555526p-2 0x1.99999999955b4p-3 -0x1.249249237f415p-3 0x1.c71c717fc2283p-4
        -0x1.745d11aceb2d7p-4 0x1.3b136681b5312p-4 -0x1.110e5036831e6p-4 0x1.e1bb9a19b116ap-5
        -0x1.ae5e3a9209b13p-5 0x1.82da228b18cbcp-5 -0x1.59a266923fd88p-5 0x1.2c2bfc0a32984p-5
        -0x1.e9f672259e93p-6 0x1.683ea932fa6f3p-6 -0x1.c7a20436f9077p-7 0x1.d7ebad719e2a7p-8
        -0x1.7a8b0360b3397p-9 0x1.b49c9de5eb987p-11 -0x1.3fef5fbf7d62ep-13 0x1.bd646c9c8a961p-17
    """),  # relative error 2^-56.7
    "asin": _floats("""
        0x1.555555555539p-3 0x1.333333336e837p-4 0x1.6db6db4277cb5p-5 0x1.f1c72c3a00461p-6
        0x1.6e89f423c1b51p-6 0x1.1c6be381332f4p-6 0x1.c6fd9a06de064p-7 0x1.8ec4118cc62bap-7
        0x1.abc586a8a04cfp-8 0x1.3ffbad65b7eb9p-6 -0x1.09de8ec3446fep-6 0x1.0571735b1e86fp-5
    """),  # relative error 2^-55.9
    "exp": _floats("""
        0x1p-1 0x1.5555555555557p-3 0x1.555555555553cp-5 0x1.1111111110159p-7
        0x1.6c16c16c23bb5p-10 0x1.a01a01abad4b7p-13 0x1.a01a01579a77p-16 0x1.71de02d4a20d3p-19
        0x1.27e5985018e44p-22 0x1.af4cbb99ccd22p-26 0x1.1e37e7fbcd91ap-29
    """),  # relative error 2^-60.8
    "log": _floats("""
        0x1.5555555555592p-1 0x1.999999997ff61p-2 0x1.24924941db6b3p-2 0x1.c71c5219fd0f5p-3
        0x1.74663ba8d69dp-3 0x1.39a20b21992d6p-3 0x1.2f02561a53e9bp-3
    """),  # relative error 2^-59.5
    "half_pi": _floats("0x1.921fb54442d18p+0 0x1.1a62633145c07p-54 -0x1.f1976b7ed8fb8p-110"),
    "pi": _floats("0x1.921fb54442d18p+1 0x1.1a62633145c07p-53"),
    "two_over_pi": _floats("0x1.45f306dc9c883p-1"),
    "ln2": _floats("0x1.62e42fefa39efp-1 0x1.abc9e3b39803fp-56"),
    "log2_e": _floats("0x1.71547652b82fep+0"),
    "sqrt_half": _floats("0x1.6a09e667f3bcdp-1"),
}

FLOAT = {
    "sin": _floats("-0x1.555544p-3 0x1.1106c6p-7 -0x1.991c26p-13"),  # relative error 2^-27.8
    "cos": _floats("-0x1p-1 0x1.55554ap-5 -0x1.6c0c22p-10 0x1.99e524p-16"),  # relative error 2^-32.9
    "atan": _floats("""
        -0x1.55553ep-2 0x1.9991e4p-3 -0x1.242086p-3 0x1.c08c46p-4
        -0x1.5808d4p-4 0x1.da2824p-5 -0x1.fd77dep-6 0x1.641b18p-7
        -0x1.d3426cp-10
    """),  # relative error 2^-28.5
    "asin": _floats("""
        0x1.5555c8p-3 0x1.330204p-4 0x1.747bb8p-5 0x1.8c3e5p-6
        0x1.595c6p-5
    """),  # relative error 2^-27.6
    "exp": _floats("""
        0x1.fffffep-2 0x1.5554ep-3 0x1.5557b6p-5 0x1.1208d2p-7
        0x1.6a55dp-10
    """),  # relative error 2^-26.7
    "log": _floats("0x1.55557ap-1 0x1.995ed8p-2 0x1.31e03cp-2"),  # relative error 2^-30.2
    "half_pi": _floats("0x1.921fb6p+0 -0x1.777a5cp-25 -0x1.ee59dap-50"),
    "pi": _floats("0x1.921fb6p+1 -0x1.777a5cp-24"),
    "two_over_pi": _floats("0x1.45f306p-1"),
    "ln2": _floats("0x1.62e43p-1 -0x1.05c61p-29"),
    "log2_e": _floats("0x1.715476p+0"),
    "sqrt_half": _floats("0x1.6a09e6p-1"),
}

TABLES = {"double": DOUBLE, "float": FLOAT}

# 2/π in fixed point behind 64 zero bits, the highest word first
TWO_OVER_PI = (
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41,
    0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
)
