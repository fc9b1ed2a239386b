"""The pictures of the README and the docs, made anew: python tools/make_images.py [name ...]

Everything they show was simulated here. `player` and `browser` are photographs of pages, and need Chromium and playwright.
"""

import os
import runpy
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageSequence

import linkwork as lw
from linkwork.model import solids

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
MODELS = ROOT / "tests" / "models"


def chain() -> None:
    """A chain of twelve links on ball joints, let go from the horizontal with a push to the side."""
    system = lw.Builder("chain")
    for i in range(12):
        color = (*plt.get_cmap("viridis")(i / 11)[:3], 1.0)
        on, at = (f"link{i - 1}", (0, 0, -1)) if i else (None, None)
        system.body(f"link{i}", on, at, lw.Spherical(), **solids.capsule(1.0, 0.16, (0, 0, -1), color=color))
    system.frame("end", "link11", (0, 0, -1))
    robot = lw.Dynamics(system.model())
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[:4] = 0, -np.sqrt(0.5), 0, np.sqrt(0.5)
    v[:3] = 0.5, 0.0, 0.0
    run = lw.simulate(robot, (q, v), until=4.0, rtol=1e-8, atol=1e-9)
    times = [0.0, 0.9, 1.5, 1.9, 2.3, 2.7]
    lw.snapshot(run, times, IMAGES / "chain.png", trace=["end"], size=(8.0, 4.2), dpi=110, azimuth=-75, elevation=14)


def swing() -> None:
    robot = lw.Dynamics(lw.load("double_pendulum"))
    run = lw.simulate(robot, (np.array([2.2, 0.4]), np.zeros(2)), until=10.0, method="dop853", rtol=1e-11)
    lw.plot(run, "q", "energy").savefig(IMAGES / "plot.png", dpi=90)
    lw.plot_phase(run).savefig(IMAGES / "phase.png", dpi=90)


def tree() -> None:
    lw.plot_tree(lw.load("humanoid")).savefig(IMAGES / "tree.png", dpi=90)


def robots() -> None:
    """Files without their meshes: bodies are drawn from joint to joint."""
    files = ["panda/panda.urdf", "anymal_c/anymal_c.urdf", "talos_reduced/talos_reduced.urdf", "go2_mjcf/go2.xml"]
    figure, rows = plt.subplots(1, 4, figsize=(10, 3), layout="constrained")
    for axes, file in zip(rows, files):
        picture = lw.snapshot(lw.load(MODELS / file), size=(3, 3.6), dpi=110)
        picture.canvas.draw()
        axes.imshow(np.asarray(picture.canvas.buffer_rgba()))
        axes.set_title(file.partition("/")[0], fontsize=9)
        axes.set_axis_off()
    figure.savefig(IMAGES / "robots.png", dpi=110)


def crane() -> None:
    """The mechanism of the docs' page about building one."""
    crane = lw.Builder("crane")
    crane.body("column", joint=lw.Revolute(), **solids.cylinder(800.0, 0.3, 6.0, center=(0, 0, 3)))
    crane.body("jib", "column", (0, 0, 6), lw.Revolute(axis=(0, -1, 0)), **solids.box(300.0, (8.0, 0.3, 0.3), (4, 0, 0)))
    load = solids.together(solids.rod(2.0, (0, 0, -4)), solids.sphere(200.0, 0.4, (0, 0, -4.4)))
    crane.body("load", "jib", (6, 0, 0), lw.Spherical(), **load)
    robot = lw.Dynamics(crane.model())

    def control(t, q, v):
        hold = robot.gravity_force(q)[1] - 2e5 * q[1] - 3e4 * v[1]
        return np.array([6000.0 if t < 1.5 else -400 * v[0], hold, 0, 0, 0])

    run = lw.simulate(robot, (robot.neutral(), np.zeros(robot.nv)), until=3.2, control=control)
    lw.snapshot(run, [0.0, 1.4, 2.2, 3.2], IMAGES / "crane.png", trace=["load"], size=(6, 4), dpi=100, elevation=24)


