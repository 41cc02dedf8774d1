"""Messages as text, as in `.pbtxt` files: written in the very form of protocol buffers, and read back.

node {
  name: "x"
  attr {
    key: "dtype"
    value {
      type: DT_FLOAT
    }
  }
}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Protocol

from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.messages.fields import Field, MapField, MessageField, RepeatedMessageField
from staticgraph.formats.tf.messages.wire import DecodeError, check_depth

_SPACE = re.compile(r"(?:\s|#[^\n]*+)*+")  # possessive: a comment is never read in part
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+') | (?P<word>-?[\w.][\w.+-]*)
      | (?P<mark>[{}<>\[\]:,;-]) | (?P<end>$)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SUFFIX = re.compile(r"(?<=[\d.])[fF]$")
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_NAMED = {0x22: '\\"', 0x27: "\\'", 0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}
_WRITTEN = {
    b: f"\\{b:03o}" for b in range(256) if not 32 <= b < 127
} | _NAMED  # bytes that do not stand for themselves
_TRUE, _FALSE = ("true", "True", "t", "1"), ("false", "False", "f", "0")
_CLOSING = {"{": "}", "<": ">"}


class Listing(Protocol):
    """A message, as far as its text needs it."""

    def ListFields(self) -> Any:
        """Return the fields that are set, each with its value."""


def MessageToString(message: Listing) -> str:
    """The text of a message.

    >>> from staticgraph.messages import NodeDef
    >>> print(MessageToString(NodeDef(name="x", op="Placeholder")), end="")
    name: "x"
    op: "Placeholder"
    """
    return "".join(_lines(message.ListFields(), ""))


def Merge(text: str | bytes, message: Any) -> Any:
    """Take over the values in a text, and return the message. DecodeError if it is none of this type.

    >>> from staticgraph.messages import NodeDef
    >>> Merge('name: "x"  # a comment', NodeDef()).name
    'x'
    """
    source = text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text
    tokens = _Tokens(source)
    try:
        tokens.advance()
        _merge(tokens, message, "", 0)
    except (DecodeError, ValueError, TypeError) as error:
        where = f"line {source.count(chr(10), 0, tokens.start) + 1}"
        raise misuse(DecodeError, f"{where} of a text is no {type(message).__qualname__}: {error}") from None
    return message


def Parse(text: str | bytes, message: Any) -> Any:
    """Become the message that a text holds. DecodeError if it is none of this type."""
    message.Clear()
    return Merge(text, message)


def quoted(value: str | bytes) -> str:
    """A string within double quotes: bytes of UTF-8, those that are not printable as octal numbers."""
    data = value.encode() if isinstance(value, str) else value
    return f'"{data.decode("latin-1").translate(_WRITTEN)}"'


def _lines(fields: list[tuple[Field, Any]], indent: str) -> Iterator[str]:
    for field, value in fields:
        match field:
            case MapField():
                for entry in field.entries(value):
                    yield from _block(field.name, entry.ListFields(), indent)
            case MessageField():
                yield from _block(field.name, value.ListFields(), indent)
            case RepeatedMessageField():
                for inner in value:
                    yield from _block(field.name, inner.ListFields(), indent)
            case _:
                for one in value if field.repeated else [value]:
                    yield f"{indent}{field.name}: {_scalar(field, one)}\n"


def _block(name: str, fields: list[tuple[Field, Any]], indent: str) -> Iterator[str]:
    yield f"{indent}{name} {{\n"
    yield from _lines(fields, indent + "  ")
    yield f"{indent}}}\n"


def _scalar(field: Field, value: Any) -> str:
    if field.enum is not None:
        return field.enum.text(value)
    match value:
        case bool():
            return "true" if value else "false"
        case str() | bytes():
            return quoted(value)
    return str(value)


@dataclass(slots=True)
class _Tokens:
    """A text as a sequence of strings, words and marks; `kind` and `text` are those of the present one."""

    source: str
    start: int = 0
    end: int = 0
    kind: str = ""
    text: str = ""

    def advance(self) -> str:
        """Go to the next token; the text of the one before."""
        passed = self.text
        space = _SPACE.match(self.source, self.end)
        self.start = space.end() if space else self.end
        match = _TOKEN.match(self.source, self.start)
        if match is None:
            raise DecodeError(f"{self.source[self.start : self.start + 20]!r} cannot stand here")
        self.kind, self.text, self.end = match.lastgroup or "", match[0], match.end()
        return passed

    def take(self, *marks: str) -> bool:
        """Pass a mark, if it is one of these."""
        if self.kind == "mark" and self.text in marks:
            self.advance()
            return True
        return False

    def at(self, closing: str) -> bool:
        """Return True if this token is the closing mark or, if `closing` is empty, the end of the text."""
        return self.kind == ("mark" if closing else "end") and self.text == closing

    def expect(self, kind: str, what: str) -> str:
        """Pass a token of a kind; its text."""
        if self.kind != kind:
            raise DecodeError(f"{what} is expected, and {self.text or 'the end'!r} found")
        return self.advance()


def _merge(tokens: _Tokens, message: Any, closing: str, depth: int) -> None:
    """Read fields until the closing mark, or the end of the text."""
    check_depth(depth, tokens.start)
    while not tokens.at(closing):
        field = message._field(tokens.expect("word", "the name of a field"))
        colon = tokens.take(":")
        if colon and field.repeated and tokens.take("["):
            while not tokens.take("]"):
                _value(tokens, message, field, depth)
                if not tokens.take(",") and tokens.text != "]":
                    raise DecodeError(f"a comma is expected, and {tokens.text!r} found")
        elif colon or isinstance(field, MapField | MessageField | RepeatedMessageField):
            _value(tokens, message, field, depth)
        else:
            raise DecodeError(f"a colon is expected after {field.name}")
        tokens.take(",", ";")
    if closing:
        tokens.advance()


def _value(tokens: _Tokens, message: Any, field: Field, depth: int) -> None:
    match field:
        case MapField():
            entry = field.new_entry()
            _merge(tokens, entry, _opened(tokens), depth + 1)
            field.take(message, entry)
        case MessageField():
            inner = field.value(message)
            inner.SetInParent()
            _merge(tokens, inner, _opened(tokens), depth + 1)
        case RepeatedMessageField():
            _merge(tokens, field.value(message).add(), _opened(tokens), depth + 1)
        case _:
            value = _parsed(tokens, field)
            field.fill(message, [value] if field.repeated else value)


def _opened(tokens: _Tokens) -> str:
    mark = tokens.expect("mark", "'{'")
    if mark not in _CLOSING:
        raise DecodeError(f"'{{' is expected, and {mark!r} found")
    return _CLOSING[mark]


def _parsed(tokens: _Tokens, field: Field) -> Any:
    """The next value, of a number, string or enum."""
    name = field.type.name
    if name in ("string", "bytes"):
        data = _unquoted(tokens.expect("string", "a string in quotes"))
        while tokens.kind == "string":
            data += _unquoted(tokens.advance())
        return data
    sign = "-" if tokens.take("-") else ""
    word = sign + tokens.expect("word", f"a value of type {name}")
    if name == "bool":
        if word not in _TRUE + _FALSE:
            raise DecodeError(f"{word!r} is neither true nor false")
        return word in _TRUE
    if "_" in word and field.enum is None:
        raise DecodeError(f"{word!r} is no number")
    if name in ("float", "double"):
        return float(_SUFFIX.sub("", word))
    if field.enum is not None and not word.lstrip("-").isdigit():
        return word
    octal = re.fullmatch(r"-?0[0-7]+", word)
    return int(word, 8 if octal else 0)


def _unquoted(text: str) -> bytes:
    def one(match: re.Match[bytes]) -> bytes:
        code = match[1]
        if code[:1].isdigit():
            return bytes([int(code, 8) & 0xFF])
        if len(code) > 1:
            number = int(code[1:], 16)
            return bytes([number]) if code[:1] in b"xX" else chr(number).encode()
        return _LETTERS.get(code, code)

    return _ESCAPE.sub(one, text[1:-1].encode("utf-8", "surrogateescape"))
