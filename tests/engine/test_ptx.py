"""GPU code, as far as it can be tested without a GPU: LLVM verifies it, it needs nothing from outside, and its memory
layout is emulated here."""

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from real_robots import model

import linkwork as lw
from linkwork.engine.running import ptx, ptx_repeat, ptx_rolled
from linkwork.engine.running.device import _even
from linkwork.engine.running.repeat import Form
from linkwork.engine.tracing.program import Input, record
from linkwork.simulate.ensembles.ensemble_run import ROWS
from linkwork.simulate.methods.fixed_step import LENGTH, TAU, FixedStep
from linkwork.simulate.methods.pairs import DormandPrince
from linkwork.simulate.runs.segments import Arguments, Equations, attempt

NAMES = ["forward_dynamics", "inverse_dynamics", "mass_matrix", "integrate", "difference", "kinetic_energy", "poses"]
MORE = ["mass_matrix_inverse", "bias", "gravity_force", "coriolis_matrix", "passive_force", "potential_energy", "center_of_mass",
        "centroidal_momentum", "qdot", "diagonal_velocity", "diagonal_dynamics"]  # fmt: skip
ASSEMBLER = shutil.which("ptxas")


@pytest.fixture(scope="module")
def robot():
    return lw.Dynamics(lw.load("satellite"))


def assembled(text, tmp_path):
    """LLVM's verifier has passed it; where NVIDIA's assembler is installed, it takes it too."""
    assembly = ptx.ptx(text, "sm_90")
    assert ".extern" not in assembly
    assert ".entry kernel" in assembly
    if ASSEMBLER:
        (tmp_path / "kernel.ptx").write_text(assembly)
        subprocess.run([ASSEMBLER, "-arch=sm_90", "-O0", "kernel.ptx", "-o", "kernel.bin"], cwd=tmp_path, check=True)


def text(program, dtype, layout):
    return ptx.text(program, dtype, (layout,) * (len(program.inputs) + len(program.outputs)))


@pytest.mark.parametrize("dtype", ["double", "float"])
@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("name", NAMES)
def test_the_assembly_of_a_kernel_needs_nothing_from_outside(robot, name, layout, dtype, tmp_path):
    assembled(text(robot.program(name), dtype, layout), tmp_path)


@pytest.mark.parametrize("name", MORE)
def test_so_does_that_of_every_quantity(robot, name, tmp_path):
    assembled(text(robot.program(name), "double", "rows"), tmp_path)


@pytest.mark.parametrize("method", ["euler", "rk4"])
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_so_does_that_of_a_rollout(robot, method, dtype, tmp_path):
    program = FixedStep(robot, method).kernel({TAU: (robot.nv,), LENGTH: ()}).program
    assembled(ptx_repeat.text(program, dtype, ("rows",) * 6, Form(2, 1)), tmp_path)


@pytest.mark.parametrize("store, dtype", [("last", "float"), ("grid", "double")])
def test_so_does_that_of_adaptive_steps(robot, store, dtype, tmp_path):
    of, pair = replace(Equations.of(robot), in_place=True), DormandPrince()
    names, rows = Arguments(of, pair, None), ROWS[store]
    program = record("steps", lambda *x: attempt(of, pair, rows, None, names.by_name(x)), names.inputs)
    layouts = ("rows",) * (len(program.inputs) + len(program.outputs) - 1)
    assembled(ptx_repeat.text(program, dtype, layouts, Form(len(names.state), keeps=True, leaves=True)), tmp_path)


@pytest.mark.parametrize("dtype", ["double", "float"])
def test_so_does_that_of_a_rolled_kernel(dtype, tmp_path):
    robot = lw.Dynamics(lw.load("satellite"), rolled=True)
    program = robot.quantity("forward_dynamics").rolled_kernel().program
    assembled(ptx_rolled.text(program, dtype, ("rows", "columns", "rows", "columns")), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES + MORE)
@pytest.mark.parametrize("robot", ["panda", "simple_humanoid"])
def test_so_does_that_of_real_robots(robot, name, tmp_path):
    assembled(text(lw.Dynamics(model(robot)).program(name), "float", "rows"), tmp_path)


def test_a_kernel_with_angles_has_a_second_entry_for_large_ones(robot):
    program = robot.program("forward_dynamics")
    assert ".entry far" in ptx.ptx(ptx.text(program, "double", ("rows",) * 4), "sm_90")
    plain = record("twice", lambda x: 2.0 * x, [Input("x", (3,))])
    assert ".entry far" not in ptx.ptx(ptx.text(plain, "double", ("rows", "rows")), "sm_90")


def test_results_staged_through_shared_memory_land_where_they_belong():
    """The index arithmetic of a block that writes its rows together, run thread by thread."""
    threads, staged, size = ptx.THREADS, ptx.STAGED, 70
    samples = threads + 5
    wanted = np.arange(samples * size).reshape(samples, size)
    out = np.full_like(wanted, -1)
    for block in range(2):
        first = block * threads
        own = np.minimum(first + np.arange(threads), samples - 1)
        for start in (*range(0, size - staged, staged), size - staged):
            stage = np.zeros(staged * (threads + 1), int)
            for k in range(staged):
                stage[k * (threads + 1) + np.arange(threads)] = wanted[own, start + k]
            thread = np.arange(threads)
            entry, sample = thread & (staged - 1), thread >> (staged.bit_length() - 1)
            for turn in range(staged):
                s = sample + turn * (threads // staged)
                row = np.minimum(first + s, samples - 1)
                out[row, start + entry] = stage[entry * (threads + 1) + s]
    np.testing.assert_array_equal(out, wanted)


WALKS = [((4, 3), (3, 1), 1), ((4,), (7,), 7), ((4, 3), (1, 4), None), ((1, 5), (99, 2), 2), ((4,), (0,), 0)]


@pytest.mark.parametrize("shape, strides, step", WALKS)
def test_axes_that_one_step_walks_are_found(shape, strides, step):
    assert _even(shape, strides) == step
