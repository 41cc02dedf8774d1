"""The fields of a message: declared in its schema, reached as attributes, read and written as bytes.

A schema is text in the language of protocol buffers:

    string name = 1
    repeated NodeDef node = 2
    map<string, AttrValue> attr = 5
    enum DataType type = 6 in value         one of the fields `value`, of which at most one has a value
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from staticgraph.compiler.support.lazy_names import LazyTable
from staticgraph.formats.tf.messages import wire
from staticgraph.formats.tf.messages.containers import Map, MessageMap, Repeated, RepeatedMessages
from staticgraph.formats.tf.messages.index import SCHEMAS
from staticgraph.formats.tf.messages.scalars import SCALARS, Enum, Scalar

TYPES: LazyTable[Any] = LazyTable()  # messages and enums by name, nested ones as `Summary.Value`
TYPES.found_in("staticgraph.formats.tf.messages", SCHEMAS)
TYPES.found_in("staticgraph.formats.tf.messages", {"types": "DataType"})

_TYPE = r"(?:enum )?[\w.]+"
_LINE = re.compile(rf"(repeated )?(?:map<(\w+), ({_TYPE})>|({_TYPE})) (\w+) = (\d+)(?: in (\w+))?")


def _named(name: str) -> Any:
    """Return a message or an enum. The file that has the outermost message of the name is imported."""
    TYPES.get(name.partition(".")[0])
    return TYPES[name]


class Field:
    """One field. Its name, number and `oneof` group, and the type of its value."""

    __slots__ = ("name", "number", "oneof", "type_name", "_type")
    repeated = False

    def __init__(self, type_name: str, name: str, number: int, oneof: str = "") -> None:
        self.type_name = type_name
        self.name = name
        self.number = number
        self.oneof = oneof
        self._type: Any = None

    @property
    def type(self) -> Any:
        """The `Scalar`, or the class of the message. Known by name first: types refer to each other."""
        if self._type is None:
            kind = self.type_name
            self._type = _named(kind[5:]).scalar if kind.startswith("enum ") else SCALARS.get(kind)
            self._type = self._type or _named(kind)
        return self._type

    @property
    def enum(self) -> Enum | None:
        return _named(self.type_name[5:]) if self.type_name.startswith("enum ") else None

    def __get__(self, message: Any, cls: Any = None) -> Any:
        return self if message is None else self.value(message)

    def __set__(self, message: Any, value: Any) -> None:
        raise AttributeError(f"Assignment not allowed to field {self.name!r}: {self.cure}")

    cure = ""

    def value(self, message: Any) -> Any:
        """The value as an attribute."""
        found = message._values.get(self.name)
        if found is None:
            found = message._values[self.name] = self.empty(message)
        return found

    def empty(self, message: Any) -> Any:
        """Return the value of a field that is not set. It is empty, and tells `message` when it is filled."""
        raise NotImplementedError

    def is_set(self, message: Any) -> bool:
        """Return True if the field is set, and therefore written."""
        return bool(message._values.get(self.name))

    def fill(self, message: Any, value: Any) -> None:
        """Take a value given to the constructor, or that of the same field of another message."""
        raise NotImplementedError

    def encode(self, message: Any) -> bytes:
        """Tag and value, of a field that is set."""
        raise NotImplementedError

    def read(self, message: Any, kind: int, data: bytes, at: int, end: int, depth: int) -> int | None:
        """Take the value at `at`; where it ends, or None where its wire type is not this field's."""
        raise NotImplementedError


class ScalarField(Field):
    """A number, string or enum."""

    __slots__ = ()

    def __set__(self, message: Any, value: Any) -> None:
        self._keep(message, self.type.check(value))

    def value(self, message: Any) -> Any:
        return message._values.get(self.name, self.type.default)

    def is_set(self, message: Any) -> bool:
        return self.name in message._values

    fill = __set__

    def encode(self, message: Any) -> bytes:
        kind: Scalar = self.type
        return wire.encode_tag(self.number, kind.wire) + kind.encode(message._values[self.name])

    def read(self, message: Any, kind: int, data: bytes, at: int, end: int, depth: int) -> int | None:
        if kind != self.type.wire:
            return None
        value, at = self.type.read(data, at, end)
        self._keep(message, value)
        return at

    def _keep(self, message: Any, value: Any) -> None:
        message._changed(self)
        if self.oneof or not self.type.is_default(value):
            message._values[self.name] = value
        else:
            message._values.pop(self.name, None)


class MessageField(Field):
    """A message within the message. Reading it makes an empty one, which counts once something is put in."""

    __slots__ = ()
    cure = "change its fields, or use CopyFrom"

    def empty(self, message: Any) -> Any:
        return self.type._within(message, self)

    def is_set(self, message: Any) -> bool:
        found = message._values.get(self.name)
        return found is not None and found._present

    def fill(self, message: Any, value: Any) -> None:
        inner = self.value(message)
        inner.SetInParent()
        inner.MergeFrom(self.type(**value) if isinstance(value, dict) else value)

    def encode(self, message: Any) -> bytes:
        data = message._values[self.name].SerializeToString()
        return wire.encode_tag(self.number, wire.BYTES) + wire.encode_bytes(data)

    def read(self, message: Any, kind: int, data: bytes, at: int, end: int, depth: int) -> int | None:
        if kind != wire.BYTES:
            return None
        start, stop = wire.read_length(data, at, end)
        inner = self.value(message)
        inner.SetInParent()
        inner._read(data, start, stop, depth + 1)
        return stop


