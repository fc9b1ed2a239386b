"""Compiled kernels on disk: found without tracing, never trusted blindly, and done without where there is no disk."""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from fresh import finish, python, start
from zoo import MECHANISMS, close

import linkwork as lw
from linkwork.engine.loading import cache, compiler, signing
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.tracing.program import Input
from linkwork.engine.tracing.trace import Trace

PENDULUM, GEARED = lw.load("double_pendulum"), MECHANISMS["geared"]
Q = np.array([0.3, -0.4])
CALL = """
import numpy as np, linkwork as lw
call = lambda: lw.Dynamics(lw.load("double_pendulum")).mass_matrix(np.array([0.3, -0.4]))
print(call().tolist())
"""
NO_TRACE = """
from linkwork.engine.loading import compiler
from linkwork.engine.tracing import trace
def refuse(*_):
    raise AssertionError("this was to be on disk")
trace.Trace.__init__ = compiler.compiled = refuse
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache of one's own."""
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


@pytest.fixture
def made(monkeypatch):
    """The kernels traced and compiled from here on."""
    counts = {"traced": 0, "compiled": 0}
    trace, compiled = Trace.__init__, compiler.compiled

    def counted(self):
        counts["traced"] += 1
        trace(self)

    def counted_too(text):
        counts["compiled"] += 1
        return compiled(text)

    monkeypatch.setattr(Trace, "__init__", counted)
    monkeypatch.setattr(compiler, "compiled", counted_too)
    return counts


def mass(dtype=float):
    """A call by a robot that knows nothing yet."""
    return lw.Dynamics(PENDULUM).mass_matrix(Q.astype(dtype))


def right(result):
    close(result, lw.Dynamics(PENDULUM, compiled=False).mass_matrix(Q), 1e-14)


# --- what is found


def test_a_kernel_on_disk_is_neither_traced_nor_compiled(place, made):
    first = mass()
    assert made == {"traced": 1, "compiled": 1}
    np.testing.assert_array_equal(mass(), first)
    assert made == {"traced": 1, "compiled": 1}


def test_a_new_process_neither_traces_nor_compiles(place):
    first = python(CALL, LINKWORK_CACHE_DIR=place)
    assert python(NO_TRACE + CALL, LINKWORK_CACHE_DIR=place) == first


def test_single_precision_is_another_kernel(place, made):
    mass(), mass(dtype=np.float32)
    assert made["compiled"] == 2 and {x["dtype"] for x in cache.contents()} == {"double", "float"}


def hinge_with(model, i, **changes):
    joint = replace(model.joints[i].joint, **changes)
    joints = [replace(h, joint=joint) if j == i else h for j, h in enumerate(model.joints)]
    return replace(model, joints=tuple(joints))


def body_with(model, i, **changes):
    bodies = [replace(b, **changes) if j == i else b for j, b in enumerate(model.bodies)]
    return replace(model, bodies=tuple(bodies))


CHANGES = {
    "mass": lambda m: body_with(m, 0, mass=1.25),
    "center": lambda m: body_with(m, 0, center=(0.1, 0.2, 0.3)),
    "tensor": lambda m: body_with(m, 0, tensor=np.diag([1.0, 1.5, 2.0])),
    "gravity": lambda m: m.with_gravity((0, 0, -1.62)),
    "axis": lambda m: hinge_with(m, 0, axis=(0.0, 0.6, 0.8)),
    "armature": lambda m: hinge_with(m, 0, armature=0.5),
    "damping": lambda m: hinge_with(m, 0, damping=0.5),
    "friction": lambda m: hinge_with(m, 0, friction=0.5),
    "stiffness": lambda m: hinge_with(m, 0, stiffness=0.5),
    "rest": lambda m: hinge_with(m, 0, rest=0.5),
    "rest of an attitude": lambda m: hinge_with(m, 2, rest=(0.0, 0.0, 0.0, 1.0)),
    "at": lambda m: replace(m, joints=(replace(m.joints[0], at=lw.Pose(translation=(0, 0, 1))), *m.joints[1:])),
    "on": lambda m: replace(m, joints=(replace(m.joints[0], on=lw.Pose(translation=(0, 0, 1))), *m.joints[1:])),
    "joint": lambda m: replace(m, joints=(replace(m.joints[0], joint=lw.Helical(pitch=0.1)), *m.joints[1:])),
    "pitch": lambda m: replace(m, joints=(replace(m.joints[0], joint=lw.Helical(pitch=0.2)), *m.joints[1:])),
}


