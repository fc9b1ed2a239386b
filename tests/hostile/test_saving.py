"""Saving and loading when everything goes wrong: killed processes, full disks, damaged and hostile files."""

import io
import json
import os
import signal
import time
import tracemalloc
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw

ARM = lw.Dynamics(lw.load("planar_2r"))
LOOP = lw.Dynamics(lw.load("four_bar"))
POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def blocks(count: int) -> list:
    """Numbers of blocks of trials: the first is quick, the others are slow."""
    return [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, count))]


@pytest.fixture(scope="module")
def runs():
    return [lw.simulate(ARM, ([0.3, x], [0.0, 1.0]), until=5.0, method="rk4", dt=1e-3) for x in (0.5, 0.6)]


# --- processes that die


@POSIX
@pytest.mark.parametrize("block", blocks(10))
def test_a_killed_process_loses_no_run(tmp_path, runs, block):
    """kill -9 at a random moment while a checkpoint is saved again and again: the old or the new one is there, whole. 10 times."""
    path, rng = tmp_path / "run.npz", np.random.default_rng(block)
    runs[0].save(path)
    for _ in range(10):
        child = os.fork()
        if not child:
            while True:
                for run in runs:
                    run.save(path)
        time.sleep(rng.uniform(0.0, 0.1))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        back = lw.Trajectory.load(path)
        assert any(np.array_equal(back.q, run.q) and np.array_equal(back.v, run.v) for run in runs)


@POSIX
def test_a_full_disk_leaves_the_old_file(tmp_path, runs):
    """The system refuses to write more than 64 kB: the error says so, and nothing is left of the new file."""
    import resource

    path = tmp_path / "run.npz"
    runs[0].save(path)
    before = path.read_bytes()
    child = os.fork()
    if not child:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, resource.RLIM_INFINITY))
        try:
            runs[1].save(path)
        except lw.SimulationError as error:
            os._exit(0 if "cannot be written (File too large); what was there before is unchanged" in str(error) else 2)
        except BaseException:
            os._exit(3)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["run.npz"]


def test_a_failure_while_writing_leaves_the_old_file(tmp_path, runs, monkeypatch):
    for name in ("run.npz", "run.csv"):
        path = tmp_path / name
        runs[0][:10].save(path)
        before = path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
            with pytest.raises(lw.SimulationError, match=r"cannot be written \(No space left on device\)"):
                runs[1][:10].save(path)
        assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["run.csv", "run.npz"]


def test_what_a_killed_process_left_is_removed_in_time(tmp_path, runs):
    old, new, other = (tmp_path / f".{name}.0123abcd.part" for name in ("run.npz", "run.npz.x", "walk.npz"))
    for path in (old, new, other):
        path.write_bytes(b"half")
        os.utime(path, (time.time() - 7200,) * 2)
    fresh = tmp_path / ".run.npz.89ef4567.part"
    fresh.write_bytes(b"half")
    runs[0][:10].save(tmp_path / "run.npz")
    assert not old.exists() and fresh.exists() and other.exists()