class RepeatedField(Field):
    """A list of numbers, strings or enums. Numbers are written without tags between them."""

    __slots__ = ()
    repeated = True
    cure = "use append, extend, or `field[:] = values`"

    def empty(self, message: Any) -> Repeated:
        return Repeated(self.type, message.SetInParent)

    def fill(self, message: Any, value: Any) -> None:
        self.value(message).extend(value)

    def encode(self, message: Any) -> bytes:
        kind: Scalar = self.type
        values = message._values[self.name]
        if kind.wire == wire.BYTES:
            tag = wire.encode_tag(self.number, wire.BYTES)
            return b"".join(tag + kind.encode(value) for value in values)
        return wire.encode_tag(self.number, wire.BYTES) + wire.encode_bytes(kind.encode_packed(values))

    def read(self, message: Any, kind: int, data: bytes, at: int, end: int, depth: int) -> int | None:
        if kind == self.type.wire:
            value, at = self.type.read(data, at, end)
            self.value(message).read([value])
            return at
        if kind != wire.BYTES:
            return None
        start, stop = wire.read_length(data, at, end)
        self.value(message).read(self.type.read_packed(data, start, stop))
        return stop


class RepeatedMessageField(Field):
    """A list of messages."""

    __slots__ = ()
    repeated = True
    cure = "use add, append or extend"

    def empty(self, message: Any) -> RepeatedMessages:
        return RepeatedMessages(self.type, message.SetInParent)

    def fill(self, message: Any, value: Any) -> None:
        self.value(message).extend(value)

    def encode(self, message: Any) -> bytes:
        tag = wire.encode_tag(self.number, wire.BYTES)
        inner = message._values[self.name]
        return b"".join(tag + wire.encode_bytes(one.SerializeToString()) for one in inner)

    def read(self, message: Any, kind: int, data: bytes, at: int, end: int, depth: int) -> int | None:
        if kind != wire.BYTES:
            return None
        start, stop = wire.read_length(data, at, end)
        self.value(message).add()._read(data, start, stop, depth + 1)
        return stop


class MapField(Field):
    """A map, written as messages of a key and a value, sorted by key."""

    __slots__ = ("key", "entry")
    repeated = True
    cure = "set its entries"

    def __init__(self, key: str, type_name: str, name: str, number: int) -> None:
        super().__init__(type_name, name, number)
        self.key = ScalarField(key, "key", 1)
        self.entry = _field(type_name, "value", 2)

    def empty(self, message: Any) -> Map:
        key = self.key.type.check
        if isinstance(self.entry, MessageField):
            return MessageMap(key, self._copied, message.SetInParent)
        return Map(key, self._checked, message.SetInParent)

    def fill(self, message: Any, value: Any) -> None:
        self.value(message).update(value)

    def encode(self, message: Any) -> bytes:
        tag = wire.encode_tag(self.number, wire.BYTES)
        entries = self.entries(message._values[self.name])
        return b"".join(tag + wire.encode_bytes(self.key.encode(e) + self.entry.encode(e)) for e in entries)

    def entries(self, values: Map) -> Iterator[MapEntry]:
        """The entries as messages of their own, sorted by key."""
        return (MapEntry(self, key, values[key]) for key in sorted(values))

    def new_entry(self) -> MapEntry:
        """An entry to be read into."""
        is_message = isinstance(self.entry, MessageField)
        return MapEntry(self, self.key.type.default, self.type() if is_message else self.type.default)

    def take(self, message: Any, entry: MapEntry) -> None:
        """Keep an entry that was read."""
        self.value(message).read(self.key.value(entry), self.entry.value(entry))

    def read(self, message: Any, kind: int, data: bytes, at: int, end: int, depth: int) -> int | None:
        if kind != wire.BYTES:
            return None
        at, stop = wire.read_length(data, at, end)
        wire.check_depth(depth + 1, at)
        entry = self.new_entry()
        while at < stop:
            number, kind, at = wire.read_tag(data, at, stop)
            field = {1: self.key, 2: self.entry}.get(number)
            after = field.read(entry, kind, data, at, stop, depth + 1) if field else None
            at = wire.skip(data, kind, number, at, stop, depth + 1) if after is None else after
        self.take(message, entry)
        return stop

    def _checked(self, value: Any) -> Any:
        return self.type.default if value is None else self.type.check(value)

    def _copied(self, value: Any) -> Any:
        made = self.type()
        if value is not None:
            made.MergeFrom(value)
        return made


class MapEntry:
    """An entry of a map, in the form of a message with the fields `key` and `value`."""

    __slots__ = ("_map", "_values")

    def __init__(self, map: MapField, key: Any, value: Any) -> None:
        self._map = map
        self._values = {"key": key, "value": value}

    def ListFields(self) -> list[tuple[Field, Any]]:
        """Key and value, though they be defaults."""
        return [(self._map.key, self._values["key"]), (self._map.entry, self._values["value"])]

    def _field(self, name: str) -> Field:
        if name not in ("key", "value"):
            raise ValueError(f"an entry of a map has a key and a value, and no {name!r}")
        return self._map.key if name == "key" else self._map.entry

    def _changed(self, field: Field) -> None:
        """Nothing above an entry waits to be told."""


def parse_schema(schema: str) -> Iterator[Field]:
    """The fields that a schema declares."""
    for line in filter(None, map(str.strip, schema.splitlines())):
        match = _LINE.fullmatch(line)
        assert match is not None, line
        repeated, key, value, single, name, number, oneof = match.groups()
        if key:
            yield MapField(key, value, name, int(number))
        else:
            yield _field(single, name, int(number), oneof or "", bool(repeated))


def _field(type_name: str, name: str, number: int, oneof: str = "", repeated: bool = False) -> Field:
    is_message = type_name not in SCALARS and not type_name.startswith("enum ")
    many, one = (RepeatedMessageField, MessageField) if is_message else (RepeatedField, ScalarField)
    return many(type_name, name, number) if repeated else one(type_name, name, number, oneof)