def test_whatever_changes_the_dynamics_changes_the_key():
    models = [GEARED, *(change(GEARED) for change in CHANGES.values())]
    digests = [lw.Dynamics(model).lowered.digest for model in models]
    same = [name for name, digest in zip(CHANGES, digests[1:]) if digest == digests[0]]
    assert not same and len(set(digests)) == len(digests)
    assert lw.Dynamics(GEARED).lowered.digest == digests[0]


def test_limits_and_names_change_no_key():
    for model in hinge_with(GEARED, 0, lower=-0.5, upper=0.5), replace(GEARED, name="other"):
        assert lw.Dynamics(model).lowered.digest == lw.Dynamics(GEARED).lowered.digest


def arm(tip, upper="upper", fore="fore"):
    """planar 2R with its frame somewhere, and its bodies called something."""
    link = {"mass": 1.0, "center": (0.5, 0, 0), "tensor": (1 / 12,) * 3}
    builder = lw.Builder("arm", (0.0, 0.0, 0.0))
    builder.body(upper, joint=lw.Revolute(), **link)
    builder.body(fore, upper, (1, 0, 0), lw.Revolute(), **link)
    builder.frame("tip", fore, tip)
    return builder.model()


@pytest.mark.parametrize("varying", [False, True])
def test_a_frame_elsewhere_is_another_kernel(place, varying):
    """What a name stands for decides, not the name."""
    for x in 1.0, 2.0:
        robot = lw.Dynamics(arm((x, 0, 0)))
        pose = (robot.varying("mass") if varying else robot).pose(np.zeros(2), "tip")
        close(pose[:3, 3], [1 + x, 0, 0])
    swapped = lw.Dynamics(arm((1, 0, 0), "fore", "upper"))
    assert swapped.pose(np.zeros(2), "upper")[0, 3] == 1 and swapped.pose(np.zeros(2), "fore")[0, 3] == 0


def test_other_text_of_the_library_is_another_kernel(place, made, monkeypatch):
    mass()
    monkeypatch.setattr(cache, "source_digest", lambda: "other text")
    mass()
    monkeypatch.setattr(compiler, "identity", lambda: "another computer")
    mass()
    assert made["compiled"] == 3


def times(factor):
    return lambda q: factor * q


def test_a_users_function_is_found_by_what_decides_it(place, made):
    for factor in 2.0, 2.0, 3.0:
        robot = lw.Dynamics(PENDULUM)
        np.testing.assert_array_equal(robot.kernel(times(factor))(Q), factor * Q)
    assert made == {"traced": 2, "compiled": 2}


def test_a_function_that_does_more_than_compute_is_traced_and_its_code_found(place, made):
    seen = []
    for count in range(1, 3):
        np.testing.assert_array_equal(lw.Dynamics(PENDULUM).kernel(lambda q: seen.append(q) or 2.0 * q)(Q), 2.0 * Q)
        assert len(seen) == count
    assert made == {"traced": 2, "compiled": 1}


def test_rolled_kernels_may_share_their_code_but_not_their_numbers(place):
    """Most constants of a rolled kernel are in tables, not in the code."""
    for m in 2.0, 3.0, 2.0:
        model = body_with(PENDULUM, 1, mass=m)
        close(lw.Dynamics(model, rolled=True).mass_matrix(Q), lw.Dynamics(model, compiled=False).mass_matrix(Q), 1e-14)


# --- what is not trusted


def spoil(change):
    """Every file of the cache with something done to it; how it was."""
    (path,) = cache.folder().glob("*.o")
    before = path.read_bytes()
    change(path, before)
    return path, before


def forged(name, data, magic=cache.MAGIC):
    """Other code under this name, with a digest that is right for it: to run it would end the process."""
    size = int.from_bytes(data[50:54], "little")
    rest = data[50 : 54 + size] + b"\xff" * 5000
    return magic + hashlib.sha256(name.encode() + rest).digest() + rest


