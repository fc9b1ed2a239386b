"""Compiled code lives as long as something can call it, and no longer."""

import gc

import numpy as np

import linkwork as lw
from linkwork.engine.loading import gufunc
from linkwork.engine.loading.compiler import Code, _unused
from linkwork.engine.loading.gufunc import LoopData


def alive() -> int:
    gc.collect()
    return sum(isinstance(x, (Code, LoopData)) for x in gc.get_objects())


def used(model):
    robot = lw.Dynamics(model)
    robot.mass_matrix(np.ones(2))
    robot.mass_matrix(np.ones((3, 2), np.float32))
    robot.kernel(lambda q: 2 * q)(np.ones(2))
    return robot


def test_kernels_of_dead_robots_are_freed():
    model = lw.load("double_pendulum")
    used(model)
    before = alive()
    for _ in range(20):
        used(model)
    assert alive() == before
    assert len(_unused) <= 3  # those of the last robot


def test_a_kernel_outlives_its_robot():
    """Whoever holds the gufunc holds the code, and so does whoever holds the quick call for one sample."""
    robot = used(lw.load("double_pendulum"))
    kernel = robot.kernel(lambda q: 2 * q)
    kernel(np.ones(2))
    general, quick = kernel.gufunc(), kernel.ready[np.dtype(float)]
    del robot, kernel
    gc.collect()
    used(lw.load("double_pendulum"))  # LLVM is entered: what is unused is freed
    assert (general(np.ones((3, 2))) == 2).all() and (quick(np.ones(2)) == 2).all()
    del general
    gc.collect()
    used(lw.load("double_pendulum"))
    assert (quick(np.ones((5, 2))) == 2).all()


def test_scratch_memory_is_given_back_once(monkeypatch):
    """A kernel in pieces keeps a scratch memory from call to call; it goes with the kernel, to the function that frees it."""
    freed = []
    monkeypatch.setattr(gufunc, "_free", freed.append)
    data = LoopData()
    data._pointers[1], data._pointers[2] = 64, None
    del data
    gc.collect()
    assert freed == [64]
