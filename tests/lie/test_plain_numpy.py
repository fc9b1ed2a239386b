"""The groups need so little of NumPy that a tracer can follow: no branch on a value, no writes, few functions."""

import numpy as np
import pytest

from linkwork.lie import CYLINDRICAL, SE2, SE3, SO2, SO3, Helical, R, X, attitude, euler
from linkwork.lie.scalars import like

UFUNCS = {np.add, np.subtract, np.multiply, np.divide, np.negative, np.matmul, np.sqrt, np.sin, np.cos, np.arctan2,
          np.absolute, np.less, np.greater}
FUNCTIONS = {np.where, np.stack, np.concatenate, np.zeros_like}


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that knows only what a tracer promises; it has no truth value and cannot be written to."""

    def __init__(self, values):
        self.values = values

    shape = property(lambda self: self.values.shape)
    mT = property(lambda self: Traced(self.values.mT))

    def __getitem__(self, index):
        return Traced(self.values[index])

    def reshape(self, *shape):
        return Traced(self.values.reshape(*shape))

    def __bool__(self):
        raise TypeError("a branch on a value")

    def __array__(self, *args, **kwargs):
        raise TypeError("leaves the trace")

    def __array_ufunc__(self, ufunc, method, *inputs):
        assert ufunc in UFUNCS and method == "__call__", ufunc
        return Traced(ufunc(*plain(inputs)))

    def __array_function__(self, function, types, args, kwargs):
        assert function in FUNCTIONS, function
        return Traced(function(*plain(args), **kwargs))


like.register(Traced)(lambda constant, x: np.asarray(constant, float))


def plain(x):
    if isinstance(x, list | tuple):
        return [plain(item) for item in x]
    return x.values if isinstance(x, Traced) else x


def agree(function, *arguments):
    traced, floats = function(*map(Traced, arguments)), function(*arguments)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (traced, floats))):
        assert isinstance(a, Traced)
        np.testing.assert_array_equal(a.values, b)


@pytest.mark.parametrize("G", [SO2, SO3, SE2, SE3, X, CYLINDRICAL, Helical(0.3), R(3)], ids=str)
def test_a_group_runs_on_traced_arrays(G, rng):
    xi = rng.normal(size=G.nv)
    q = G.exp(xi)
    for method in (G.exp, G.ad, G.hat, G.dexp, G.dexp_inverse, G.S):
        agree(method, xi)
    for method in (G.log, G.inverse, G.matrix, G.Ad):
        agree(method, q)
    agree(G.compose, q, q)
    agree(G.rate, q, xi)


def test_attitude_runs_on_traced_arrays(rng):
    x, y, angle = rng.normal(size=3), rng.normal(size=3), np.array(0.7)
    q = SO3.exp(x)
    R = attitude.rotation_matrix(q)
    for function in (attitude.E_plus, attitude.E_minus, attitude.gibbs_from_quaternion):
        agree(function, q)
    agree(attitude.axis_angle_from_quaternion, q)
    for function in (attitude.quaternion_from_matrix, attitude.axis_angle_from_matrix, attitude.cayley_inverse):
        agree(function, R)
    for function in (attitude.cayley, attitude.quaternion_from_gibbs):
        agree(function, x)
    for function in (attitude.quaternion_from_axis_angle, attitude.matrix_from_axis_angle):
        agree(function, x, angle)
    agree(attitude.axis_angle_rates, x, angle, y)
    agree(attitude.angular_velocity_from_axis_angle, x, angle, y, angle)
    agree(attitude.quaternion_rate, q, x)
    agree(attitude.angular_velocity, q, q)
    agree(attitude.quaternion_acceleration, q, x, y)
    agree(attitude.angular_acceleration, q, q)
    agree(attitude.rotations_between, x, y)


@pytest.mark.parametrize("sequence", ["ZXZ", "xyz"])
def test_euler_angles_run_on_traced_arrays(sequence, rng):
    angles, omega = rng.normal(size=3), rng.normal(size=3)
    for function in (euler.matrix_from_euler, euler.quaternion_from_euler, euler.euler_velocity_map):
        agree(lambda x, f=function: f(x, sequence), angles)
    agree(lambda q: euler.euler_from_quaternion(q, sequence), SO3.exp(angles))
    agree(lambda a, w: euler.euler_rates(a, w, sequence), angles, omega)