SPOILED = {
    "empty": lambda path, data: path.write_bytes(b""),
    "cut short": lambda path, data: path.write_bytes(data[: len(data) // 2]),
    "cut within its head": lambda path, data: path.write_bytes(data[:20]),
    "one bit": lambda path, data: path.write_bytes(data[:-100] + bytes([data[-100] ^ 1]) + data[-99:]),
    "another format": lambda path, data: path.write_bytes(b"linkwork kernel 0\n" + data[18:]),
    "noise": lambda path, data: path.write_bytes(np.random.default_rng(0).bytes(len(data))),
    "text": lambda path, data: path.write_text("hello"),
    "longer": lambda path, data: path.write_bytes(data + b"more"),
    "writable by all": lambda path, data: path.chmod(0o666),
    "writable by a group": lambda path, data: path.chmod(0o620),
    "forged": lambda path, data: path.write_bytes(forged(path.stem, data)),
    "forged, as it was signed before": lambda path, data: path.write_bytes(forged(path.stem, data, b"linkwork kernel 1\n")),
    "a pipe": lambda path, data: (path.unlink(), os.mkfifo(path, 0o600)),
    "a link": lambda path, data: (path.rename(path.with_suffix(".x")), path.symlink_to(path.with_suffix(".x"))),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_file_that_cannot_be_trusted_is_made_anew(how, place, made, monkeypatch):
    """Never loaded, and replaced by a good one."""
    mass()
    path, before = spoil(SPOILED[how])
    loaded = []
    monkeypatch.setattr(compiler, "Code", lambda code, *symbols, load=compiler.Code: (loaded.append(code), load(code, *symbols))[1])
    right(mass())
    assert made["compiled"] == 2 and len(loaded) == 1 and before.endswith(loaded[0])
    right(mass())
    assert made["compiled"] == 2 and path.read_bytes() == before and cache.ours(path)


def test_a_file_under_another_name_is_not_taken_for_it(place, made):
    """A kernel does not answer for another, though it be whole."""
    mass()
    (path,) = place.glob("*.o")
    mass(dtype=np.float32)
    (other,) = set(place.glob("*.o")) - {path}
    path.write_bytes(other.read_bytes())
    right(mass())
    assert made["compiled"] == 3


def test_a_directory_in_the_place_of_a_file_does_no_harm(place):
    mass()
    (path,) = place.glob("*.o")
    path.unlink()
    path.mkdir()
    right(mass())


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
class TestFilesOfOthers:
    def test_are_not_loaded(self, place, made):
        if os.getuid() != 0:
            pytest.skip("only root can give files away")
        mass()
        os.chown(*place.glob("*.o"), 12345, -1)
        right(mass())
        assert made["compiled"] == 2

    def test_in_a_folder_of_theirs_are_not_even_looked_at(self, place, made, monkeypatch):
        mass()
        someone_else = os.getuid() + 1
        monkeypatch.setattr(os, "getuid", lambda: someone_else)
        assert cache.folder() is None
        right(mass())
        assert made["compiled"] == 2

    @pytest.mark.parametrize("mode", [0o777, 0o770])
    def test_in_a_folder_open_to_them_are_not_looked_at(self, place, made, mode):
        mass()
        place.chmod(mode)
        right(mass())
        assert made["compiled"] == 2 and cache.folder() is None


# --- the key


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of one's own, without a key."""
    signing._key.cache_clear()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield tmp_path / "config" / "linkwork"
    signing._key.cache_clear()


def test_code_signed_with_another_key_is_made_anew(place, home, made):
    mass()
    (home / signing.NAME).write_bytes(bytes(32))
    signing._key.cache_clear()
    right(mass())
    right(mass())
    assert made["compiled"] == 2


@pytest.mark.parametrize("how", ["short", "open to others", "a pipe", "a link"])
def test_a_key_that_is_damaged_is_made_anew(place, home, how):
    mass()
    path = home / signing.NAME
    before = path.read_bytes()
    assert len(before) == 32 and path.stat().st_mode & 0o777 == 0o600
    if how == "short":
        path.write_bytes(before[:-1])
    elif how == "open to others":
        path.chmod(0o644)
    elif how == "a pipe":
        path.unlink(), os.mkfifo(path, 0o600)
    else:
        path.rename(path.with_suffix(".x")), path.symlink_to(path.with_suffix(".x"))
    signing._key.cache_clear()
    right(mass())
    assert len(path.read_bytes()) == 32 and path.read_bytes() != before and cache.ours(path)


@pytest.mark.parametrize("how", ["no home", "a file in its place", "a folder of others"])
def test_where_there_is_no_configuration_the_key_is_beside_the_code(place, home, made, monkeypatch, how):
    if how == "no home":
        monkeypatch.delenv("XDG_CONFIG_HOME")
        monkeypatch.setattr("pathlib.Path.home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    elif how == "a file in its place":
        home.parent.write_text("")
    else:
        home.mkdir(parents=True)
        home.chmod(0o777)
    right(mass())
    right(mass())
    assert made["compiled"] == 1 and (place / signing.NAME).exists()


def test_all_that_make_the_key_at_once_use_the_same(place, home):
    """The key that is in place first is the key of all."""
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: (signing._key.__wrapped__)(home), range(8)))
    assert len(set(keys)) == 1 and keys[0] == (home / signing.NAME).read_bytes()
    assert not list(home.glob("*.tmp"))


# --- several at once


@pytest.mark.slow
def test_several_processes_may_compile_at_once(place):
    """All are right, and what they leave is one whole file."""
    running = [start(CALL, LINKWORK_CACHE_DIR=place) for _ in range(4)]
    assert len({finish(process) for process in running}) == 1
    assert len(list(place.iterdir())) == 1 and cache.contents()[0]["name"] == "mass_matrix"
    python(NO_TRACE + CALL, LINKWORK_CACHE_DIR=place)


def test_one_may_clear_while_another_calls(place):
    """A file that goes away between a look and a read was never there."""
    code = CALL + "for _ in range(10): call()"
    other = start(code, LINKWORK_CACHE_DIR=place)
    while other.poll() is None:
        cache.clear(), cache.contents()
    finish(other)


# --- without a disk

NOWHERE = {
    "told so": {"LINKWORK_CACHE_DIR": ""},
    "a home that cannot be": {"HOME": "/dev/null", "XDG_CACHE_HOME": None, "LINKWORK_CACHE_DIR": None},
    "a folder that cannot be": {"LINKWORK_CACHE_DIR": "/proc/no/such/place"},
    "a file": {"LINKWORK_CACHE_DIR": __file__},
}


def test_kernels_work_where_nothing_can_be_kept():
    says = "\nfrom linkwork.engine.loading import cache\nprint(cache.folder(), cache.contents(), cache.clear())"
    running = {name: start(CALL + says, **variables) for name, variables in NOWHERE.items()}
    for name, process in running.items():
        result, last = finish(process).splitlines()
        right(np.array(eval(result)))
        assert last == "None [] 0", name


def test_a_full_disk_is_as_good_as_none(place, made, monkeypatch):
    """Nothing half written stays behind."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    right(mass()), right(mass())
    assert made["compiled"] == 2 and not list(place.iterdir())


def test_the_users_cache_folder_is_the_default(tmp_path, monkeypatch):
    monkeypatch.delenv("LINKWORK_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "linkwork" and cache.folder().stat().st_mode & 0o777 == 0o700
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.folder() == tmp_path / "home" / ".cache" / "linkwork"


# --- seeing and clearing


def test_what_is_kept_can_be_seen_and_cleared(place):
    assert cache.contents() == [] and cache.clear() == 0
    mass()
    (entry,) = cache.contents()
    assert (entry["name"], entry["dtype"], entry["outputs"]) == ("mass_matrix", "double", [[2, 2]])
    assert entry["operations"] == sum(lw.Dynamics(PENDULUM).program("mass_matrix").operations.values())
    (path,) = place.iterdir()
    assert entry["bytes"] == path.stat().st_size and entry["key"] == path.stem
    path.write_text("spoiled")
    assert cache.contents()[0]["name"] == "(not readable)"
    (place / "left.tmp").write_text("by a process that died")
    (place / "notes.txt").write_text("not ours")
    assert cache.clear() == 2 and [x.name for x in place.iterdir()] == ["notes.txt"]
    right(mass())


def test_the_key_knows_the_content_the_name_and_the_inputs(place, made):
    """Kernels of one content differ by anything else they are made from."""
    for name, size in ("double", 2), ("double", 2), ("twice", 2), ("double", 3):
        kernel = Kernel(name, lambda x: 2 * x, (Input("x", (size,)),), content="the same")
        np.testing.assert_array_equal(kernel.gufunc("d")(np.ones(size)), np.full(size, 2.0))
    assert made["compiled"] == 3
