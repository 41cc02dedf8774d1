"""The base of all messages: records of fields that protocol buffers can read and write.

    class Point(Message):
        schema = '''
            double x = 1
            double y = 2
        '''

Names and behaviour are those of Google's `protobuf` for Python, as TensorFlow 1.15's programs use it.
"""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.support.forks import brief
from staticgraph.compiler.support.gc_pause import collector_paused
from staticgraph.formats.tf.messages import text_format, wire
from staticgraph.formats.tf.messages.fields import (
    TYPES,
    Field,
    MessageField,
    Reader,
    parse_schema,
    read_fields,
)
from staticgraph.formats.tf.messages.scalars import Enum

_LARGE = 100_000  # bytes, of which many messages are made at once
_decoding = brief(threading.RLock())


class UnknownFieldError(ValueError, AttributeError):
    """A message has no field of that name."""


class Message:
    """A record with the fields that its schema declares.

    Fields are attributes. A number or a string that was not given reads as its default, and a message or a
    list as an empty one. A name that the schema does not have is an UnknownFieldError.

    >>> from staticgraph.messages import Example, Feature, Features, Int64List
    >>> label = Feature(int64_list=Int64List(value=[3]))
    >>> example = Example(features=Features(feature={"label": label}))
    >>> Example.FromString(example.SerializeToString()).features.feature["label"].int64_list.value
    [3]
    """

    __slots__ = ("_values", "_present", "_owner", "_unknown", "_encoded")
    package: ClassVar[str] = ""  # before the name in schemas, as in `onnx.TensorProto`
    schema: ClassVar[str] = ""
    _fields: ClassVar[dict[str, Field]] = {}
    _readers: ClassVar[dict[int, Reader]] = {}
    _oneofs: ClassVar[dict[str, tuple[Field, ...]]] = {}

    def __init_subclass__(cls) -> None:
        declared = sorted(parse_schema(cls.schema), key=lambda field: field.number)
        cls._fields = {field.name: field for field in declared}
        cls._readers = {tag: read for field in declared for tag, read in field.readers().items()}
        groups = dict.fromkeys(field.oneof for field in declared if field.oneof)
        cls._oneofs = {group: tuple(f for f in declared if f.oneof == group) for group in groups}
        full_name = f"{cls.package}.{cls.__qualname__}".removeprefix(".")
        TYPES[full_name] = cls
        for field in declared:
            setattr(cls, field.name, field)
        for name, nested in list(vars(cls).items()):
            if isinstance(nested, Enum):
                TYPES[f"{full_name}.{name}"] = nested
                for key, number in nested.items():
                    setattr(cls, key, number)

    def __init__(self, **values: Any) -> None:
        self._begin(None, True)
        for name, value in values.items():
            field = self._field(name)
            if value is not None:
                field.fill(self, value)

    if TYPE_CHECKING:
        _values: dict[str, Any]
        _owner: tuple[Message, Field] | None
        _present: bool
        _unknown: bytes | bytearray
        _encoded: bytes | None

    def __getattr__(self, name: str) -> Any:
        """Decode what is still bytes, when its values are asked for."""
        if name not in ("_values", "_unknown"):
            raise AttributeError(f"{type(self).__qualname__!r} object has no attribute {name!r}")
        with _decoding:
            if self._encoded is not None:
                made, keep = type(self).FromString(self._encoded), object.__setattr__
                keep(self, "_unknown", made._unknown)
                keep(self, "_values", made._values)  # all at once: other threads may read this message, too
                keep(self, "_encoded", None)
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._fields and name not in Message.__slots__:
            raise self._unknown_field(name)
        object.__setattr__(self, name, value)

    def _begin(self, owner: tuple[Message, Field] | None, present: bool) -> None:
        """Be empty. The slots are set past `__setattr__`, which is for users."""
        keep = object.__setattr__
        keep(self, "_values", {})  # what was given, and what stands for messages and lists that were not
        keep(self, "_owner", owner)  # the message that this one is a field of
        keep(self, "_present", present)  # whether this one counts there: something was put in
        keep(self, "_unknown", b"")  # fields that the schema does not have, as they came
        keep(self, "_encoded", None)  # instead of values and unknown fields, until they are asked for: bytes

    @classmethod
    def _encoded_as(cls, data: bytes) -> Self:
        """Return the message of bytes that are known to be one, in the form in which it is written."""
        made, keep = cls.__new__(cls), object.__setattr__
        keep(made, "_owner", None)
        keep(made, "_present", True)
        keep(made, "_encoded", data)
        return made

    @classmethod
    def _within(cls, message: Message, field: Field) -> Self:
        """An empty message that stands for a field of another one."""
        made = cls.__new__(cls)
        made._begin((message, field), False)
        return made

    def _changed(self, field: Field) -> None:
        """A field is being given a value: no other of its group keeps one, and this message counts."""
        if field.oneof:
            for name in [n for n in self._values if n != field.name and self._fields[n].oneof == field.oneof]:
                self._drop(name)
        self.SetInParent()

    def SetInParent(self) -> None:
        """Make this message, though it may be empty, count as a value of the field that it is."""
        if not self._present:
            self._present = True
            if self._owner is not None:
                message, field = self._owner
                message._changed(field)

    def _drop(self, name: str) -> None:
        value = self._values.pop(name)
        if isinstance(value, Message):
            value._owner = None

    def HasField(self, field_name: str) -> bool:
        """Return True if a message field, a oneof, or a field of a oneof has a value.

        Raises:
            ValueError: If `field_name` is another field, that is a plain value or a list.
        """
        if field_name in self._oneofs:
            return self.WhichOneof(field_name) is not None
        field = self._field(field_name)
        if not isinstance(field, MessageField) and not field.oneof:
            kind = "a list" if field.repeated else "a plain value"
            raise ValueError(
                f"{type(self).__qualname__}.{field_name} is {kind}: it cannot be asked for presence"
            )
        return field.is_set(self)

    def WhichOneof(self, oneof_group: str) -> str | None:
        """The field of a group that has a value, or None."""
        if oneof_group not in self._oneofs:
            raise ValueError(f"{type(self).__qualname__} has no group of fields {oneof_group!r}")
        return next((field.name for field in self._oneofs[oneof_group] if field.is_set(self)), None)

    def ListFields(self) -> list[tuple[Field, Any]]:
        """The fields that have a value, and what it is, by number."""
        given = self._values
        return [(field, given[n]) for n, field in self._fields.items() if n in given and field.is_set(self)]

    def ClearField(self, field_name: str) -> None:
        """Make a field, or all of a group, have no value."""
        for field in self._oneofs.get(field_name) or (self._field(field_name),):
            if field.name in self._values:
                self._drop(field.name)
        self.SetInParent()

    def Clear(self) -> None:
        """Make all fields have no value."""
        for name in list(self._values):
            self._drop(name)
        self._unknown = b""
        self.SetInParent()

    def MergeFrom(self, other: Message) -> None:
        """Take over the values that another message has: lists are appended, messages merged."""
        if type(other) is not type(self):
            expected, got = type(self).__qualname__, type(other).__qualname__
            raise TypeError(f"a {expected} takes over the fields of another {expected}, and not of a {got}")
        if other._encoded is not None and self._encoded is None and not self._values and not self._unknown:
            del self._values, self._unknown
            self._encoded = other._encoded
        else:
            for field, value in other.ListFields():
                field.fill(self, value)
            self._keep_unknown(other._unknown)
        self.SetInParent()

    def CopyFrom(self, other: Message) -> None:
        """Become equal to another message."""
        if other is not self:
            if type(other) is type(self):
                self.Clear()
            self.MergeFrom(other)

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """The message as bytes, fields by number and map entries by key, whatever `deterministic`."""
        if self._encoded is not None:
            return self._encoded
        return b"".join([*(field.encode(value) for field, value in self.ListFields()), self._unknown])

    SerializePartialToString = SerializeToString

    def ByteSize(self) -> int:
        return len(self.SerializeToString())

    def MergeFromString(self, serialized: bytes) -> int:
        """Take over the values in bytes; returns their number. DecodeError if they are no such message."""
        data = bytes(serialized)
        self.SetInParent()
        try:
            with collector_paused() if len(data) > _LARGE else nullcontext():
                self._read(data, 0, len(data), 0)
        except wire.DecodeError as error:
            message = f"these {len(data)} bytes are no {type(self).__qualname__}: {error}"
            raise misuse(wire.DecodeError, message) from None
        return len(data)

    def ParseFromString(self, serialized: bytes) -> int:
        """Become the message that bytes hold; returns their number. DecodeError if they hold none."""
        self.Clear()
        return self.MergeFromString(serialized)

    @classmethod
    def FromString(cls, s: bytes) -> Self:
        """The message that bytes hold. DecodeError if they hold none."""
        made = cls()
        made.MergeFromString(s)
        return made

    def _read(self, data: bytes, at: int, end: int, depth: int) -> None:
        read_fields(self, self._readers, data, at, end, depth)

    def _keep_unknown(self, data: bytes | bytearray) -> None:
        if data:
            kept = self._unknown if isinstance(self._unknown, bytearray) else bytearray()
            kept += data  # in place: a file may have very many of them
            self._unknown = kept

    def DiscardUnknownFields(self) -> None:
        """Forget the fields that the schema does not have, here and in all messages within."""
        for field, value in self.ListFields():
            inner = value.values() if isinstance(value, dict) else value if field.repeated else [value]
            for message in inner:
                if isinstance(message, Message):
                    message.DiscardUnknownFields()
        self._unknown = b""

    def IsInitialized(self) -> bool:
        """True: no field is required."""
        return True

    def __str__(self) -> str:
        return text_format.MessageToString(self)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Message)
        same = [(field.name, value) for field, value in self.ListFields()]
        return self._unknown == other._unknown and same == [
            (f.name, value) for f, value in other.ListFields()
        ]

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).FromString, (self.SerializeToString(),)

    @classmethod
    def _field(cls, name: str) -> Field:
        if name not in cls._fields:
            raise cls._unknown_field(name)
        return cls._fields[name]

    @classmethod
    def _unknown_field(cls, name: str) -> UnknownFieldError:
        message = f"{cls.__qualname__} has no field {name!r}"
        return misuse(UnknownFieldError, message, f"fields: {', '.join(sorted(cls._fields))}")


Kind = TypeVar("Kind", bound=Message)


def unchecked(kind: type[Kind], **values: Any) -> Kind:
    """Make a message, quickly, of values that need no check. Empty ones count as not given.

    >>> from staticgraph.messages import NodeDef
    >>> print(unchecked(NodeDef, name="x", op="Placeholder"), end="")
    name: "x"
    op: "Placeholder"
    """
    fields = kind._fields
    return kind._encoded_as(b"".join([fields[n].encode(values[n]) for n in fields if values.get(n)]))
