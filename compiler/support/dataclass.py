"""`dataclass` and `cached_property` as in the standard library, for classes that are made sooner.

Python's own writes and compiles up to six functions for each class and makes an object of each field. Of all
that an import of this package took, that was a third. Here classes share functions that go through their
fields, `__init__` is made with the first object, and fields get their objects when somebody asks. What such a
class is and does is what `dataclasses` says: `field`, `fields`, `replace` and `asdict` are those of the
standard library, and type checkers see its `dataclass`. Code that makes very many copies uses `replace` of
this module, which is sooner done.

`cached_property` here has no lock. That of the standard library holds one in Python 3.11 while it computes,
and a process that is forked at that moment would never get it. Two threads may compute the same value; the
last one stays.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import cache, partial
from itertools import count, filterfalse
from operator import attrgetter
from reprlib import recursive_repr
from types import CellType, CodeType, FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

# A field: its annotation, what the class says of it (a default, `field(...)` or MISSING), if it has no place
_Row: TypeAlias = tuple[Any, Any, bool]
_Put: TypeAlias = Callable[[Any, Any], None]


def _replace(record: Any, /, **changes: Any) -> Any:
    """`dataclasses.replace`, in less time for classes whose arguments are all values in order."""
    cls = record.__class__
    values_of = getattr(cls, "__values__", None)
    if values_of is None:
        return dataclasses.replace(record, **changes)
    values, places = [*values_of(record)], cls.__places__
    for name, value in changes.items():
        if name not in places:
            return cls(**dict(zip(places, values, strict=True)), **changes)  # which tells that it is no field
        values[places[name]] = value
    return cls(*values)


if TYPE_CHECKING:
    from dataclasses import replace as replace
else:
    replace = _replace


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
    own = _SHARED & cls.__dict__.keys()
    if "__eq__" in own and cls.__hash__ is None:
        own.discard("__hash__")  # it is Python that put it there
    rows = _Fields()
    slots_of_bases: set[str] = set()
    for base in cls.__mro__[-1:0:-1]:
        slots_of_bases.update(base.__dict__.get("__slots__", ()))
        described = base.__dict__.get("__dataclass_fields__")
        if described is not None:
            rows |= described if described.__class__ is _Fields else _rows(described)
    for name, annotation in cls.__annotations__.items():
        text = annotation.__class__ is str
        if ("ClassVar" in annotation) if text else getattr(annotation, "__origin__", annotation) is ClassVar:
            continue
        given = cls.__dict__.get(name, MISSING)
        named = kw_only
        if given.__class__ is Field:
            named = given.kw_only = kw_only if given.kw_only is MISSING else given.kw_only
            if given.default is not MISSING:
                setattr(cls, name, given.default)
            else:
                delattr(cls, name)
        elif given.__class__.__hash__ is None:
            raise ValueError(f"{cls.__qualname__}.{name}: a default that can change needs a default_factory")
        rows[name] = (annotation, given, named)
    places, compared = [], []
    for name, (_, given, named) in rows.items():
        described = given.__class__ is Field
        if not named and (not described or given.init):
            places.append(name)
        if not described or given.compare:
            compared.append(name)

    def __init__(self: Any, /, *args: Any, **named: Any) -> None:
        init = _init(made, rows)
        type.__setattr__(made, "__init__", init)  # from the first object on
        init(self, *args, **named)

    members = _shared_methods(frozen, eq, repr) | {"__init__": __init__, "__dataclass_fields__": rows}
    members |= {"__match_args__": tuple(places), "__places__": dict(zip(places, count(), strict=False))}
    members["__values__"] = attrgetter(*places) if len(places) == len(rows) > 1 else None
    if eq:
        members["__compared__"] = attrgetter(*(compared or ["__class__"]))  # without fields, all are equal
    for name in own:
        members.pop(name, None)
    members["__doc__"] = cls.__doc__ or cls.__name__
    made = cls
    if slots:  # they are declared before a class is made: it is made once more
        space = {**cls.__dict__, **members, "__qualname__": cls.__qualname__}
        for name in (*rows, "__dict__", "__weakref__"):
            space.pop(name, None)
        every = [*rows, "__weakref__"] if weakref_slot else rows
        space["__slots__"] = tuple(filterfalse(slots_of_bases.__contains__, every))
        made = type(cls)(cls.__name__, cls.__bases__, space)
    else:
        for name, value in members.items():
            setattr(cls, name, value)
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = partial(partial, _made)  # always with parentheses: `@dataclass(frozen=True)`


@cache
def _shared_methods(frozen: bool, eq: bool, repr: bool) -> dict[str, Any]:
    """Return the members that all classes with these options share."""
    members: dict[str, Any] = {"__signature__": _SIGNATURE}
    if repr:
        members["__repr__"] = _repr
    if eq:
        members |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
    return members | _FROZEN if frozen else members


class _Fields(dict[str, _Row]):
    """Descriptor of `__dataclass_fields__`, which the standard library reads: describes them on access."""

    __slots__ = ()

    def __get__(self, instance: object, owner: type) -> dict[str, Field[Any]]:
        """Return the fields as the standard library has them, from now on an attribute of the class."""
        found: dict[str, Field[Any]] = {}
        for name, (annotation, given, named) in self.items():
            field = found[name] = given if given.__class__ is Field else object.__new__(Field)
            for slot in _HIDDEN if field is given else Field.__slots__:
                setattr(field, slot, getattr(_PLAIN, slot))
            field.name, field.type, field.kw_only = name, annotation, named
            if field is not given:
                field.default = given
        for cls in owner.__mro__:
            if vars(cls).get("__dataclass_fields__") is self:
                type.__setattr__(cls, "__dataclass_fields__", found)
        return found


@dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False)
class _Plain:
    field: Any


_PLAIN = fields(_Plain)[0]  # the standard library's record of a field without a default
_HIDDEN = [name for name in Field.__slots__ if name.startswith("_")]
_FEW = 8  # fields of a class: most have fewer. Code is compiled for each number of them


def _rows(fields: Mapping[str, Field[Any]]) -> dict[str, _Row]:
    return {name: (field.type, field, bool(field.kw_only)) for name, field in fields.items()}


def _init(cls: type, rows: Mapping[str, _Row]) -> Callable[..., None]:
    places: list[str] = []
    named_only: list[str] = []
    defaults: dict[str, Any] = {}
    factories: list[tuple[str, Callable[[], Any]]] = []
    later: list[tuple[_Put, Field[Any]]] = []
    put_by_name: dict[str, _Put] = {}
    in_dict = bool(rows)  # all fields
    for name, (_, given, named) in rows.items():
        slot: Any = getattr(cls, name, None)
        is_slot = slot.__class__ is MemberDescriptorType
        in_dict = in_dict and not is_slot
        put_by_name[name] = slot.__set__ if is_slot else _put(name)
        field = given if given.__class__ is Field else None
        default, factory = (given, MISSING) if field is None else (field.default, field.default_factory)
        if field is None or field.init:
            (named_only if named else places).append(name)
            if default is not MISSING:
                defaults[name] = default
            elif factory is not MISSING:
                factories.append((name, factory))
        elif default is not factory:  # not both missing
            later.append((put_by_name[name], field))
    names = places + named_only
    puts = [*map(put_by_name.__getitem__, names)]
    whole = -1 if named_only else len(names)  # arguments that are all values, in order
    more = bool(later) or hasattr(cls, "__post_init__")
    if 0 < whole <= _FEW and not more and not in_dict and not factories:
        code = _code_of_init(whole)
        code = code.replace(co_varnames=("self", *names), co_qualname=f"{cls.__qualname__}.__init__")
        ends_with = tuple(map(defaults.__getitem__, names[whole - len(defaults) :]))
        return FunctionType(code, globals(), "__init__", ends_with, tuple(map(CellType, puts)))
    completed = _completion(cls, places, names, defaults, factories)

    def __init__(self: Any, /, *args: Any, **named: Any) -> None:
        if named or len(args) != whole:
            args = completed(args, named)
        if in_dict:
            self.__dict__.update(zip(names, args, strict=True))
        else:
            for place, put in enumerate(puts):  # sooner done than a `zip`
                put(self, args[place])
        if more:
            for put, field in later:
                put(self, _default(field))
            if hasattr(self, "__post_init__"):
                self.__post_init__()

    return __init__


def _completion(
    cls: type,
    places: Sequence[str],
    names: Sequence[str],
    defaults: Mapping[str, Any],
    factories: Sequence[tuple[str, Callable[[], Any]]],
) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]:
    """Return a function from the arguments of a call to the values of the fields `names`, in their order.

    `places` are those that can be given without their names.
    """
    every = set(names)
    whole = len(places) if len(places) == len(names) else -1
    ends: dict[int, tuple[Any, ...]] = {}  # by the number of arguments: values of those that are left out

    def completed(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        count = len(args)
        if not named and (end := ends.get(count)) is not None:
            return args + end
        if not named and count < whole and defaults.keys() >= {*names[count:]}:
            ends[count] = tuple(map(defaults.__getitem__, names[count:]))
            return args + ends[count]
        if not args and named.keys() == every:
            return tuple(map(named.__getitem__, names))
        given = {**defaults, **dict(zip(places, args, strict=False)), **named}
        for name, factory in factories:
            if name not in given:
                given[name] = factory()
        twice = args and named and not named.keys().isdisjoint(places[:count])
        if twice or given.keys() != every or count > len(places):
            raise _misuse(cls, args, named)
        return tuple(map(given.__getitem__, names))

    return completed


@cache
def _code_of_init(count: int) -> CodeType:
    """Return the code of `__init__` for a class with `count` fields: it is the same for all, but for names.

    A loop over the fields takes twice the time, and arguments that are left out or named three times.
    """
    puts = [f"put_{n}" for n in range(count)]  # digits: Python sorts the cells of a function by name
    values = [f"value_{n}" for n in range(count)]
    lines = [
        f"def make({', '.join(puts)}):",
        f"    def __init__(self, {', '.join(values)}):",
        *map("        {}(self, {})".format, puts, values),
    ]
    make = compile("\n".join(lines), __file__, "exec").co_consts[0]
    return next(part for part in make.co_consts if part.__class__ is CodeType)


def _misuse(cls: type, args: Sequence[Any], named: Mapping[str, Any]) -> TypeError:
    """Return the TypeError for a call of a class with wrong arguments, as Python words it for a function."""
    try:
        inspect.signature(cls).bind(*args, **named)
    except TypeError as error:
        return TypeError(f"{cls.__qualname__}(): {error}")
    raise AssertionError(cls, args, named)


def _put(name: str) -> _Put:
    """Return a function that sets a field that is no slot, even of a frozen object."""
    return lambda self, value: object.__setattr__(self, name, value)


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


class _Signature:
    """Descriptor of `__signature__`, which `inspect.signature` reads: computes the signature on access."""

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if instance is not None or inspect.getattr_static(owner, "__init__").__module__ != __name__:
            raise AttributeError("__signature__")
        every = [f for f in fields(owner) if f.init]
        return inspect.Signature([_parameter(f) for f in sorted(every, key=lambda f: bool(f.kw_only))])


_SIGNATURE = _Signature()


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


def _eq(self: Any, other: Any) -> bool:
    if other.__class__ is self.__class__:
        key = self.__compared__
        return bool(key(self) == key(other))
    return NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__compared__(self))


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


_T = TypeVar("_T")


class _CachedProperty(Generic[_T]):
    """A property that is computed once and then lies in the object's `__dict__`."""

    def __init__(self, function: Callable[[Any], _T]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, kind: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        found = owner.__dict__[self.name] = self.function(owner)
        return found


if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:
    cached_property = _CachedProperty
