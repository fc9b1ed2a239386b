"""The command line says what it did, or what is wrong, in words."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.__main__ import main
from linkwork.model.mechanisms import NAMES

pytest.importorskip("typer")

MODELS = Path(__file__).parent / "models"
FILES = sorted(p for p in MODELS.rglob("*") if p.suffix in (".urdf", ".sdf", ".xml", ".yaml"))


INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
MIMIC = f"""<robot name="m"><link name="a"/><link name="b">{INERTIAL}<collision><geometry><sphere radius="1"/></geometry></collision></link>
<link name="c">{INERTIAL}</link><joint name="i" type="continuous"><parent link="a"/><child link="b"/></joint>
<joint name="j" type="continuous"><parent link="b"/><child link="c"/><mimic joint="i"/></joint></robot>"""


@pytest.fixture
def linkwork(capsys, tmp_path, monkeypatch):
    """Run a command in an empty folder: its exit code, what it said, and what it complained about."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(MODELS).as_posix())
def test_info_works_on_every_model_or_ends_in_a_sentence(linkwork, file):
    code, out, err = linkwork("info", file)
    if code == 0:
        assert "bodies, nq = " in out
    else:
        assert code == 2
        assert err.startswith("error: ")
        assert "Traceback" not in err


def test_info_without_a_model_lists_the_built_in_ones(linkwork):
    code, out, _ = linkwork("info")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()][: len(NAMES)] == list(NAMES)


def test_info_shows_the_tree_and_draws_it(linkwork, tmp_path):
    code, out, _ = linkwork("info", "humanoid", "--tree", "tree.png", "--picture", "person.png")
    assert code == 0
    assert str(lw.load("humanoid")) in out
    assert (tmp_path / "tree.png").exists() and (tmp_path / "person.png").exists()


def test_info_names_the_problems_of_a_model(linkwork):
    _, out, _ = linkwork("info", MODELS / "chain16" / "chain16.urdf")
    assert "problem: the mass matrix is singular" in out
    _, out, _ = linkwork("info", MODELS / "allegro_hand" / "allegro_left_hand.urdf")
    assert 'problem: "link_9.0" has principal moments' in out
    _, out, _ = linkwork("info", MODELS / "panda" / "panda.urdf")
    assert "problem: 10 meshes" in out
    _, out, _ = linkwork("info", "double_pendulum")
    assert "problem" not in out


def test_a_run_is_simulated_plotted_kept_and_played(linkwork, tmp_path):
    files = ["run.png", "run.npz", "run.html"]
    code, out, _ = linkwork(
        "simulate", "double_pendulum", "--set", "joint1=1", "--speed", "joint2=-2", "--until", 0.5,
        "--plot", files[0], "--save", files[1], "--html", files[2], "--trace", "end",
    )  # fmt: skip
    assert code == 0
    assert "to t = 0.5 s" in out
    assert all(f"wrote {name}" in out and (tmp_path / name).stat().st_size > 1000 for name in files)
    run = lw.Trajectory.load(tmp_path / "run.npz")
    assert np.array_equal(run.q[0], [1.0, 0.0]) and np.array_equal(run.v[0], [0.0, -2.0])
    code, out, _ = linkwork("view", "run.npz", "--port", 0, "--no-open", "--for", 0.1)
    assert code == 0
    assert "double_pendulum is at http://localhost:" in out


def test_view_takes_pages_of_a_proxy(linkwork):
    """One that is no address is refused, as by `lw.view`."""
    code, out, _ = linkwork("view", "pendulum", "--port", 0, "--no-open", "--for", 0, "--origins", "https://lab.example.org")
    assert code == 0 and "pendulum is at http://localhost:" in out
    code, _, err = linkwork("view", "pendulum", "--port", 0, "--no-open", "--for", 0, "--origins", "lab", "--origins", "https://a.b")
    assert code == 2 and "origins is ['lab', 'https://a.b']" in err


def test_a_run_that_goes_nowhere_is_noticed(linkwork):
    _, _, err = linkwork("simulate", "pendulum", "--until", 0.1)
    assert "nothing moved" in err


