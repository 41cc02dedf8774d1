"""Changes of the structure of a message: parts that repeat, move, nest or refer to each other in circles.

`changes.py` changes one value where it is. Here parts of a message take the place of others of their type:
a node that is there twice, one that reads itself, a function in place of another one, a subgraph in itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from staticgraph.formats.tf.messages.message import Message
from tests.fuzz_readers.changes import change

LIMITS = (-1, -2, 1 << 31, (1 << 31) - 1, 1 << 40, (1 << 62) + 1, (1 << 63) - 1, -(1 << 63), 1 << 20)
_MANY = 200
_REFERENCES = ("input", "control_input", "output", "ret", "control_ret")  # fields with names of others


def spliced(message: Message, seeds: Sequence[Message], chance: Random) -> Message:
    """A copy of a message, changed in a few ways, some with parts of other seeds."""
    made = copied(message)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        kind: Callable[[Message, Sequence[Message], Random], None] = chance.choice(_KINDS)
        try:
            kind(made, seeds, chance)
        except (
            TypeError,
            ValueError,
            OverflowError,
            LookupError,
            AttributeError,
        ):  # nothing of that kind is in it
            change(made, chance)
    return made


def copied(message: Message) -> Any:
    """A message of the same content."""
    return type(message).FromString(message.SerializeToString())


def parts_of(message: Message) -> Iterator[tuple[Message, Any, list[Any]]]:
    """Every repeated field in a message, as its owner, the field and a copy of its items."""
    for field, inner in message.ListFields():
        if isinstance(inner, dict):
            for value in inner.values():
                if isinstance(value, Message):
                    yield from parts_of(value)
        elif field.repeated:
            yield message, field, list(inner)
            for item in inner:
                if isinstance(item, Message):
                    yield from parts_of(item)
        elif isinstance(inner, Message):
            yield from parts_of(inner)


def messages_of(message: Message) -> Iterator[Message]:
    """A message and all inside."""
    yield message
    for field, inner in message.ListFields():
        for each in inner.values() if isinstance(inner, dict) else inner if field.repeated else [inner]:
            if isinstance(each, Message):
                yield from messages_of(each)


def _fill(owner: Message, name: str, items: Sequence[Any]) -> None:
    copies = [copied(i) if isinstance(i, Message) else i for i in items]
    owner.ClearField(name)
    getattr(owner, name).extend(copies)


def _repeat(message: Message, seeds: Sequence[Message], chance: Random) -> None:
    owner, field, items = chance.choice(list(parts_of(message)))
    at = chance.randrange(len(items))
    _fill(owner, field.name, items[:at] + [items[at]] * chance.choice((2, 3, _MANY)) + items[at + 1 :])


def _drop(message: Message, seeds: Sequence[Message], chance: Random) -> None:
    owner, field, items = chance.choice(list(parts_of(message)))
    at = chance.randrange(len(items))
    _fill(owner, field.name, items[:at] + items[at + chance.choice((1, 1, 3)) :])


def _reverse(message: Message, seeds: Sequence[Message], chance: Random) -> None:
    owner, field, items = chance.choice([p for p in parts_of(message) if len(p[2]) > 1])
    _fill(owner, field.name, items[::-1])


def _refer(message: Message, seeds: Sequence[Message], chance: Random) -> None:
    """Let a part read itself, one that comes later, or an output that is not there."""
    found = [p for p in parts_of(message) if p[1].name in _REFERENCES and isinstance(p[2][0], str)]
    owner, field, items = chance.choice(found)
    name = getattr(chance.choice([o for o, _, _ in found]), "name", "") or chance.choice(
        chance.choice(found)[2]
    )
    items[chance.randrange(len(items))] = chance.choice(
        (name, f"^{name}", f"{name}:1", f"{name}:999999999999")
    )
    _fill(owner, field.name, items)


def _exchange(message: Message, seeds: Sequence[Message], chance: Random) -> None:
    """Put a part of a seed in place of another one of its type."""
    others = [m for seed in (message, chance.choice(seeds)) for m in messages_of(seed)]
    one = chance.choice(list(messages_of(message))[1:])
    other = copied(chance.choice([m for m in others if type(m) is type(one) and m is not one]))
    one.Clear()
    one.MergeFrom(other)


def _nest(message: Message, seeds: Sequence[Message], chance: Random) -> None:
    """Put a message into itself, many times."""
    whole = list(messages_of(message))
    inside = [(a, b) for a in whole for b in messages_of(a) if b is not a and type(b) is type(a)]
    outer, inner = chance.choice(inside)
    for _ in range(chance.choice((1, 3, 5))):
        inner.Clear()
        inner.MergeFrom(copied(outer))
        inner = chance.choice([m for m in messages_of(inner) if type(m) is type(inner)])


def _limit(message: Message, seeds: Sequence[Message], chance: Random) -> None:
    """Put a number at the end of its range, or far beyond what there is."""
    places: list[Callable[[Any], Any]] = []
    for each in messages_of(message):
        for field, inner in each.ListFields():
            if type(inner) is int:
                places.append(lambda value, each=each, name=field.name: setattr(each, name, value))
            elif field.repeated and not isinstance(inner, dict) and type(inner[0]) is int:
                places.append(lambda value, inner=inner: inner.__setitem__(0, value))
    chance.choice(places)(chance.choice(LIMITS))


def _rename(message: Message, seeds: Sequence[Message], chance: Random) -> None:
    """Give a part the name or the kind of another one."""
    named = [
        (m, k) for m in messages_of(message) for k in ("name", "op", "op_type", "s") if getattr(m, k, None)
    ]
    one, key = chance.choice(named)
    setattr(one, key, getattr(*chance.choice([n for n in named if n[1] == key])))


_KINDS = (_repeat, _drop, _reverse, _refer, _exchange, _nest, _limit, _limit, _rename)
