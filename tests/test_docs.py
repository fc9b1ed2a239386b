"""Every Python block of the README and the docs runs, the blocks of one file one after the other."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SLOW = "loops.md", "contact.md"  # pages whose code runs for more than ten seconds
BLOCK = re.compile(r"^```python(?P<words>[^\n]*)\n(?P<code>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """The blocks to run, each moved down to its own line of the page, so that a traceback points there."""
    for match in BLOCK.finditer(text):
        if "no-run" not in match["words"].split():
            yield "\n" * text.count("\n", 0, match.start("code")) + match["code"]


@pytest.mark.parametrize(
    "page",
    [pytest.param(x, id=x.relative_to(ROOT).as_posix(), marks=[pytest.mark.slow] if x.name in SLOW else []) for x in PAGES],
)
def test_the_code_in_the_documentation_runs(page, tmp_path, monkeypatch, registries):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for code in blocks(page.read_text(encoding="utf-8")):
        exec(compile(code, page, "exec"), namespace)


def test_only_marked_blocks_are_skipped():
    page = "a\n```python\nx = 1\n```\n```python no-run\nx = 2\n```\n```bash\nx\n```\n```python\nx = 3\n```\n"
    assert [code.strip() for code in blocks(page)] == ["x = 1", "x = 3"]