@POSIX
def test_links_permissions_and_pipes(tmp_path, runs):
    """A link stays one, a file keeps its permissions, and what is no file is refused."""
    real, link, pipe = tmp_path / "real.npz", tmp_path / "link.npz", tmp_path / "pipe.npz"
    runs[0][:10].save(real)
    os.chmod(real, 0o640)
    link.symlink_to(real)
    runs[1][:10].save(link)
    assert link.is_symlink() and real.stat().st_mode & 0o777 == 0o640
    np.testing.assert_array_equal(lw.Trajectory.load(real).q, runs[1].q[:10])
    os.mkfifo(pipe)
    with pytest.raises(lw.SimulationError, match="no regular file"):
        runs[0][:10].save(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(lw.SimulationError, match="is not a trajectory of linkwork"):
            lw.Trajectory.load(path)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        lw.Trajectory.load(tmp_path / "none.npz")
    with pytest.raises(lw.SimulationError, match="cannot be written"):
        runs[0][:10].save(tmp_path / "nowhere" / "run.npz")


def test_settings_may_be_numbers_of_numpy(tmp_path):
    how = {"dt": np.float32(0.01), "every": np.int64(2), "max_step": np.array(1.0), "limits": np.True_, "rtol": np.float64(1e-6)}
    run = lw.simulate(ARM, (np.zeros(2), np.zeros(2)), until=np.float64(0.1), method="rk4", **how)
    run.save(tmp_path / "run.npz")
    settings = lw.Trajectory.load(tmp_path / "run.npz").settings
    assert (settings.dt, settings.every, settings.limits) == (float(np.float32(0.01)), 2, True)


def test_tables_and_other_kinds_of_file(tmp_path, runs):
    path = tmp_path / "run.csv"
    run = runs[0][:50]
    run.save(path)
    with open(path) as file:
        names = file.readline().strip().split(",")
    values = np.loadtxt(path, delimiter=",", skiprows=1)
    energies = ["kinetic_energy", "potential_energy", "energy"]
    assert names == ["t", *(f"{x}.{joint}" for x in ("q", "v", "tau") for joint in ARM.joints), *energies]
    columns = [run.t, run.q, run.v, run.tau, *(getattr(run, name) for name in energies)]
    np.testing.assert_array_equal(values, np.column_stack(columns))
    with pytest.raises(lw.SimulationError, match="is a table"):
        lw.Trajectory.load(path)
    with pytest.raises(lw.SimulationError, match=r"saved as .npz.*not as run.xlsx"):
        run.save(tmp_path / "run.xlsx")


# --- damaged and hostile files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Whole files of several kinds: a tree, a loop, embedded; polynomials and rows; events."""
    folder = tmp_path_factory.mktemp("files")
    q = LOOP.assemble(LOOP.neutral() + 0.3, hold=[LOOP.joints[0]])
    still = q, np.zeros(LOOP.nv)
    made = [
        lw.simulate(ARM, ([0.3, 0.5], [0.0, 1.0]), until=0.3, dt=0.1, events=[lw.Event(lambda t, q, v: q[0] - 0.3, "up")]),
        lw.simulate(
            ARM,
            ([0.3, 0.5], [0.0, 1.0]),
            until=0.1,
            method="rk4",
            dt=0.02,
            control=lw.hold(lambda t, q, v: -v, rate=50),
            save=lw.Save(every=2),
        ),
        lw.simulate(LOOP, still, until=0.1, dt=0.05, loops=lw.Embed()),
    ]
    for i, run in enumerate(made):
        run.save(folder / f"{i}.npz")
    return [(folder / f"{i}.npz").read_bytes() for i in range(len(made))]


def bytes_changed(data: bytes, rng) -> bytes:
    """Bytes flipped, cut out, put in or moved."""
    out = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        i, n = int(rng.integers(len(out))), int(rng.integers(1, 64))
        match rng.integers(5):
            case 0:
                out[i] ^= 1 << int(rng.integers(8))
            case 1:
                del out[i : i + n]
            case 2:
                out[i:i] = rng.bytes(n)
            case 3:
                out[i : i + n] = rng.bytes(n)
            case 4:
                del out[max(i, 1) :]
        if not out:
            break
    return bytes(out)


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts: dict[str, bytes], **options) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return file.getvalue()


def as_npy(x) -> bytes:
    file = io.BytesIO()
    np.save(file, x)
    return file.getvalue()


ODD = [None, True, -1, 0, 1, 2**70, 1e308, float("nan"), float("inf"), "", "x", "project", [], [1], [[]], [1, [2]], {}, {"type": "Model"}]
ODD += [{"type": "Body"}, {"type": "Revolute"}, {"type": "str"}, [0.0] * 3, "\ud800", "x" * 5000]


def value_changed(x, rng):
    """A JSON value with one of its parts replaced, left out or doubled."""
    inside = list(x) if isinstance(x, dict) else list(range(len(x))) if isinstance(x, list) else []
    if inside and rng.random() < 0.85:
        key = inside[rng.integers(len(inside))]
        out = x.copy()
        if rng.random() < 0.1:
            del out[key]
        elif rng.random() < 0.1 and isinstance(out, list):
            out.append(out[key])
        else:
            out[key] = value_changed(x[key], rng)
        return out
    return ODD[rng.integers(len(ODD))]


