"""Changes of a message in one place: a number, a list, a name, or a number inside of a tensor."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from staticgraph.formats.tf.messages.message import Message
from tests.audit.variants import INTEGERS, WORDS

NEAR = (0, 1, 2, 3, 5, 7, 16, 31)  # sizes


@dataclass(frozen=True, slots=True)
class _Place:
    """A value inside a message, and how another one is put there."""

    value: Any
    put: Callable[[Any], None]
    name: str = ""


def change(message: Any, chance: Random) -> None:
    """Change the message in one place: numbers and lists more often than words."""
    places = list(_places(message))
    weights = [_weight(p) for p in places]
    if not places:
        return
    place = chance.choices(places, weights)[0]
    try:
        place.put(_other(place.value, chance))
    except (TypeError, ValueError, OverflowError):  # a message that could not be written
        return


def _weight(place: _Place) -> int:
    match place.value:
        case bool():
            return 3
        case int() | float():
            return 6
        case bytes():
            return 8
        case str():
            return 1
    return 2


def _places(value: Any, put: Callable[[Any], None] | None = None) -> Iterator[_Place]:
    """Every value in a message or in JSON."""
    if isinstance(value, Message):
        for field, inner in value.ListFields():
            if isinstance(inner, Message):
                yield from _places(inner)
            elif isinstance(inner, dict):
                for key in list(inner):
                    if isinstance(inner[key], Message):
                        yield from _places(inner[key])
            elif field.repeated:
                yield _Place(list(inner), _fill(value, field.name))
                for n, item in enumerate(inner):
                    if isinstance(item, Message):
                        yield from _places(item)
                    else:
                        yield _Place(item, _set_item(inner, n))
            else:
                yield _Place(inner, _set_field(value, field.name))
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key in ("where", "device", "name", "trainable", "collections"):
                continue
            yield from _places(inner, _set_item(value, key))
    elif isinstance(value, list):
        if put is not None:
            yield _Place(value, put)
        for n, inner in enumerate(value):
            yield from _places(inner, _set_item(value, n))
    elif put is not None:
        yield _Place(value, put)


def _set_item(owner: Any, key: Any) -> Callable[[Any], None]:
    return lambda value: owner.__setitem__(key, value)


def _set_field(owner: Message, name: str) -> Callable[[Any], None]:
    return lambda value: setattr(owner, name, value)


def _fill(owner: Message, name: str) -> Callable[[Any], None]:
    def put(items: list[Any]) -> None:
        held = getattr(owner, name)
        copies = [type(i).FromString(i.SerializeToString()) if isinstance(i, Message) else i for i in items]
        owner.ClearField(name)
        getattr(owner, name).extend(copies)
        del held

    return put


def _other(value: Any, chance: Random) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return chance.choice([value + 1, value - 1, 2 * value, *NEAR, *NEAR, chance.choice(INTEGERS)])
        case float():
            return chance.choice([0.0, -1.0, 2 * value, float("nan"), float("inf"), 1e30])
        case bytes():
            return _other_bytes(value, chance)
        case str():
            if _is_base64(value) and chance.random() < 0.8:
                return base64.b64encode(_other_bytes(base64.b64decode(value), chance)).decode()
            return chance.choice([*WORDS, "x0:0", "x1:0", "x0", "x1", "int32", "float32", "int64", value])
        case list():
            items = list(value)
            match chance.randrange(5):
                case 0 if items:
                    del items[chance.randrange(len(items))]
                case 1 if items:
                    items.insert(chance.randrange(len(items) + 1), chance.choice(items))
                case 2:
                    chance.shuffle(items)
                case 3 if items:
                    items[chance.randrange(len(items))] = chance.choice(items)
                case _ if items and all(type(i) is int for i in items):
                    items.append(chance.choice(NEAR))
            return items
    return chance.choice([None, 0, 1, -1, [], "x"])


def _is_base64(text: str) -> bool:
    if len(text) < 4 or len(text) % 4:
        return False
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True


def _other_bytes(data: bytes, chance: Random) -> bytes:
    """The content of a tensor with another number in it, or words."""
    if len(data) >= 4 and chance.random() < 0.9:
        width = chance.choice([w for w in (4, 8) if len(data) % w == 0] or [4])
        place = chance.randrange(len(data) // width) * width
        number = chance.choice([*NEAR, *NEAR, -1, -2, chance.choice(INTEGERS)])
        word = (number % (1 << 8 * width)).to_bytes(width, "little")
        return data[:place] + word + data[place + width :]
    return chance.choice([b"", data[:-1], data * 2, *(w.encode() for w in WORDS)])
