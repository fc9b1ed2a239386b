"""Damaged files of every format: each becomes a Model or one short error of the library, soon and in little memory.

`make test` reads 50 of each format, `make test-hostile` 10,000 of each. `damaged("urdf", 1234)` is the text of one.
"""

import json
import random
import re
import resource
import signal
import warnings
from functools import cache
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.formats import data
from linkwork.formats.screws_writer import written

MODELS = Path(__file__).parents[1] / "models"
WHOLE, BLOCK, SAMPLE = 10_000, 1000, 50
pytestmark = pytest.mark.timeout(method="thread")  # SIGALRM rings for each file here
SECONDS, MEGABYTES = 20.0, 1500.0  # the most that a file may take
NUMBERS = (
    "nan",
    "inf",
    "-inf",
    "1e400",
    "-1e308",
    "1e308",
    "1e-320",
    "",
    "0",
    "0",
    "-0",
    "-1",
    "1",
    "1e22",
    "1e-22",
    "1e160",
    "9" * 400,
    "0x10",
    "1,5",
    "${x}",
)
NAMES = (
    "",
    "world",
    "None",
    "__model__",
    "a::b",
    "x" * 10_000,
    "\\0",
    "é",
    "base",
    "{{script}}",
    "../../etc/passwd",
    "$m$",
    "screws",
    "true",
    "1",
)
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
WORD = re.compile(r"[A-Za-z_]{2,}")
PIECES = {  # what is removed, doubled and moved: most of what is left is still well-formed
    "<": (
        r"</?\w[^<>]*>",
        r'\s\w+="[^"<>]*"',
        r'\s\w+="[^"<>]*"',
        r"<(\w+)[^<>]*/>",
        r"<(\w+)[^<>]*>[^<>]*</\1>",
        r"<(\w+)(?:(?!<\1\b).){1,2000}?</\1>",
    ),
    "{": (r"[^\n]*\n", r'"\w+":\s*(?:\[[^\[\]{}]*\]|"[^"]*"|[-+.\deE]+),?', r"\{[^{}]*\},?"),
    "": (r"[^\n]*\n", r"[^\n]*\n(?:  [^\n]*\n)*"),
}

