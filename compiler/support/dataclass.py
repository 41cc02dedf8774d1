"""`dataclass` as in the standard library, for classes that are made sooner.

Python's own writes and compiles up to six functions for each class. Of all that an import of this package
takes, that was a third. Here classes share functions that go through their fields. What such a class is and
does is what `dataclasses` says: `field`, `fields`, `replace` and `asdict` are those of the standard library,
and type checkers see its `dataclass`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any


def _dataclass(cls: type | None = None, /, **options: bool) -> Any:
    """`dataclasses.dataclass`, with those of its options that `_made` has."""
    return _made(cls, **options) if cls is not None else lambda cls: _made(cls, **options)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass


def _made(
    cls: type,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,
    kw_only: bool = False,
    weakref_slot: bool = False,
) -> type:
    own = _SHARED & vars(cls).keys()
    if "__eq__" in own and cls.__hash__ is None:
        own.discard("__hash__")  # it is Python that put it there
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # otherwise a signature, which takes long
    make = dataclasses.dataclass(
        init=False, repr=False, eq=False, slots=slots, kw_only=kw_only, weakref_slot=weakref_slot
    )
    made: type = make(cls)
    every = fields(made)
    init = _init(made, every)
    given: dict[str, Any] = {"__init__": init, "__signature__": _Signature(made, init)}
    if repr:
        given["__repr__"] = _repr
    if eq:
        given |= _comparing(every)
    if eq and not frozen:
        given["__hash__"] = None
    if frozen:
        given |= _FROZEN
    for name, value in given.items():
        if name not in own:
            setattr(made, name, value)
    return made


def _init(cls: type, fields: Sequence[Field[Any]]) -> Callable[..., None]:
    places: list[str] = []
    named_only: list[str] = []
    defaults: dict[str, Any] = {}
    factories: list[tuple[str, Callable[[], Any]]] = []
    later: list[tuple[Callable[[Any, Any], None], Field[Any]]] = []
    for f in fields:
        if f.init:
            (named_only if f.kw_only else places).append(f.name)
            if f.default is not MISSING:
                defaults[f.name] = f.default
            elif f.default_factory is not MISSING:
                factories.append((f.name, f.default_factory))
        elif f.default is not f.default_factory:  # not both missing
            later.append((_put(cls, f.name), f))
    names = places + named_only
    puts = [_put(cls, name) for name in names]
    short, third = 2 <= len(puts) <= 3, len(puts) == 3
    put_first, put_second, put_last = (puts[0], puts[1], puts[-1]) if short else (_put_none,) * 3
    every = set(names)
    whole = -1 if named_only else len(names)  # arguments that are all values, in order
    more = bool(later) or hasattr(cls, "__post_init__")
    # By the number of arguments, the values of those that may be left out after them.
    ends = {n: tuple(map(defaults.get, names[n:])) for n in range(whole) if defaults.keys() >= {*names[n:]}}

    def completed(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        if not named and len(args) in ends:
            return args + ends[len(args)]
        given = defaults | dict(zip(places, args, strict=False)) | named
        for name, factory in factories:
            if name not in given:
                given[name] = factory()
        twice = args and named and not named.keys().isdisjoint(places[: len(args)])
        if twice or given.keys() != every or len(args) > len(places):
            raise _misuse(cls, args, named)
        return tuple(map(given.__getitem__, names))

    def __init__(self: Any, /, *args: Any, **named: Any) -> None:
        if named or len(args) != whole:
            args = completed(args, named)
        if short:  # the usual classes, without a loop
            put_first(self, args[0])
            put_second(self, args[1])
            if third:
                put_last(self, args[2])
        else:
            for place, put in enumerate(puts):  # sooner done than a `zip`
                put(self, args[place])
        if more:
            for put, field in later:
                put(self, _default(field))
            if hasattr(self, "__post_init__"):
                self.__post_init__()

    return __init__


def _misuse(cls: type, args: Sequence[Any], named: Mapping[str, Any]) -> TypeError:
    """Return the TypeError for a call of a class with wrong arguments, as Python words it for a function."""
    try:
        inspect.signature(cls).bind(*args, **named)
    except TypeError as error:
        return TypeError(f"{cls.__qualname__}(): {error}")
    raise AssertionError(cls, args, named)


def _put(cls: type, name: str) -> Callable[[Any, Any], None]:
    """Return a function that sets a field, even of a frozen object."""
    for each in cls.__mro__:
        if name in each.__dict__:
            found = each.__dict__[name]
            if isinstance(found, MemberDescriptorType):
                return found.__set__
            break
    return lambda self, value: object.__setattr__(self, name, value)


def _put_none(obj: Any, value: Any) -> None:
    raise AssertionError("a class without such fields")


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


class _Signature:
    """Descriptor of `__signature__`, which `inspect.signature` reads: computes the signature on access."""

    def __init__(self, cls: type, init: object) -> None:
        self._cls = cls
        self._init = init

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if instance is not None or inspect.getattr_static(owner, "__init__") is not self._init:
            raise AttributeError("__signature__")
        every = [f for f in fields(self._cls) if f.init]
        return inspect.Signature([_parameter(f) for f in sorted(every, key=lambda f: bool(f.kw_only))])


def _parameter(field: Field[Any]) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if field.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = field.default if field.default_factory is MISSING else ...
    if default is MISSING:
        default = inspect.Parameter.empty
    return inspect.Parameter(field.name, kind, default=default, annotation=field.type)


@recursive_repr()
def _repr(self: Any) -> str:
    told = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({told})"


def _comparing(fields: Sequence[Field[Any]]) -> dict[str, Any]:
    names = [f.name for f in fields if f.compare]
    key: Callable[[Any], Any] = attrgetter(*names) if names else lambda self: ()

    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is self.__class__:
            return key(self) == key(other)
        return NotImplemented

    def __hash__(self: Any) -> int:
        return hash(key(self))

    return {"__eq__": __eq__, "__hash__": __hash__}


def _refuse_set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def _restore(self: Any, state: Sequence[Any]) -> None:
    for f, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)


_FROZEN = {
    "__setattr__": _refuse_set,
    "__delattr__": _refuse_delete,
    "__getstate__": _state,
    "__setstate__": _restore,
}
_SHARED = {"__init__", "__signature__", "__repr__", "__eq__", "__hash__", *_FROZEN}
