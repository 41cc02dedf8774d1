"""Lists and maps inside a message: they check what is put in, and tell the message that there is a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from staticgraph.formats.tf.messages.scalars import Scalar

Touch = Callable[[], None]


class Repeated(list):
    """The values of a repeated field: a list that takes only what the field's type takes."""

    __slots__ = ("_scalar", "_touch")

    def __init__(self, scalar: Scalar | None, touch: Touch) -> None:
        super().__init__()
        self._scalar = scalar
        self._touch = touch  # told of every addition

    def append(self, value: Any) -> None:
        super().append(self._taken([value])[0])
        self._touch()

    def extend(self, values: Iterable[Any]) -> None:
        super().extend(self._taken(values))
        self._touch()

    MergeFrom = extend

    def insert(self, index: Any, value: Any) -> None:
        super().insert(index, self._taken([value])[0])
        self._touch()

    def __setitem__(self, index: Any, value: Any) -> None:
        many = isinstance(index, slice)
        super().__setitem__(index, self._taken(value) if many else self._taken([value])[0])
        self._touch()

    def __iadd__(self, values: Iterable[Any]) -> Repeated:  # type: ignore[misc]
        self.extend(values)
        return self

    def __reduce__(self) -> Any:
        return list, (list(self),)

    def read(self, values: Iterable[Any]) -> None:
        """Take values that were checked already."""
        super().extend(values)
        self._touch()

    def _taken(self, values: Any) -> list[Any]:
        """Check the values that a user gives, and return those to store."""
        assert self._scalar is not None
        if isinstance(values, Repeated) and values._scalar is self._scalar:
            return list(values)
        return self._scalar.check_all(_iterable(values))


class RepeatedMessages(Repeated):
    """The messages of a repeated field. `append` and `extend` copy; `add` makes a new one in place."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[..., Any], touch: Touch) -> None:
        super().__init__(None, touch)
        self._make = make

    def add(self, **values: Any) -> Any:
        """A new message at the end."""
        made = self._make(**values)
        self.read([made])
        return made

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("a message in a repeated field is not assigned: change its fields, or use CopyFrom")

    def _taken(self, values: Any) -> list[Any]:
        return [self._copied(value) for value in _iterable(values)]

    def _copied(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._make(**value)
        made = self._make()
        made.MergeFrom(value)
        return made


class Map(dict):
    """The entries of a map field. A missing key gets the default, or an empty message, when it is read."""

    __slots__ = ("_key", "_taken", "_touch")

    def __init__(self, key: Callable[[Any], Any], taken: Callable[[Any], Any], touch: Touch) -> None:
        super().__init__()
        self._key = key
        self._taken = taken
        self._touch = touch

    def __missing__(self, key: Any) -> Any:
        made = self._taken(None)
        self.read(self._key(key), made)
        return made

    def __setitem__(self, key: Any, value: Any) -> None:
        self.read(self._key(key), self._taken(value))

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self and default is not None:
            self[key] = default
        return self[key]

    def update(self, *others: Any, **values: Any) -> None:
        for key, value in dict(*others, **values).items():
            self[key] = value

    MergeFrom = update

    def __ior__(self, other: Any) -> Map:  # type: ignore[misc]
        self.update(other)
        return self

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def read(self, key: Any, value: Any) -> None:
        """Take an entry that was checked already."""
        super().__setitem__(key, value)
        self._touch()


class MessageMap(Map):
    """A map to messages: `entries[key]` makes the message, `entries[key].CopyFrom(other)` fills it."""

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        raise ValueError("a message in a map is not assigned: write `entries[key].CopyFrom(message)`")

    def get_or_create(self, key: Any) -> Any:
        """The message of a key, made where it is missing."""
        return self[key]

    def update(self, *others: Any, **values: Any) -> None:
        for key, value in dict(*others, **values).items():
            self.read(self._key(key), self._taken(value))

    MergeFrom = update


def _iterable(values: Any) -> Iterable[Any]:
    if not isinstance(values, Iterable):
        raise TypeError(f"Value must be iterable, and {values!r} is not")
    return values