ARM = """<robot name="arm">
<material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"><inertial><origin xyz="0 0 1" rpy="0 1.57079632679 0"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0.1"/></inertial>
<visual name="v"><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry><material name="red"/></visual></link>
<link name="upper"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<visual><geometry><mesh filename="package://arm/upper.stl" scale="1 1 1"/></geometry></visual></link>
<link name="fore"><inertial><mass value="0.5"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<collision><geometry><cylinder radius="0.1" length="1"/></geometry></collision></link>
<joint name="shoulder" type="revolute"><origin xyz="0 0 1" rpy="0 0 0.1"/><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="10" velocity="2"/><dynamics damping="0.1" friction="0.2"/></joint>
<joint name="elbow" type="prismatic"><parent link="upper"/><child link="fore"/><axis xyz="0 1 0"/><limit lower="0" upper="1"/>
<mimic joint="shoulder" multiplier="2" offset="0.1"/></joint>
<transmission name="t"><joint name="shoulder"/><actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>
</robot>"""
SDF = """<sdf version="1.7"><world name="w"><gravity>0 0 -9.8</gravity>
<model name="one"><pose>0 0 1 0 0 0</pose><link name="a"><inertial><mass>1</mass><pose>0 0 0 0 0 0</pose><inertia><ixx>1</ixx>
</inertia></inertial>
<visual name="v"><geometry><box><size>1 1 1</size></box></geometry><material><diffuse>1 0 0 1</diffuse></material></visual></link>
<link name="b"><pose relative_to="a">0 0 1 0 0 0</pose></link><link name="c"><pose relative_to="f">0 0 1 0 0 0</pose></link>
<frame name="f" attached_to="b"><pose>0 1 0 0 0 0</pose></frame>
<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz expressed_in="f">0 0 1</xyz>
<limit><lower>-1</lower><upper>1</upper><effort>3</effort></limit><dynamics><damping>0.1</damping>
<spring_stiffness>2</spring_stiffness></dynamics></axis></joint>
<joint name="k" type="ball"><parent>b</parent><child>c</child></joint>
<joint name="s" type="screw"><parent>a</parent><child>c</child><axis><xyz>0 0 1</xyz></axis>
<screw_thread_pitch>0.1</screw_thread_pitch></joint>
<joint name="u" type="universal"><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz></axis><axis2><xyz>1 0 0</xyz>
</axis2></joint></model>
<model name="two"><model name="inner"><link name="a"/></model><link name="b"/><link name="c"/>
<joint name="l" type="prismatic"><parent>b</parent><child>c</child><axis><xyz>0 1 0</xyz></axis></joint>
<joint name="j" type="prismatic"><parent>inner::a</parent><child>b</child><axis><xyz>1 0 0</xyz><mimic joint="l">
<multiplier>2</multiplier></mimic></axis></joint>
</model></world></sdf>"""
MJCF = """<mujoco model="m"><compiler angle="radian"/><option gravity="0 0 -9.8"/><default><joint damping="0.1"/></default>
<asset><mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
<worldbody><site name="s" pos="0 0 1"/><body name="a" pos="0 0 1"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<body name="b" pos="0 0 1" quat="1 0 0 0"><joint name="j" type="hinge" axis="0 0 1" range="-1 1" limited="true" armature="0.1"/>
<joint name="k" type="slide" axis="1 0 0" stiffness="3" frictionloss="0.1"/><geom type="capsule" size="0.1 0.2"/>
<site name="tool" pos="1 0 0"/>
<body name="c" pos="1 0 0" euler="0 0 1"><joint type="ball"/><geom type="mesh" mesh="t"/></body></body>
<body name="d"><joint name="l"/><geom type="box" size="1 1 1" mass="2"/></body></body></worldbody>
<equality><connect body1="b" body2="d" anchor="0 0 1"/><weld body1="c" body2="d"/>
<joint joint1="j" joint2="l" polycoef="0 1 0 0 0"/></equality>
<actuator><motor name="p" joint="j" gear="50"/></actuator><keyframe><key time="1"/></keyframe></mujoco>"""


@cache
def sources(format: str) -> tuple[str, ...]:
    """Whole files of a format, to be damaged."""

    def read(*names):
        return tuple((MODELS / name).read_text() for name in names)

    if format in ("json", "yaml"):
        texts = [written(lw.load(name)) for name in ("planar_2r", "joint_zoo", "differential", "rolling_disk")]  # in the world frame
        texts += [json.dumps(data.as_file(lw.load(name))) for name in ("four_bar", "joint_zoo", "squeezer")]
        return tuple(texts) if format == "json" else tuple(as_yaml(text) for text in texts)
    if format == "urdf":
        return ARM, ARM, ARM, *read("double_pendulum/double_pendulum.urdf", "panda/panda.urdf")
    return (
        (SDF, SDF, SDF, *read("four_bar/four_bar.sdf", "iiwa14/iiwa14.sdf"))
        if format == "sdf"
        else (MJCF, MJCF, *read("humanoid_mjcf/humanoid.xml"))
    )


def as_yaml(text: str) -> str:
    import yaml

    return yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True)


def damaged(format: str, seed: int) -> bytes:
    """A file of the format with one to four mutations."""
    rng = random.Random(f"{format} {seed}")
    texts = sources(format)
    text = texts[seed % len(texts)]
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = rng.choice(
            (number, number, name, name, piece_gone, piece_gone, piece_twice, pieces_swapped, pieces_swapped, cut, characters)
        )(text, rng)
    data = text.encode("utf-8", "surrogatepass")
    return flipped(data, rng) if rng.random() < 0.1 else data