def test_a_random_start_is_the_same_for_the_same_seed(linkwork):
    runs = [linkwork("simulate", "pendulum", "--start", "random:3", "--until", 0.1)[1].splitlines()[1] for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("file", ["dp.urdf", "dp.json"])
def test_a_model_is_converted_to_a_file_that_loads_back(linkwork, tmp_path, file):
    assert linkwork("convert", "double_pendulum", file)[0] == 0
    one, other = lw.Dynamics(lw.load("double_pendulum")), lw.Dynamics(lw.load(tmp_path / file))
    q = np.array([0.3, -0.8])
    assert np.allclose(one.mass_matrix(q), other.mass_matrix(q), rtol=1e-14)


def test_a_quantity_is_written_as_c(linkwork, tmp_path):
    assert linkwork("export-c", "double_pendulum", "forward_dynamics", "fd.c")[0] == 0
    assert "math.h" in (tmp_path / "fd.c").read_text()
    assert linkwork("export-c", "double_pendulum", "jacobian:link2", "tip.c", "--float32")[0] == 0
    assert "float" in (tmp_path / "tip.h").read_text()


@pytest.mark.parametrize("name", ["double_pendulum", pytest.param("four_bar", marks=pytest.mark.slow)])
def test_warm_keeps_what_a_program_needs(linkwork, monkeypatch, tmp_path, name):
    """After it, a method finds its kernel on disk: nothing is compiled."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path))
    code, out, _ = linkwork("warm", name, "-q", "forward_dynamics", "-q", "poses", "--simulate", "--rollout", "--jobs", 1)
    assert code == 0
    assert "forward_dynamics" in out
    before = {path.name for path in tmp_path.glob("*.o")}
    assert before
    robot = lw.Dynamics(lw.load(name))
    q = robot.assemble(robot.neutral()) if robot.constraints else robot.neutral()
    robot.forward_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv))
    robot.poses(q)
    lw.simulate(robot, (q, np.zeros(robot.nv)), until=0.01)
    lw.simulate(robot, (q, np.zeros(robot.nv)), until=0.01, method="stiff")
    lw.simulate(robot, (np.stack([q, q]), np.zeros((2, robot.nv))), until=0.01, save="last")
    lw.rollout(robot, q, np.zeros(robot.nv), np.zeros((5, robot.nv)), dt=0.001, steps=5, method="rk4")
    assert {path.name for path in tmp_path.glob("*.o")} == before


def test_warm_without_a_folder_is_an_error(linkwork, monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE_DIR", "")
    code, _, said = linkwork("warm", "pendulum")
    assert code == 2
    assert "set LINKWORK_CACHE_DIR" in said


def test_bench_prints_a_row_for_each_method(linkwork, monkeypatch):
    monkeypatch.setattr("linkwork.cli.export_and_bench.LEAST", 0.01)
    code, out, _ = linkwork("bench", "pendulum", "--batch", 64)
    assert code == 0
    assert "first call [ms]" in out
    assert "forward_dynamics" in out and "poses" in out


def test_the_cache_is_shown_and_cleared(linkwork, tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path / "cache"))
    lw.Dynamics(lw.load("pendulum")).gravity_force(np.zeros(1))
    code, out, _ = linkwork("cache")
    assert code == 0
    assert "gravity_force" in out and "1 kernels" in out
    assert "removed 1 files" in linkwork("cache", "clear")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nowhere.urdf"], 'there is no file "nowhere.urdf"'),
        (["info", "dubble_pendulum"], 'Did you mean "double_pendulum"?'),
        (["simulate", "pendulum", "--method", "rk54"], 'no method "rk54". Did you mean'),
        (["simulate", "pendulum", "--method", "euler"], 'method "euler" has fixed steps'),
        (["simulate", "pendulum", "--set", "joint9=1"], 'no joint "joint9"'),
        (["simulate", "pendulum", "--set", "joint1=1,2"], 'joint "joint1" takes one number'),
        (["simulate", "free_body", "--set", "free=1"], 'joint "free" takes 7 numbers'),
        (["simulate", "pendulum", "--start", "anywhere"], '--start is "anywhere"'),
        (["simulate", "pendulum", "--until", "0.1", "--plot", "no/such/folder.png"], 'there is no folder "no/such" for folder.png'),
        (["view", "nowhere.npz"], "nowhere.npz"),
        (["convert", "puma560", "puma.urdf"], "URDF cannot hold all of puma560"),
        (["convert", "pendulum", "pendulum.txt"], '".txt"; a model is written as .json or .yaml'),
        (["export-c", "pendulum", "forward_dynamic", "x.c"], "forward_dynamics"),
        (["bench", "pendulum", "--method", "nothing"], '--method is "nothing"'),
        (["warm", "pendulum", "-q", "nothing"], 'no quantity "nothing"'),
        (["warm", "pendulum", "-q", "jacobian"], "besides arrays jacobian takes body, axes. Write -q jacobian:BODY:AXES."),
        (["warm", "pendulum", "-q", "mass_matrix:x"], "besides arrays mass_matrix takes nothing"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_a_mistake_ends_in_a_sentence_and_exit_code_2(linkwork, arguments, message):
    code, _, err = linkwork(*arguments)
    assert code == 2
    assert err.startswith("error: ")
    assert message in err


def test_the_command_line_says_what_could_touch_and_lets_it(linkwork):
    """go2 has shapes that touch nothing until --contacts says so; --limits and --mimic are those of simulate and load."""
    go2 = MODELS / "go2_mjcf" / "go2.xml"
    _, out, _ = linkwork("info", go2)
    assert out.count("contacts are off: go2 has collision shapes") == 1 and "--contacts" in out
    _, out, _ = linkwork("info", go2, "--contacts", "FL,FR")
    assert "contacts are off" not in out and "contacts: FL_calf" in out
    code, _, err = linkwork("simulate", "pendulum", "--until", "0.01", "--contacts", "ground")
    assert code == 2 and 'contacts="ground" makes no contact' in err
    (Path.cwd() / "a.urdf").write_text(MIMIC)
    code, _, err = linkwork("simulate", "a.urdf", "--mimic", "couple", "--limits", "--until", "0.01", "--save", "run.npz")
    assert code == 0 and "contacts are off: m has collision shapes (1 sphere) of b" in err
    run = lw.Trajectory.load("run.npz")
    assert run.settings.limits and run.robot.model.couplings[0].active


def test_help_has_examples(linkwork):
    for command in ("info", "simulate", "view", "convert", "bench", "export-c", "warm"):
        code, out, _ = linkwork(command, "--help")
        assert code == 0
        assert f"linkwork {command} " in out
    assert linkwork("--version")[1] == f"linkwork {lw.__version__}\n"


def test_an_unknown_command_or_option_is_said(linkwork):
    assert linkwork("inof")[0] == 2
    assert linkwork("info", "--colour")[0] == 2


def test_it_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "linkwork", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("linkwork ")


def test_simulate_leads_a_linkage_by_the_joints_that_were_set(linkwork, tmp_path):
    led = "--set", "crank_joint=0.5", "--speed", "crank_joint=2"
    code, _, _ = linkwork("simulate", "four_bar", *led, "--until", "0.01", "--save", "run.npz")
    run = lw.Trajectory.load(tmp_path / "run.npz")
    assert code == 0 and abs(run.q[0, 0] - 0.5) < 1e-12 and abs(run.v[0, 0] - 2.0) < 1e-12
    assert np.abs(run.robot.constraints.residual(run.q)).max() < 1e-12


# --- what is refused before it takes time, and data that look like something else


@pytest.mark.parametrize("option", [("--plot", "x.foo"), ("--html", "x.foo"), ("--movie", "x.foo"), ("--save", "x.foo")])
def test_an_ending_that_nothing_writes_is_refused_before_the_run(linkwork, option):
    code, out, err = linkwork("simulate", "pendulum", "--until", "1e9", *option)
    assert code == 2 and out == "" and '"x.foo" has the ending ".foo"' in err


@pytest.mark.parametrize("option", ["--tree", "--picture"])
def test_an_ending_of_a_picture_that_nothing_writes_is_refused(linkwork, option):
    code, _, err = linkwork("info", "pendulum", option, "x.foo")
    assert code == 2 and '"x.foo" has the ending ".foo"; a picture is' in err


@pytest.mark.parametrize("name", ["chain:99999999999", "chain:" + "9" * 5000, "x" * 100_000])
def test_info_of_what_is_too_large_is_a_short_error(linkwork, name):
    code, _, err = linkwork("info", name)
    assert code == 2 and err.startswith("error: ") and len(err) < 1500


@pytest.mark.parametrize("content", ["<robot><link", '{"screws": 1', "\0\0\0", ""])
def test_view_of_a_damaged_file_is_an_error(linkwork, tmp_path, content):
    (tmp_path / "damaged.urdf").write_text(content)
    code, _, err = linkwork("view", "damaged.urdf", "--no-open", "--for", "0")
    assert code == 2 and err.startswith("error: ") and "Traceback" not in err


def test_info_of_a_mimic_file_says_one_thing(linkwork):
    """Mimic joints are independent unless they are coupled: the headline, the list and the warning agree."""
    code, out, _ = linkwork("info", MODELS / "panda" / "panda.urdf")
    assert code == 0
    assert "1 coupling not active" in out and "1 coupling," not in out
    assert "follows panda_finger_joint1, not active: its joints are independent" in out


def test_names_are_data_in_pictures_and_pages(tmp_path):
    """A model called {{script}} or $x does not become the page's script, nor mathematics."""
    builder = lw.Builder("{{script}} $_{ {{data}} <b>")
    builder.body("$^$", joint=lw.Revolute(), mass=1.0, center=(0, 0, -1), joint_name="$\\frac")
    robot = lw.Dynamics(builder.model(), compiled=False)
    page = lw.record(robot, tmp_path / "page.html").read_text()
    assert "<title>{{script}} $_{ {{data}} &lt;b&gt;</title>" in page
    assert page.count("requestAnimationFrame") < 10
    lw.plot(lw.Motion(robot, [0.0, 1.0], np.zeros((2, 1)), np.zeros((2, 1))), "q", path=tmp_path / "q.png")
    lw.plot_tree(robot, path=tmp_path / "tree.png")
    assert (tmp_path / "q.png").exists() and (tmp_path / "tree.png").exists()
