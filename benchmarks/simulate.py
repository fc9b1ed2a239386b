"""One simulation with adaptive steps: the wall time of a step, beside MuJoCo's mj_step with RK4 and SciPy's RK45 over Pinocchio's aba.

The same mechanisms from the same states, without contacts and limits. MuJoCo makes steps of fixed length, four evaluations each; rk45
makes six for each step it tries. Times are the best of several, taken in turn.
"""

import tempfile
from pathlib import Path

import numpy as np

import linkwork as lw
from benchmarks._race import race
from benchmarks._robots import file, model

ASKED = {"double_pendulum": 8.0, "panda": 8.0, "four_bar": 20.0, "stiff panda": 40.0, "rosenbrock panda": 40.0}  # microseconds


def text_of(robot: lw.Dynamics, name: str, folder: Path) -> str:
    """The URDF without limits and shapes."""
    from benchmarks.rollout import SHAPES

    if name == "panda":
        return SHAPES.sub("", file("panda").read_text(encoding="utf-8"))
    path = folder / f"{name}.urdf"
    lw.save(robot.model, path, lossy=True)
    limit = '<limit lower="-1000" upper="1000" effort="1" velocity="1"/></joint>'
    return path.read_text().replace('type="continuous"', 'type="revolute"').replace("</joint>", limit)


def mujoco_step(text: str, q, v):
    """A function that makes 1,000 steps of RK4."""
    import mujoco

    extension = '<mujoco><compiler fusestatic="false" discardvisual="true" boundinertia="1e-9"/></mujoco>'
    made = mujoco.MjModel.from_xml_string(text.replace("</robot>", extension + "</robot>"))
    made.opt.timestep, made.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_RK4
    flags = mujoco.mjtDisableBit
    made.opt.disableflags |= flags.mjDSBL_CONSTRAINT | flags.mjDSBL_CONTACT | flags.mjDSBL_EQUALITY
    data = mujoco.MjData(made)

    def run():
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_step(made, data, 1000)

    return run


def scipy_run(text: str, q, v, until: float):
    """A function that integrates with SciPy over Pinocchio, and returns the number of steps."""
    import pinocchio as pin
    from scipy.integrate import solve_ivp

    made = pin.buildModelFromXML(text)
    data, n, damping = made.createData(), made.nv, np.asarray(made.damping)

    def rates(t, y):
        return np.concatenate([y[n:], pin.aba(made, data, y[:n], y[n:], -damping * y[n:])])

    def run():
        return len(solve_ivp(rates, (0.0, until), np.concatenate([q, v]), rtol=1e-6, atol=1e-9).t) - 1

    return run


def tree(name: str, robot: lw.Dynamics, until: float, folder: Path) -> None:
    q, v = robot.random_state(seed=0)
    v = 0.1 * v
    steps = lw.simulate(robot, (q, v), until=until).steps
    text = text_of(robot, name, folder)
    scipy = scipy_run(text, q, v, until)
    theirs = scipy()
    ours, mujoco, pinocchio = race(lambda: lw.simulate(robot, (q, v), until=until), mujoco_step(text, q, v), scipy)
    said = f"{1e6 * ours / steps:6.2f} us a step ({steps} steps; asked {ASKED[name]:.0f})"
    print(f"{name:>16}: {said}; MuJoCo RK4 {1e3 * mujoco:6.2f}; SciPy over Pinocchio {1e6 * pinocchio / theirs:6.1f} ({theirs} steps)")


def others() -> None:
    """Loops, and the implicit method; nobody else has these on groups."""
    four_bar = lw.Dynamics(lw.load("four_bar"))
    arm = lw.Dynamics(model("panda"))
    cases = {
        "four_bar": (four_bar, four_bar.constraints.random_state(seed=1, reach=0.3)[0], 5.0, {}),
        "stiff panda": (arm, arm.random_state(seed=0)[0], 1.0, {"method": "stiff"}),
        "rosenbrock panda": (arm, arm.random_state(seed=0)[0], 1.0, {"method": "rosenbrock"}),
    }
    for name, (robot, q, until, how) in cases.items():
        steps = lw.simulate(robot, (q, np.zeros(robot.nv)), until=until, **how).steps
        (ours,) = race(lambda r=robot, q=q, u=until, h=how: lw.simulate(r, (q, np.zeros(r.nv)), until=u, **h))
        print(f"{name:>16}: {1e6 * ours / steps:6.2f} us a step ({steps} steps; asked {ASKED[name]:.0f})")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        tree("double_pendulum", lw.Dynamics(lw.load("double_pendulum")), 20.0, Path(folder))
        tree("panda", lw.Dynamics(model("panda")), 5.0, Path(folder))
    others()


if __name__ == "__main__":
    main()