def energy() -> None:
    """A million steps of a hundredth of a second: the variational integrator's energy has no trend."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    start = np.array([2.0, 0.5]), np.zeros(2)
    figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
    for method, color in (("rk4", "C1"), ("midpoint", "C0")):
        run = lw.simulate(robot, start, until=1e4, method=method, dt=0.01, save=lw.Save(every=97))
        error = (run.energy - run.energy[0]) / run.kinetic_energy.max()
        axes.plot(run.t, error, label=method, color=color, linewidth=0.6)
    axes.set(xlabel="t [s]", ylabel="energy error / largest T", title="double pendulum, 1 000 000 steps of 0.01 s")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(IMAGES / "energy.png", dpi=90)


def photographs() -> None:
    """What the recorded page and the browser view look like."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    arguments = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    robot = lw.Dynamics(lw.load("satellite"))
    _, v = robot.random_state(seed=3)
    v[:6] = 0.1, 0.3, 0.5, 0.0, 0.0, 0.0
    run = lw.simulate(robot, (robot.integrate(robot.neutral(), 0.4 * v), v), until=4.0)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        page = browser.new_page(viewport={"width": 900, "height": 520})
        page.goto(lw.record(run, Path(folder) / "run.html", trace=["left_panel3"]).as_uri() + "#t=3.2")
        page.wait_for_timeout(1000)
        page.screenshot(path=IMAGES / "player.png")
        with lw.view(lw.load("arm_6r"), port=0, block=False) as scene:
            page.goto(scene.url)
            page.get_by_text("joint6").first.wait_for(timeout=60_000)
            for slider, value in zip(scene.controls.sliders, (0.6, -0.4, 0.9, 0.5, -0.7, 0.0)):
                slider.value = value
            page.get_by_role("alert").get_by_role("button").first.click()
            page.wait_for_timeout(4000)
            page.screenshot(path=IMAGES / "view.png")
        browser.close()


def loops() -> None:
    films("loops")


def flying() -> None:
    films("flying")
    films("swing")


def flexible() -> None:
    films("flexible")


def films(kind: str) -> None:
    """The films of the examples whose names begin so."""
    here = Path.cwd()
    for example in sorted((ROOT / "examples").glob(f"{kind}_*.py")):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            sys.argv[1:] = ["--film"]
            runpy.run_path(str(example), run_name="__main__")
            (film,) = Path(folder).glob("*.gif")
            few_colors(film, IMAGES / f"{example.stem}.gif")
            os.chdir(here)


def rest() -> None:
    """A chain at rest and an arm with their small motions, as the examples draw them."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("hanging_chain", "modes_of_an_arm"):
            runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
            shutil.copy(f"{name}.png", IMAGES)
        os.chdir(here)


def few_colors(film: Path, path: Path, count: int = 48) -> None:
    """A film with one palette for all of its frames, of the commonest colours and of the rarest: half as large."""
    with Image.open(film) as image:
        frames = [frame.convert("RGB") for frame in ImageSequence.Iterator(image)]
        pause = image.info["duration"]
    some = Image.fromarray(np.concatenate([np.asarray(frame) for frame in frames[:: max(1, len(frames) // 6)]]))
    ways = Image.Quantize.MEDIANCUT, Image.Quantize.MAXCOVERAGE
    colors = np.reshape([some.quantize(count, how).getpalette()[: 3 * count] for how in ways], (-1, 3))
    colors[colors.min(1) > 246] = 255  # paper is white
    palette = Image.new("P", (1, 1))
    palette.putpalette(colors.ravel().tolist())
    first, *rest = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    first.save(path, save_all=True, append_images=rest, duration=pause, loop=0)


MAKERS = {maker.__name__: maker for maker in (chain, swing, tree, robots, crane, energy, photographs, loops, flying, flexible, rest)}

if __name__ == "__main__":
    warnings.simplefilter("ignore", lw.ModelWarning)
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in list(sys.argv[1:]) or MAKERS:
        MAKERS[name]()
        print(name)
