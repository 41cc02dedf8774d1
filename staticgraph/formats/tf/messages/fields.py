"""The fields of a message: declared in its schema, reached as attributes, read and written as bytes.

A schema has a line for each field of a `.proto` file, and tells also what is an enum or in a `oneof`:

    string name = 1
    repeated NodeDef node = 2
    map<string, AttrValue> attr = 5
    enum DataType type = 6 in value         one of the fields `value`, of which at most one has a value
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from staticgraph.compiler.support.lazy_names import LazyTable
from staticgraph.formats.tf.messages import wire
from staticgraph.formats.tf.messages.containers import Map, MessageMap, Repeated, RepeatedMessages
from staticgraph.formats.tf.messages.index import SCHEMAS
from staticgraph.formats.tf.messages.scalars import SCALARS, Enum

TYPES: LazyTable[Any] = LazyTable()  # messages and enums by name, nested ones as `Summary.Value`
TYPES.found_in("staticgraph.formats.tf.messages", SCHEMAS)
TYPES.found_in("staticgraph.formats.tf.messages", {"types": "DataType"})

Reader = Callable[[Any, bytes, int, int, int], int]  # of a field: message, data, at, end, depth -> its end

_SHORT = 64  # bytes of entries of maps that are cached
_MOST_SEEN = 4096  # entries in the cache of a map
_TYPE = r"(?:enum )?[\w.]+"
_LINE = re.compile(rf"(repeated )?(?:map<(\w+), ({_TYPE})>|({_TYPE})) (\w+) = (\d+)(?: in (\w+))?")


def _named(name: str) -> Any:
    """Return a message or an enum. The file that has the outermost message of the name is imported."""
    TYPES.get(name.partition(".")[0])
    return TYPES[name]


class Field:
    """One field. Its name, number and `oneof` group, and the type of its value."""

    __slots__ = ("name", "number", "oneof", "type_name", "tag", "type")
    repeated = False
    type: Any  # the `Scalar`, or the class of the message

    def __init__(self, type_name: str, name: str, number: int, oneof: str = "") -> None:
        self.type_name = type_name
        self.name = name
        self.number = number
        self.oneof = oneof
        self.tag = wire.encode_tag(number, self._wire)  # before the value

    def __getattr__(self, name: str) -> Any:
        """Find the type, when it is first asked for: types refer to each other."""
        if name != "type":
            raise AttributeError(name)
        kind = self.type_name
        self.type = self.enum.scalar if self.enum is not None else SCALARS.get(kind) or _named(kind)
        return self.type

    @property
    def _wire(self) -> int:
        return wire.BYTES

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

    def encode(self, value: Any) -> bytes:
        """Tag and value. A list or a map has a tag for each element, unless it is of numbers."""
        raise NotImplementedError

    def readers(self) -> dict[int, Reader]:
        """Functions that read the field, by the number before its value."""
        return {self.number << 3 | self._wire: self.read}

    def read(self, message: Any, data: bytes, at: int, end: int, depth: int) -> int:
        """Take the value at `at`; where it ends. The message is one that counts already."""
        raise NotImplementedError


def _wire_of(type_name: str) -> int:
    """The wire type of a number, a string or an enum."""
    return SCALARS[type_name].wire if type_name in SCALARS else wire.VARINT


class ScalarField(Field):
    """A number, string or enum."""

    __slots__ = ()

    @property
    def _wire(self) -> int:
        return _wire_of(self.type_name)

    def __set__(self, message: Any, value: Any) -> None:
        self._keep(message, self.type.check(value))
        message._changed(self)

    def __get__(self, message: Any, cls: Any = None) -> Any:
        return self if message is None else message._values.get(self.name, self.type.default)

    def value(self, message: Any) -> Any:
        return message._values.get(self.name, self.type.default)

    def is_set(self, message: Any) -> bool:
        return self.name in message._values

    fill = __set__

    def encode(self, value: Any) -> bytes:
        return self.tag + self.type.encode(value)

    def read(self, message: Any, data: bytes, at: int, end: int, depth: int) -> int:
        value, at = self.type.read(data, at, end)
        self._keep(message, value)
        if self.oneof:
            message._changed(self)
        return at

    def _keep(self, message: Any, value: Any) -> None:
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

    def encode(self, value: Any) -> bytes:
        return self.tag + wire.encode_bytes(value.SerializeToString())

    def read(self, message: Any, data: bytes, at: int, end: int, depth: int) -> int:
        at, stop = wire.read_length(data, at, end)
        inner = self.value(message)
        inner.SetInParent()
        inner._read(data, at, stop, depth + 1)
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

    def encode(self, value: Any) -> bytes:
        kind = self.type
        if kind.wire == wire.BYTES:
            return b"".join([self.tag + kind.encode(each) for each in value])
        return self.tag + wire.encode_bytes(kind.encode_packed(value))

    def readers(self) -> dict[int, Reader]:
        found: dict[int, Reader] = {self.number << 3 | wire.BYTES: self._read_packed}
        found[self.number << 3 | _wire_of(self.type_name)] = self.read
        return found

    def read(self, message: Any, data: bytes, at: int, end: int, depth: int) -> int:
        value, at = self.type.read(data, at, end)
        list.append(self.value(message), value)
        return at

    def _read_packed(self, message: Any, data: bytes, at: int, end: int, depth: int) -> int:
        at, stop = wire.read_length(data, at, end)
        list.extend(self.value(message), self.type.read_packed(data, at, stop))
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

    def encode(self, value: Any) -> bytes:
        return b"".join([self.tag + wire.encode_bytes(each.SerializeToString()) for each in value])

    def read(self, message: Any, data: bytes, at: int, end: int, depth: int) -> int:
        at, stop = wire.read_length(data, at, end)
        made = self.type()
        list.append(self.value(message), made)
        made._read(data, at, stop, depth + 1)
        return stop


class MapField(Field):
    """A map, written as messages of a key and a value, sorted by key."""

    __slots__ = ("key", "entry", "_entry_readers", "_seen")
    repeated = True
    cure = "set its entries"

    def __init__(self, key: str, type_name: str, name: str, number: int) -> None:
        super().__init__(type_name, name, number)
        self.key = ScalarField(key, "key", 1)
        self.entry = _field(type_name, "value", 2)
        self._entry_readers = self.key.readers() | self.entry.readers()
        # A cache of entries, as the nodes of a graph have the same few over and over. The second time that an
        # entry is read, its key and its message are kept.
        self._seen: dict[bytes, tuple[Any, bytes] | None] = {}

    def empty(self, message: Any) -> Map:
        key = self.key.type.check
        if isinstance(self.entry, MessageField):
            return MessageMap(key, self._copied, message.SetInParent)
        return Map(key, self._checked, message.SetInParent)

    def fill(self, message: Any, value: Any) -> None:
        self.value(message).update(value)

    def encode(self, value: Any) -> bytes:
        entries = [self.key.encode(key) + self.entry.encode(value[key]) for key in sorted(value)]
        return b"".join([self.tag + wire.encode_bytes(entry) for entry in entries])

    def entries(self, values: Map) -> Iterator[MapEntry]:
        """The entries as messages of their own, sorted by key."""
        return (MapEntry(self, key, values[key]) for key in sorted(values))

    def new_entry(self) -> MapEntry:
        """An entry to be read into."""
        is_message = isinstance(self.entry, MessageField)
        return MapEntry(self, self.key.type.default, self.type() if is_message else self.type.default)

    def take(self, message: Any, entry: MapEntry) -> tuple[Any, Any]:
        """Keep an entry that was read; its key and value."""
        found = self.key.value(entry), self.entry.value(entry)
        self.value(message).read(*found)
        return found

    def read(self, message: Any, data: bytes, at: int, end: int, depth: int) -> int:
        at, stop = wire.read_length(data, at, end)
        # An entry nests less deeply than it has bytes, so one that was accepted elsewhere is accepted here.
        is_short = stop - at <= _SHORT and depth < wire.MAX_DEPTH - _SHORT
        told = data[at:stop] if is_short and isinstance(self.entry, MessageField) else b""
        found = self._seen.get(told)
        if found is not None:
            dict.__setitem__(self.value(message), found[0], self.type._encoded_as(found[1]))
            return stop
        entry = self.new_entry()
        read_fields(entry, self._entry_readers, data, at, stop, depth + 1)
        key, value = self.take(message, entry)
        if told:
            if len(self._seen) > _MOST_SEEN:
                self._seen.clear()
            self._seen[told] = (key, value.SerializeToString()) if told in self._seen else None
        return stop

    def _checked(self, value: Any) -> Any:
        return self.type.default if value is None else self.type.check(value)

    def _copied(self, value: Any) -> Any:
        made = self.type()
        if value is not None:
            made.MergeFrom(value)
        return made


def read_fields(
    message: Any, readers: Mapping[int, Reader], data: bytes, at: int, end: int, depth: int
) -> None:
    """Read the fields between two positions into `message`, which gets the bytes of those of no reader."""
    wire.check_depth(depth, at)
    while at < end:
        start = at
        tag, at = wire.read_varint(data, at, end)
        read = readers.get(tag)
        if read is not None:
            at = read(message, data, at, end, depth)
        else:
            number, kind, at = wire.read_tag(data, start, end)
            at = wire.skip(data, kind, number, at, end, depth)
            message._keep_unknown(data[start:at])


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

    def _keep_unknown(self, data: bytes) -> None:
        """Forget what is neither the key nor the value."""


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
