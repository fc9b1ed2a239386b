"""Long batches are shared out over threads, short ones are not; nothing depends on how many there are."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import numpy as np
import pytest
from fresh import finish, python, start
from real_robots import model
from zoo import CALLS, MECHANISMS, each, planar_2r, state

import linkwork as lw

PANDA, CHAIN = lw.Dynamics(model("panda")), lw.Dynamics(MECHANISMS["chain"], rolled=True)
SIZES = 1, 4095, 4097, 10_001  # around what is worth a thread


@pytest.fixture(autouse=True)
def threads():
    """The number of threads is put back after each test."""
    before = lw.get_threads()
    yield
    lw.set_threads(before)


@pytest.mark.parametrize("robot", [PANDA, CHAIN], ids=["straight", "rolled"])
@pytest.mark.parametrize("size", SIZES)
def test_the_number_of_threads_changes_no_bit(robot, size):
    s = state(robot, (size,))
    strided = each(s, np.asfortranarray)
    for name in "forward_dynamics", "kinetic_energy":
        lw.set_threads(1)
        expected = CALLS[name](robot, s)
        for count in 2, 3, 64, 1000:
            lw.set_threads(count)
            np.testing.assert_array_equal(CALLS[name](robot, s), expected)
            np.testing.assert_array_equal(CALLS[name](robot, strided), expected)


def tasks():
    """How many threads this process has, as Linux counts them."""
    return len(os.listdir("/proc/self/task"))


def settled():
    """The same, when those that have ended are gone."""
    counts = [tasks()]
    while len(counts) < 20 or len(set(counts[-20:])) > 1:
        sleep(1e-3)
        counts.append(tasks())
    return counts[-1]


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted as Linux does")
@pytest.mark.parametrize(("allowed", "size", "more"), [(1, 300_000, 0), (2, 300_000, 1), (3, 300_000, 2), (3, 2000, 0)])
def test_as_many_threads_run_as_are_allowed_and_worth_it(allowed, size, more):
    """Counted while calls go on, beside the one that calls; they are gone afterwards."""
    lw.set_threads(allowed)
    s = each(state(PANDA), lambda x: np.broadcast_to(x, (size, *x.shape)))
    out, done, most = np.empty((size, PANDA.nv)), threading.Event(), 0
    PANDA.forward_dynamics(s.q[:1], s.v[:1], s.tau[:1])

    def keep_calling():
        for _ in range(1_200_000 // size):
            PANDA.forward_dynamics(s.q, s.v, s.tau, out=out)
        done.set()

    before = settled()
    caller = threading.Thread(target=keep_calling)
    caller.start()
    while not done.is_set():
        most = max(most, tasks())
        sleep(1e-4)
    caller.join()
    assert most == before + 1 + more
    assert settled() == before


@pytest.mark.parametrize("count", [0, -1])
def test_there_is_at_least_one_thread(count):
    with pytest.raises(ValueError, match=f"the number of threads is {count}; it must be at least 1"):
        lw.set_threads(count)


def test_the_environment_sets_the_number_of_threads():
    says = "import linkwork; print(linkwork.get_threads())"
    running = [start(says, LINKWORK_NUM_THREADS=n) for n in ("3", "", None)]
    cores = str(len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else str(os.cpu_count())
    assert [finish(process) for process in running] == ["3", cores, cores]


def test_a_number_of_threads_that_is_none_is_named():
    code = "try:\n    import linkwork\nexcept ValueError as error:\n    print(error)"
    assert 'LINKWORK_NUM_THREADS is "many"' in python(code, LINKWORK_NUM_THREADS="many")


@pytest.mark.parametrize("rolled", [False, True])
def test_kernels_are_called_from_many_threads_of_python_at_once(rolled, tmp_path, monkeypatch):
    """The first calls too, each compiling what it needs; a rolled kernel's scratch memory is nobody else's."""
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path))
    robot = lw.Dynamics(planar_2r((0, -9.81, 0)), rolled=rolled)
    s = state(robot, (64,))
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda i: robot.forward_dynamics(s.q[i], s.v[i], s.tau[i]), [*range(64)] * 4))
    np.testing.assert_array_equal(parts, np.tile(robot.forward_dynamics(s.q, s.v, s.tau), (4, 1)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_can_call_what_its_parent_called():
    code = """
import os, numpy as np, linkwork as lw
from zoo import planar_2r, state
lw.set_threads(2)
robot = lw.Dynamics(planar_2r())
s = state(robot, (20_000,))
before = robot.forward_dynamics(s.q, s.v, s.tau)
child = os.fork()
same = np.array_equal(robot.forward_dynamics(s.q, s.v, s.tau), before)
if child == 0:
    os._exit(0 if same else 1)
print(same, os.waitpid(child, 0)[1])
"""
    assert python(code) == "True 0"
