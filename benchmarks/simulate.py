"""One simulation with adaptive steps: the wall time of a step, beside MuJoCo's mj_step with RK4 and SciPy's RK45 over Pinocchio's aba.

The same mechanisms from the same states, without contacts and limits. MuJoCo makes steps of fixed length, four evaluations each; rk45
makes six for each step it tries. Times are the best of several, taken in turn.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import linkwork as lw
from benchmarks._race import race
from benchmarks._robots import file, model
from linkwork.model import solids

ASKED = {"double_pendulum": 8.0, "panda": 8.0, "four_bar": 20.0, "stiff panda": 40.0, "stiff springs": 40.0}  # microseconds


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


def arm(name: str, friction: float = 0.0, stiffness: float = 0.0, **limits) -> lw.Dynamics:
    """Two rods in a plane."""
    builder, how = lw.Builder(name), {"axis": (0, 1, 0), "friction": friction}
    builder.body("upper", joint=lw.Revolute(**how, **limits), **solids.rod(1.0, (0, 0, -1)))
    elbow = lw.Revolute(**how, stiffness=stiffness, damping=stiffness / 100)
    builder.body("fore", "upper", (0, 0, -1), elbow, **solids.rod(1.0, (0, 0, -1)))
    return lw.Dynamics(builder.model())


def with_events() -> None:
    """Steps between events, and runs with events in them, beside the same steps with a function of Python as control."""
    start, python = (np.array([1.2, 0.3]), np.zeros(2)), {"control": lambda t, q, v: 0.0 * v}
    limited, rough, smooth = arm("limited", lower=-0.7), arm("rough", friction=0.02), arm("smooth")
    level = smooth.kernel()(lambda q: q[0] + 0.3)
    wall = lw.Event(level, "wall", direction=-1, reset=lambda t, q, v: (q, -0.8 * v))
    far = lw.Event(smooth.kernel()(lambda q: q[0] + 50.0), "far")
    cases = {
        "plain": (smooth, {}, {}),
        "limit, not struck": (arm("free", lower=-50.0), {"limits": True}, {}),
        "limit": (limited, {"contact": lw.ContactLaw(limits=True, restitution=0.9)}, python),
        "dry friction": (rough, {}, python),
        "kernel as event, none": (smooth, {"events": [far]}, {}),
        "reset by a kernel": (smooth, {"events": [wall]}, {"events": [replace(wall, function=lambda t, q, v: q[0] + 0.3)]}),
    }
    for name, (robot, how, other) in cases.items():
        run = lambda r=robot, h=how: lw.simulate(r, start, until=10.0, **h)
        each = [run, *([lambda r=robot, h=how | other: lw.simulate(r, start, until=10.0, **h)] if other else [])]
        made = run()
        ours, *theirs = race(*each)
        said = f"{1e6 * ours / made.steps:6.2f} us a step ({made.steps} steps, {len(made.events)} events)"
        print(f"{name:>22}: {said}" + "".join(f"; with a function of Python {1e6 * x / made.steps:6.1f}" for x in theirs))


def others() -> None:
    """Loops, and the implicit method; nobody else has these on groups."""
    four_bar = lw.Dynamics(lw.load("four_bar"))
    panda = lw.Dynamics(model("panda"))
    springs = arm("springs", stiffness=1e6)
    cases = {
        "four_bar": (four_bar, four_bar.constraints.random_state(seed=1, reach=0.3)[0], 5.0, {}),
        "stiff panda": (panda, panda.random_state(seed=0)[0], 1.0, {"method": "stiff"}),
        "radau panda": (panda, panda.random_state(seed=0)[0], 1.0, {"method": "radau"}),
        "stiff springs": (springs, np.array([1.0, 0.0]), 5.0, {"method": "stiff"}),
        "radau springs": (springs, np.array([1.0, 0.0]), 5.0, {"method": "radau"}),
    }
    for name, (robot, q, until, how) in cases.items():
        steps = lw.simulate(robot, (q, np.zeros(robot.nv)), until=until, **how).steps
        (ours,) = race(lambda r=robot, q=q, u=until, h=how: lw.simulate(r, (q, np.zeros(r.nv)), until=u, **h))
        asked = f"; asked {ASKED[name]:.0f}" if name in ASKED else ""
        print(f"{name:>16}: {1e6 * ours / steps:6.2f} us a step ({steps} steps{asked})")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        tree("double_pendulum", lw.Dynamics(lw.load("double_pendulum")), 20.0, Path(folder))
        tree("panda", lw.Dynamics(model("panda")), 5.0, Path(folder))
    others()
    with_events()


if __name__ == "__main__":
    main()
