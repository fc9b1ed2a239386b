"""XML as elements with their line numbers, without entities and external files."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import isfinite, isnan
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ..errors import ModelError

COUNTS = {1: "one number is", 3: "three numbers are", 4: "four numbers are"}
DEEPEST = 200  # elements in each other
PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)|nan", re.IGNORECASE)


@dataclass(frozen=True)
class How:
    """How a text is read, as `load` has it: `name` stands for it in errors, and for the model if the text has no name for that; `folder` is
    where it was."""

    name: str = "model"
    folder: Path | None = None
    snap: bool = True
    package_root: Path | None = None
    meshes_outside: bool = False
    lenient: bool = False


class Located:
    """Something in a line of a file."""

    line: int
    source: str

    def error(self, what: str) -> ModelError:
        return ModelError(f"{self.source}, line {self.line}: {what}")

    def made(self, make: Callable) -> Any:
        """Calls a constructor, and adds the line of this thing to its error."""
        try:
            return make()
        except ModelError as error:
            raise self.error(str(error)) from None


@dataclass(eq=False)
class Element(Located):
    """An element and its line; `owner` names the outermost element around it below the root."""

    tag: str
    attributes: dict[str, str]
    line: int
    source: str
    owner: str
    inner: bool  # is it inside its owner, rather than the owner itself?
    children: list["Element"] = field(default_factory=list, repr=False)
    content: str = ""  # the text between its tags

    def all(self, tag: str) -> Iterator["Element"]:
        """The children of this tag."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> "Element | None":
        return next(self.all(tag), None)

    def add_named(self, tag: str, known: dict[str, "Element"], scope: str = "") -> None:
        """Adds the children of this tag by their names, which stand after a scope; no name is there twice."""
        for child in self.all(tag):
            name = scope + child.text("name")
            if name in known:
                raise child.error(f'{tag} "{name}" is there twice, first in line {known[name].line}; names may not repeat.')
            known[name] = child

    def needed(self, tag: str) -> "Element":
        """The first child of this tag; an error if there is none."""
        child = self.first(tag)
        if child is None:
            raise self.error(f"{self.owner} has no <{tag}>{self._inside}.")
        return child

    def text(self, attribute: str) -> str:
        """The value of an attribute; an error if it is missing or empty."""
        value = self.attributes.get(attribute, "").strip()
        if not value:
            raise self.error(f'{self.owner} has no {attribute}="..."{self._inside}.')
        return value

    def number(self, attribute: str, default: float | None = None, *, least: float | None = None) -> float:
        """One finite number; an error if it is missing and has no default, or is below the least."""
        (value,) = self.numbers(attribute, 1, None if default is None else (default,))
        if least is not None and value < least:
            rule = "it may not be negative" if least == 0 else f"it may not be below {least:g}"
            raise self.error(f"{self.owner} has {self._own}{attribute} {value:g}; {rule}.")
        return value

    def bound(self, attribute: str, default: float | None = None) -> float | None:
        """One number that may be infinite; None if it is missing and has no default."""
        if attribute not in self.attributes:
            return default
        return self._numbers(attribute, 1)[0]

    def numbers(self, attribute: str, count: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """`count` finite numbers, separated by spaces."""
        if attribute not in self.attributes and default is not None:
            return default
        values = self._numbers(attribute, count)
        if not all(map(isfinite, values)):
            raise self._bad(attribute, "is not finite")
        return values

    def _numbers(self, attribute: str, count: int) -> tuple[float, ...]:
        written = self.text(attribute)
        words = written.split()
        for word in words:
            if not PLAIN_NUMBER.fullmatch(word):
                xacro = "; this looks like xacro: run xacro on the file first" if "${" in written else ""
                raise self._bad(attribute, f"is not a number{xacro}", word)
        if len(words) != count:
            raise self._bad(attribute, f"where {COUNTS[count]} expected", joined=" ")
        values = tuple(map(float, words))
        if any(map(isnan, values)):
            raise self._bad(attribute, "is not finite")
        return values

    @property
    def _inside(self) -> str:
        return f" in its <{self.tag}>" if self.inner else ""

    @property
    def _own(self) -> str:
        return f"<{self.tag}> " if self.inner else ""

    def _bad(self, attribute: str, why: str, word: str | None = None, joined: str = ", which ") -> ModelError:
        written = self.attributes[attribute] if word is None else word
        return self.error(f'{self.owner} has {self._own}{attribute} "{written}"{joined}{why}.')


class Lenient:
    """Reads elements, or entries of a list, that a model can do without: a bad one is left out, with a note, if that was asked for."""

    def __init__(self, asked: bool):
        self.asked = asked
        self.notes: list[str] = []

    def read(self, element: Any, reader: Callable, otherwise: Any = None) -> Any:
        try:
            return reader(element)
        except ModelError as error:
            if not self.asked:
                raise
            self.notes.append(f"left out: {error}")
            return otherwise


def parse(text: str, source: str) -> Element:
    """The root element of a text; `source` is its name in errors."""
    return _parse(text, source, whole=True)


def root(text: str, source: str) -> str:
    """The tag of the root element; the rest of the text is not read."""
    return _parse(text, source, whole=False).tag


def decoded(data: bytes, source: str) -> str:
    """The text of the bytes of a file, decoded by its byte order mark, its XML declaration, or else as UTF-8."""
    declared = re.match(rb"""(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)["']""", data)
    encoding = declared[1].decode() if declared else "utf-8"
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        encoding = "utf-16"
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeError) as error:
        raise ModelError(f"{source} is not text in the encoding {encoding}: {error}.") from error
    return text.removeprefix("\ufeff")


def without_early_lines(text: str) -> str:
    """The text, without an XML declaration that is not at its very beginning, as XML wants it to be; lines keep their numbers."""
    return re.sub(r"^(\s+)<\?xml\s[^>]*\?>", r"\1", text)


class _RootFound(Exception):
    """Ends the parser after the root element."""


def _parse(text: str, source: str, whole: bool) -> Element:
    parser = expat.ParserCreate()
    stack: list[Element] = []
    top: list[Element] = []

    def start(tag, attributes):
        if len(stack) == DEEPEST:
            raise ModelError(f"{source}, line {parser.CurrentLineNumber}: elements are nested more than {DEEPEST} deep.")
        name = attributes.get("name", "").strip()
        inner = len(stack) > 1
        owner = stack[1].owner if inner else f'{tag} "{name}"' if name else f"<{tag}>"
        element = Element(tag, attributes, parser.CurrentLineNumber, source, owner, inner)
        if stack:
            stack[-1].children.append(element)
        else:
            top.append(element)
        stack.append(element)
        if not whole:
            raise _RootFound

    def refuse(what):
        def handler(*_):
            raise ModelError(f"{source}, line {parser.CurrentLineNumber}: the file {what}; entities are not read.")

        return handler

    def doctype(name, system, public, internal):
        if system or public:
            refuse(f'has a DOCTYPE that refers to another file, "{system or public}"')()

    def characters(text):
        stack[-1].content += text

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: stack.pop()
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = refuse("declares an entity")
    parser.ExternalEntityRefHandler = refuse("refers to an external entity")
    parser.SkippedEntityHandler = refuse("refers to an entity it does not declare")
    try:
        parser.Parse(text, True)
    except _RootFound:
        pass
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise ModelError(f"{source}, line {error.lineno}: this is not well-formed XML ({reason}).") from error
    except UnicodeEncodeError as error:
        raise ModelError(f"{source} is not text that XML can hold: {error}.") from error
    return top[0]
