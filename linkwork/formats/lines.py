"""JSON and YAML as values with their line numbers."""

import json
import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError, did_you_mean
from ..lie.scalars import numbers

DEEPEST = 200  # lists and objects in each other
SPACE = re.compile(r"\s*")
SCALAR = re.compile(r'[^\s,:\[\]{}"]+')


@dataclass(frozen=True)
class Value:
    """An object (a dict of Values), a list of Values, or a plain value, with its line and the name of its file."""

    data: Any
    line: int
    source: str

    def error(self, what: str) -> ModelError:
        return ModelError(f"{self.source}, line {self.line}: {what}")

    def fields(self, owner: str, known) -> dict[str, "Value"]:
        """The entries of an object; an entry that is not in `known` is an error."""
        if not isinstance(self.data, dict):
            raise self.error(f"{owner} is {self.kind}; an object is needed, with entries such as {', '.join(list(known)[:3])}.")
        for name, value in self.data.items():
            if name not in known:
                raise value.error(f'{owner} has an entry "{name}", which is not known.{did_you_mean(name, known)}')
        return self.data

    def items(self, owner: str) -> list["Value"]:
        if not isinstance(self.data, list):
            raise self.error(f"{owner} is {self.kind}; a list is needed.")
        return self.data

    def text(self, owner: str) -> str:
        if not isinstance(self.data, str) or not self.data:
            raise self.error(f"{owner} is {self.kind}; a name is needed.")
        return self.data

    def number(self, owner: str) -> float:
        value = numbers(self.data) if isinstance(self.data, (int, float)) and not isinstance(self.data, bool) else np.array(np.nan)
        if not np.isfinite(value):
            raise self.error(f"{owner} is {self.kind}; a finite number is needed.")
        return float(value)

    def vector(self, owner: str) -> tuple[float, float, float]:
        x, y, z = self.numbers(owner, 3)
        return x, y, z

    def numbers(self, owner: str, *counts: int) -> tuple[float, ...]:
        """A list of numbers, whose length is one of the counts; any length without counts."""
        found = tuple(value.number(f"an entry of {owner}") for value in self.items(owner))
        if counts and len(found) not in counts:
            raise self.error(f"{owner} has {len(found)} numbers; {' or '.join(map(str, counts))} are needed.")
        return found

    def values(self, owner: str) -> float | tuple[float, ...]:
        """One number, or several in a list."""
        return self.numbers(owner) if isinstance(self.data, list) else self.number(owner)

    @property
    def kind(self) -> str:
        if isinstance(self.data, int) and abs(self.data) >= 1 << 1024:
            return "a number too large for a float"
        return {dict: "an object", list: "a list", type(None): "nothing"}.get(type(self.data), repr(self.data))


def is_data(text: str) -> bool:
    """Is this the text of a mechanism in JSON or YAML, rather than XML or a path?"""
    head = text.lstrip()
    if head.startswith(("{", "<")):
        return head.startswith("{")
    return any(line.startswith(("screws:", "linkwork:")) for line in head.splitlines()[:40])


def parsed(text: str, source: str) -> Value:
    """The value of a text: JSON if it begins with a brace, else YAML."""
    try:
        return _json(text, source) if text.lstrip().startswith("{") else _yaml(text, source)
    except RecursionError:
        raise ModelError(f"{source} is nested too deeply.") from None


def _json(text: str, source: str) -> Value:
    """Check the text with `json`, whose values have no line numbers, then read it again with line numbers."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise ModelError(f"{source}, line {error.lineno}: this is not JSON: {error.msg}.") from None
    except ValueError as error:  # an integer of thousands of digits
        raise ModelError(f"{source} has a number that cannot be read: {error}.") from None
    ends = [match.start() for match in re.finditer("\n", text)]
    value, _ = _read(text, SPACE.match(text).end(), source, lambda i: bisect_left(ends, i) + 1)  # type: ignore[union-attr]
    return value


def _read(text: str, i: int, source: str, line_of: Callable[[int], int]) -> tuple[Value, int]:
    """The value of well-formed JSON that begins at i, and where it ends."""

    def skip(i: int) -> int:
        return SPACE.match(text, i).end()  # type: ignore[union-attr]

    line = line_of(i)
    if text[i] == '"':
        found, i = json.decoder.scanstring(text, i + 1)  # type: ignore[attr-defined]
        return Value(found, line, source), i
    if text[i] not in "{[":
        match = SCALAR.match(text, i)
        assert match is not None
        return Value(json.loads(match[0]), line, source), match.end()
    entries: list = []
    names: set = set()
    named, i = text[i] == "{", skip(i + 1)
    while text[i] not in "}]":
        if text[i] == ",":
            i = skip(i + 1)
        name = None
        if named:
            at = line_of(i)
            name, i = json.decoder.scanstring(text, i + 1)  # type: ignore[attr-defined]
            i = skip(skip(i) + 1)
            if name in names:
                raise ModelError(f'{source}, line {at}: "{name}" is given twice.')
            names.add(name)
        value, i = _read(text, i, source, line_of)
        entries.append((name, value))
        i = skip(i)
    data: Any = dict(entries) if named else [value for _, value in entries]
    return Value(data, line, source), i + 1


def _yaml(text: str, source: str) -> Value:
    try:
        import yaml
    except ImportError as error:
        raise ModelError(f"{source} is YAML, which needs PyYAML: pip install linkwork[yaml]. JSON needs nothing.") from error
    try:
        depth = 0
        for event in yaml.parse(text, yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise RecursionError
            if isinstance(event, yaml.AliasEvent):  # a few of them can stand for billions of values
                line = event.start_mark.line + 1
                raise ModelError(f"{source}, line {line}: aliases (*{event.anchor}) are not read; write out what they stand for.")
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
        raise ModelError(f"{source}{line}: this is not YAML: {error.problem}.") from None
    except yaml.YAMLError as error:
        raise ModelError(f"{source}: this is not YAML: {error}.") from None
    if node is None:
        raise ModelError(f"{source} is empty.")
    return _from_node(yaml, node, source, yaml.SafeLoader(""))


def _from_node(yaml, node, source: str, loader) -> Value:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        data: dict = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise ModelError(f"{source}, line {key.start_mark.line + 1}: the name of an entry is no text.")
            if key.value in data:
                raise ModelError(f'{source}, line {key.start_mark.line + 1}: "{key.value}" is given twice.')
            data[key.value] = _from_node(yaml, value, source, loader)
        return Value(data, line, source)
    if isinstance(node, yaml.SequenceNode):
        return Value([_from_node(yaml, value, source, loader) for value in node.value], line, source)
    try:
        found = loader.construct_object(node)
    except (yaml.YAMLError, ValueError, OverflowError, KeyError, TypeError):  # 2001-99-99, !!int x, !!python/...
        raise ModelError(f'{source}, line {line}: "{node.value}" cannot be read.') from None
    if isinstance(found, str) and node.style is None and re.fullmatch(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+", found):
        found = float(found)  # 1e-3, which YAML 1.1 reads as a string
    return Value(found, line, source)