def replaced(text, pattern, rng, by):
    found = list(pattern.finditer(text))
    if not found:
        return text
    at = rng.choice(found)
    return text[: at.start()] + by + text[at.end() :]


def number(text, rng):
    return replaced(text, NUMBER, rng, rng.choice((*NUMBERS, f"{rng.uniform(-1, 1) * 10.0 ** rng.randint(-300, 300)}")))


def name(text, rng):
    """Another name in the place of one, of this file or from the list."""
    return replaced(text, WORD, rng, rng.choice((rng.choice(NAMES), (rng.choice(WORD.findall(text) or ["x"])))))


def pieces(text, rng):
    """Where tags and attributes, entries or lines are, of one kind of them."""
    head = text.lstrip()[:1]
    pattern = re.compile(rng.choice(PIECES.get(head, PIECES[""])), re.DOTALL)
    return [found.span() for found in pattern.finditer(text)] or [(0, len(text))]


def piece_gone(text, rng):
    a, b = rng.choice(pieces(text, rng))
    return text[:a] + text[b:]


def piece_twice(text, rng):
    a, b = rng.choice(pieces(text, rng))
    return text[:b] + text[a:b] + text[b:]


def pieces_swapped(text, rng):
    found = pieces(text, rng)
    (a, b), (c, d) = sorted((rng.choice(found), rng.choice(found)))
    return text if b > c else text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def cut(text, rng):
    a = rng.randrange(len(text) + 1)
    return rng.choice((text[:a], text[:a] + text[a + rng.randrange(40) :]))


def characters(text, rng):
    a = rng.randrange(len(text) + 1)
    return (
        text[:a]
        + rng.choice(("<", ">", '"', "&", "[", "{", ":", "\n", "\t", "- ", "\0", "\ufeff", "]]>", "<!--", "*a", "!!x ", "\ud800"))
        + text[a:]
    )


def flipped(data: bytes, rng) -> bytes:
    out = bytearray(data or b" ")
    for _ in range(rng.randint(1, 4)):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


class TooLong(Exception):
    """A file takes more than its seconds."""


def ring(*_):
    raise TooLong


def outcome(data: bytes) -> str:
    """ "model" or "error"; anything else is what went wrong."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        model = lw.load(data, mimic="free")
        return "model" if model.bodies and str(model) and repr(model) else "a model without bodies"
    except lw.LinkworkError as error:
        return "error" if 0 < len(str(error)) < 10_000 else f"an error of {len(str(error))} characters"
    except TooLong:
        return f"more than {SECONDS} s"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def read_all(format: str, seeds) -> dict[str, int]:
    """How many became models and how many errors; fails where something else happened."""
    counts, bad = {"model": 0, "error": 0}, []
    before = signal.signal(signal.SIGALRM, ring)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in seeds:
                found = outcome(damaged(format, seed))
                if found in counts:
                    counts[found] += 1
                else:
                    bad.append(f"damaged({format!r}, {seed}): {found}")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not bad, "\n".join(bad)
    return counts


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """MuJoCo writes a log to the folder in which it warns."""
    monkeypatch.chdir(tmp_path)


FORMATS = pytest.mark.parametrize("format", ["urdf", "sdf", "mjcf", "json", "yaml"])


@FORMATS
def test_whole_files_are_models(format):
    for text in sources(format):
        assert outcome(text.encode()) == "model"


@FORMATS
def test_a_sample_of_damaged_files_are_models_or_errors(format):
    counts = read_all(format, range(SAMPLE))
    assert counts["error"] > 0 and counts["model"] > 0


@pytest.mark.slow
@FORMATS
@pytest.mark.parametrize("block", range(WHOLE // BLOCK))
def test_damaged_files_are_models_or_errors(format, block):
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts = read_all(format, range(block * BLOCK, (block + 1) * BLOCK))
    assert counts["error"] > 0 and counts["model"] > 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 1000 * MEGABYTES
