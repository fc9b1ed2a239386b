"""Citations and letters mean what docs/bibliography.md and docs/notation.md say: every name has an entry, every number exists."""

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = sorted((ROOT / "linkwork").rglob("*.py"))
PAGES = [path for path in sorted((ROOT / "docs").glob("*.md")) if path.stem not in ("bibliography", "notation")]
BIBLIOGRAPHY = (ROOT / "docs" / "bibliography.md").read_text(encoding="utf-8")
NOTATION = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")

NAME = r"[A-ZÀ-Ž][a-zà-ž]{2,}(?:-[A-Z][a-zà-ž]+)?"
NAMES = rf"(?:(?:{NAME}, )*{NAME} and )?{NAME}"
CITED = [
    rf"\(({NAMES})(?:,? (?P<year>1[89]\d\d|20\d\d)|,[^)]*\d)?[,;:)]",  # (Dekker), (From, 29), (Belady 1966)
    rf"({NAMES}) \((?:(?P<year>1[89]\d\d|20\d\d)|\d+(?:\.\d+)?)\)",  # Jain (9.53), From (74), Corke (1994)
    rf"({NAMES}), (?:\d|part (?:one|two)|section|chapter|Algorithm|Lemma|Exercise|Remark|Theorem|Table)",  # Jain, Lemma 9.3
    rf"(?<!, )\b((?:{NAME}, )*{NAME} and {NAME})\b",  # Sethi and Ullman
]
NO_NAMES = re.compile(
    r"^(None|True|False|Algorithms?|Lemmas?|Exercises?|Remarks?|Tables?|Chapters?|Sections?|Returns?|With|Without|For|The|Its|Not)\b"
)



def texts(path):
    """(line, text) of every docstring, comment or page."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield 1, re.sub(r"```.*?```|`[^`\n]*`|\*[^*\n]+\*", "", source, flags=re.DOTALL)  # without code and titles
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def names(text):
    """(name, year or None) of every work that a text cites."""
    for pattern in CITED:
        for match in re.finditer(pattern, text):
            if not NO_NAMES.match(match[1]):
                yield match[1], match.groupdict().get("year")


@cache
def all_texts():
    return [(f"{path.relative_to(ROOT)}:{line}", text) for path in (*CODE, *PAGES) for line, text in texts(path)]


@cache
def everywhere(find):
    return [(where, found) for where, text in all_texts() for found in find(text)]


@cache
def entries():
    """The text behind each bold name of the bibliography."""
    found = re.finditer(r"^(?:- |\| )\*\*(.+?)\*\*(.*?)(?=^- |^\||^#|\Z)", BIBLIOGRAPHY, re.MULTILINE | re.DOTALL)
    return {match[1]: match[2] for match in found}


def rows(page):
    """Cells of every row of the tables of a page, heads left out."""
    for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        for line in table.splitlines()[2:]:
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_every_work_that_is_cited_has_an_entry():
    missing = {f"{where}: {name}" for where, (name, _) in everywhere(names) if name not in entries()}
    assert not missing, "no entry in docs/bibliography.md: " + "; ".join(sorted(missing))


def test_every_cited_year_is_the_year_of_its_entry():
    wrong = {f"{where}: {name} {year}" for where, (name, year) in everywhere(names) if year and year not in entries().get(name, year)}
    assert not wrong, "another year in docs/bibliography.md: " + "; ".join(sorted(wrong))


def test_every_cited_equation_of_the_book_exists():
    last = dict(re.findall(r"^\| (\w+) \|[^|]*\| \(\w+\.(\d+)\)", BIBLIOGRAPHY, re.MULTILINE))
    assert len(last) == 22

    def equations(text):
        yield from re.findall(r"\(([1-9]\d?|[A-C])\.(\d+)[a-h]?\)", text)
        for listed in re.findall(r"Jain,((?: (?:[1-9]\d?|[AB])\.\d+,?)+)", text):
            yield from re.findall(r"([1-9]\d?|[AB])\.(\d+)", listed)

    wrong = {f"{where}: ({c}.{n})" for where, (c, n) in everywhere(equations) if not 1 <= int(n) <= int(last.get(c, 0))}
    assert not wrong, "the book has no equation " + "; ".join(sorted(wrong))


@pytest.mark.parametrize(("name", "last"), [("From", 112), ("From, part two", 60), ("Müller and Terze", 68)])
def test_every_cited_equation_of_a_paper_exists(name, last):
    assert f"(1) to ({last})" in " ".join(BIBLIOGRAPHY.split())

    def equations(text):
        part = r"(?:, part one)?" if name == "From" else ""
        for listed in re.findall(rf"{name}{part},? \(?((?:\d+(?![\d.])(?:\), \(|, | to | and |-)?)+)", text):
            yield from re.findall(r"\d+", listed)

    found = everywhere(equations)
    assert found
    assert not {f"{where}: {name} ({n})" for where, n in found if not 1 <= int(n) <= last}


def test_a_number_in_brackets_follows_the_name_of_its_source():
    def alone(text):
        for line in text.splitlines():
            for match in re.finditer(r"(?<![\w\]}^)])\((\d{2,3})\)", line):
                if not any(name in line[: match.start()] for name in entries()):
                    yield match[1]

    assert not [f"{where}: ({n})" for where, n in everywhere(alone) if where.startswith("linkwork")]


def test_citations_are_found_in_every_form():
    text = "(Dekker) (Belady 1966) Jain (9.53) (Jain, 5.11) From, part two (60); Hairer, Nørsett and Wanner, II.4 (None) Algorithm (6)"
    found = {name for name, _ in names(text)}
    assert found == {"Dekker", "Belady", "Jain", "From", "Hairer, Nørsett and Wanner"}


@cache
def identifiers(path):
    """Every name that a file or folder of the package defines or uses."""
    found = set()
    for file in [path] if path.is_file() else path.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            found |= {getattr(node, field, None) for field in ("id", "arg", "attr", "name")}
    return found


def letters():
    """(name, file) of every row with the six columns of a letter."""
    six = [cells for cells in rows(NOTATION) if len(cells) == 6]
    return [(name, cells[5].strip("`")) for cells in six for name in re.findall(r"`(\w+)`", cells[1])]


@pytest.mark.parametrize(("name", "where"), letters())
def test_every_letter_of_the_notation_page_is_in_the_code(name, where):
    assert (ROOT / "linkwork" / where).exists(), f"docs/notation.md: linkwork/{where} is not there"
    assert name in identifiers(ROOT / "linkwork" / where), f"docs/notation.md: {where} has no {name}"


@pytest.mark.parametrize("page", ["bibliography", "notation"])
def test_every_file_that_the_pages_name_is_there(page):
    named = re.findall(r"`([a-z_]+(?:/[a-z_]*)*(?:\.py|/))`", {"bibliography": BIBLIOGRAPHY, "notation": NOTATION}[page])
    assert len(named) > 10
    assert not {path for path in named if not (ROOT / "linkwork" / path).exists()}
