"""JSON and YAML as values with their line numbers."""

import json
import re
from bisect import bisect_left
from dataclasses import dataclass
from json.decoder import JSONArray, JSONObject  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any

from ..errors import ModelError, did_you_mean, extra
from .xml import Located

DEEPEST = 200  # lists and objects in each other


@dataclass(frozen=True)
class Value(Located):
    """An object (a dict of Values), a list of Values, or a plain value, with its line and the name of its file."""

    data: Any
    line: int
    source: str

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
    try:
        return _Located(text, source).decode(text)
    except json.JSONDecodeError as error:
        raise ModelError(f"{source}, line {error.lineno}: this is not JSON: {error.msg}.") from None
    except ModelError:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise ModelError(f"{source} has a number that cannot be read: {error}.") from None


class _Located(json.JSONDecoder):
    """A decoder of JSON whose values have their lines: the parsers of `json` that are written in Python, with a line for each value."""

    def __init__(self, text: str, source: str):
        super().__init__(object_pairs_hook=lambda pairs: _unique(pairs, source))
        ends = [match.start() for match in re.finditer("\n", text)]

        def located(text: str, i: int) -> tuple[Value, int]:
            value, end = scan(text, i)
            return Value(value, bisect_left(ends, i) + 1, source), end

        self.parse_object = lambda at, strict, _, *hooks: JSONObject(at, strict, located, *hooks)
        self.parse_array = lambda at, _: JSONArray(at, located)
        scan = py_make_scanner(self)
        self.scan_once = located


def _unique(pairs: list[tuple[str, Value]], source: str) -> dict[str, Value]:
    names: dict[str, Value] = {}
    for name, value in pairs:
        if name in names:
            raise ModelError(f'{source}, line {value.line}: "{name}" is given twice.')
        names[name] = value
    return names


def _yaml(text: str, source: str) -> Value:
    yaml = extra("yaml", f"{source} is YAML, which needs", "yaml", " JSON needs nothing.")
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