def meaning_changed(data: bytes, rng) -> bytes:
    """A whole ZIP file, but its header or an array says something else."""
    parts = members(data)
    names = list(parts)
    if rng.random() < 0.7:
        header = value_changed(json.loads(np.load(io.BytesIO(parts["header.npy"])).tobytes()), rng)
        text = json.dumps(header).encode()
        parts["header.npy"] = as_npy(np.frombuffer(text, np.uint8))
        return packed(parts)
    name = names[rng.integers(len(names))]
    x = np.load(io.BytesIO(parts[name]))
    match rng.integers(8):
        case 0:
            del parts[name]
        case 1:
            parts[name] = as_npy(x.astype([np.float32, np.int64, complex, "U8"][rng.integers(4)]) if x.dtype == float else x.astype(float))
        case 2:
            parts[name] = as_npy(x[:-1])
        case 3:
            parts[name] = as_npy(x[..., None])
        case 4:
            parts[name] = as_npy(np.full_like(x, 255 if x.dtype == np.uint8 else [np.nan, np.inf, 1e300, -1.0][rng.integers(4)]))
        case 5:
            parts[name] = parts[name].replace(b"'shape': (", b"'shape': (" + b"9" * int(rng.integers(1, 20)), 1)
        case 6:
            parts[name] = as_npy(x[::-1])
        case 7:
            parts[name] = bytes_changed(parts[name], rng)
    return packed(parts)


@pytest.mark.parametrize("change", [bytes_changed, meaning_changed])
@pytest.mark.parametrize("block", blocks(20))
def test_a_changed_file_is_read_or_gives_one_clear_error(tmp_path, files, change, block):
    """100 files each: no error but SimulationError, which names the file and is no longer than a few lines."""
    path, rng = tmp_path / "run.npz", np.random.default_rng(block)
    for i in range(100):
        data = change(files[i % len(files)], rng)
        path.write_bytes(data)
        try:
            run = lw.Trajectory.load(path)
        except lw.SimulationError as error:
            assert str(path) in str(error) and len(str(error)) < 1000, error
            continue
        used(run)


def used(run) -> None:
    """A run that was read can be looked at and goes on: nothing, or an error of the library."""
    assert repr(run) and str(run) and len(run[-1]) == 2
    if run.robot.model not in (ARM.model, LOOP.model):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for use in (lambda: run((run.t[0] + run.t[-1]) / 2), lambda: run.resume(run.t[-1] + 0.01, control=None, events=())):
            with suppress(lw.LinkworkError):
                use()


@pytest.mark.parametrize("shape", ["(100000000000,)", "(1000000, 1000000)", "(-1,)", "(True,)"])
def test_no_memory_is_taken_for_what_is_not_there(tmp_path, files, shape):
    parts = members(files[0])
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    parts["q.npy"] = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + bytes(64)
    (tmp_path / "run.npz").write_bytes(packed(parts))
    tracemalloc.start()
    with pytest.raises(lw.SimulationError, match="is not a trajectory of linkwork, or is damaged"):
        lw.Trajectory.load(tmp_path / "run.npz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


def test_a_compressed_bomb_is_refused(tmp_path, files):
    parts = members(files[0]) | {"q.npy": as_npy(np.zeros(10_000_000))}
    (tmp_path / "run.npz").write_bytes(packed(parts, compression=zipfile.ZIP_DEFLATED))
    with pytest.raises(lw.SimulationError, match="a member is compressed"):
        lw.Trajectory.load(tmp_path / "run.npz")


STRANGE = "[" * 100_000, '{"a":' * 100_000, "9" * 100_000, "null", "", '{"format": "linkwork trajectory", "version": true}'


@pytest.mark.parametrize("text", STRANGE, ids=range(len(STRANGE)))
def test_a_strange_header_gives_one_clear_error(tmp_path, files, text):
    parts = members(files[0]) | {"header.npy": as_npy(np.frombuffer(text.encode(), np.uint8))}
    Path(tmp_path / "run.npz").write_bytes(packed(parts))
    with pytest.raises(lw.SimulationError, match="is not a trajectory of linkwork, or is damaged"):
        lw.Trajectory.load(tmp_path / "run.npz")
