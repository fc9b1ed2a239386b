"""One meaning a word: the glossary, and counts of names and docstrings without content, which may only get smaller.

The counts are in words.json. `python tests/test_words.py` prints those of now, `--write` stores them where no sum is larger.
"""

import ast
import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE, STORED, GLOSSARY = ROOT / "linkwork", Path(__file__).with_name("words.json"), ROOT / "docs" / "glossary.md"
EMPTY = "held", "found", "given", "made", "some"  # words that say nothing about the thing that they name
FRAGMENTS = "Those", "What", "The same", "Of", "That"  # first words of docstrings that are no sentences
DESIGN = (
    "mechanism", "system", "state", "modes", "step", "attempt", "accept", "reject", "monitor", "transition", "reaction", "sampled control",
    "at rest", "constrained", "dependent velocities", "independent velocities", "choice", "return", "problem", "kind", "row", "impulse",
    "force", "repeat", "cut", "leave", "save", "unit loop", "inputs", "node", "block", "sweep", "quantity", "operation", "trace", "program",
    "kernel", "road",
)  # fmt: skip


def names(tree: ast.Module):
    """Every name that a module gives to others: functions, classes, arguments, attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        if isinstance(node, ast.ClassDef):
            yield from (x.target.id for x in node.body if isinstance(x, ast.AnnAssign) and isinstance(x.target, ast.Name))


def docstrings(tree: ast.Module):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and (text := ast.get_docstring(node)):
            yield text


def fragment(text: str) -> str | None:
    """The first word of a docstring that is no sentence."""
    return next((x for x in FRAGMENTS if re.match(rf"{x}\b", text)), None)


def counted(files: dict[str, str]) -> dict[str, dict[str, int]]:
    """{word: {folder: how often}} of module names and sources by path, in the package."""
    counts: dict[str, dict[str, int]] = defaultdict(Counter)
    for path, source in files.items():
        folder, tree = path.partition("/")[0], ast.parse(source)
        for name in [Path(path).stem, *names(tree)]:
            for word in set(name.lower().split("_")) & set(EMPTY):
                counts[word][folder] += 1
        for text in docstrings(tree):
            if word := fragment(text):
                counts[f"{word} ..."][folder] += 1
    return {word: dict(sorted(counts[word].items())) for word in (*EMPTY, *(f"{x} ..." for x in FRAGMENTS))}


def package() -> dict[str, str]:
    return {x.relative_to(PACKAGE).as_posix(): x.read_text(encoding="utf-8") for x in sorted(PACKAGE.rglob("*.py"))}


def twice(files) -> dict[str, int]:
    """How many modules have a name, of names that several have, other than __init__."""
    stems = Counter(Path(x).stem for x in files)
    return {name: count for name, count in sorted(stems.items()) if count > 1 and name != "__init__"}


def more_modules(now: dict[str, int], stored: dict[str, int]) -> list[str]:
    """Names that more modules have than is allowed."""
    return [name for name, count in now.items() if count > stored.get(name, 1)]


def raised(now: dict[str, dict[str, int]], stored: dict[str, dict[str, int]]) -> list[str]:
    """Words whose sum is larger than the stored one; what moves from folder to folder raises none."""
    return [word for word, counts in now.items() if sum(counts.values()) > sum(stored[word].values())]


@pytest.fixture(scope="module")
def files():
    return package()


@pytest.fixture(scope="module")
def now(files):
    return counted(files)


@pytest.fixture(scope="module")
def stored():
    return json.loads(STORED.read_text(encoding="utf-8"))


def terms() -> dict[str, list[str]]:
    """{word: its meanings} of the glossary."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    meanings = defaultdict(list)
    for word, meaning in rows:
        if word != "word":
            meanings[word].append(meaning)
    return meanings


def test_the_glossary_has_each_word_once_and_every_word_of_the_design():
    assert not [word for word, meanings in terms().items() if len(meanings) > 1]
    assert not set(DESIGN) - set(terms())


def test_no_two_words_of_the_glossary_have_one_meaning():
    meanings = [meaning for both in terms().values() for meaning in both]
    assert len(set(meanings)) == len(meanings)


def test_the_glossary_is_a_page_of_the_documentation():
    assert "glossary.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", [*EMPTY, *(f"{x} ..." for x in FRAGMENTS)])
def test_a_word_without_content_does_not_spread(word, now, stored):
    """Per folder of the package; a name says what a thing is, a docstring begins with what is returned or done."""
    counts, allowed = now[word], stored["words"][word]
    more = {folder: f"{count}, allowed are {allowed.get(folder, 0)}" for folder, count in counts.items() if count > allowed.get(folder, 0)}
    assert not more, f'"{word}": {more}; name the thing by its noun: root, solution, impulse, inputs, like, sampled'


def test_no_more_names_stand_for_two_modules(files, stored):
    """A module's name is its subject: those that stand twice make a traceback a riddle."""
    assert not more_modules(twice(files), stored["modules of one name"])


def test_names_and_docstrings_are_counted():
    source = 'def found(given):\n    """What is."""\n    self.held_point = local_made = 1\nclass A:\n    """Thosex."""\n    some: int\n'
    now = counted({"engine/made.py": source})
    assert {word: x["engine"] for word, x in now.items() if x} == dict.fromkeys(("held", "found", "given", "made", "some", "What ..."), 1)
    assert twice(["a/x.py", "b/x.py", "a/y.py", "a/__init__.py", "b/__init__.py"]) == {"x": 2}


def test_a_word_that_moves_to_another_folder_is_not_raised():
    assert not raised({"held": {"motion": 2}}, {"held": {"simulate": 2}})
    assert raised({"held": {"motion": 2, "simulate": 1}}, {"held": {"simulate": 2}}) == ["held"]


def main(write: bool) -> None:
    files = package()
    now = {"words": counted(files), "modules of one name": twice(files)}
    before = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else now
    for word, counts in now["words"].items():
        print(f"{word:<13} {sum(counts.values()):4} of {sum(before['words'][word].values()):4}   {counts}")
    print("modules      ", now["modules of one name"])
    if write:
        if more := raised(now["words"], before["words"]) + more_modules(now["modules of one name"], before["modules of one name"]):
            raise SystemExit(f"not written, since there is more of: {', '.join(more)}")
        rows = ",\n".join(f"  {json.dumps(word)}: {json.dumps(counts)}" for word, counts in now["words"].items())
        modules = json.dumps(now["modules of one name"])
        STORED.write_text(f'{{\n"words": {{\n{rows}\n}},\n"modules of one name": {modules}\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main("--write" in sys.argv)
