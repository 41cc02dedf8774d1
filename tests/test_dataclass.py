"""Our `dataclass` and the standard library's: the same tests for both."""

import copy
import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, replace
from functools import cached_property
from typing import ClassVar

import pytest

from staticgraph.compiler.support import dataclass as ours


@pytest.fixture(params=[dataclasses.dataclass, ours.dataclass], ids=["theirs", "ours"])
def dataclass(request) -> Callable:
    return request.param


@pytest.fixture
def point(dataclass):
    @dataclass(frozen=True, slots=True)
    class Point:
        """A place."""

        x: int
        y: int = 2
        path: list[int] = field(default_factory=list, repr=False, compare=False)

    return Point


def test_fields_are_given_by_place_or_name(point):
    assert [(p.x, p.y, p.path) for p in (point(1), point(1, 3), point(y=5, x=4), point(1, path=[7]))] == [
        (1, 2, []),
        (1, 3, []),
        (4, 5, []),
        (1, 2, [7]),
    ]
    assert point(1).path is not point(1).path


@pytest.mark.parametrize(
    "wrong",
    [lambda p: p(), lambda p: p(y=1), lambda p: p(1, 2, [], 3), lambda p: p(1, z=3), lambda p: p(1, x=2)],
)
def test_wrong_arguments_are_type_errors(point, wrong):
    with pytest.raises(TypeError, match="Point"):
        wrong(point)


def test_equal_fields_are_equal_objects(dataclass, point):
    assert point(1, 2, [3]) == point(1) != point(2)
    assert len({point(1), point(1, path=[3]), point(2)}) == 2

    @dataclass(frozen=True, slots=True)
    class Other:
        x: int
        y: int

    assert point(1, 2) != Other(1, 2)


def test_nothing_is_assigned_to_what_is_frozen(point):
    made = point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        made.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del made.x
    assert made.x == 1 and not hasattr(made, "__dict__")


def test_what_the_standard_library_does_with_them(point):
    made = point(1, path=[5])
    assert repr(made).endswith("Point(x=1, y=2)")
    assert replace(made, y=7) == point(1, 7) and asdict(made) == {"x": 1, "y": 2, "path": [5]}
    for copied in (copy.copy(made), copy.deepcopy(made)):
        assert copied == made and copied.path == [5]
    match made:
        case point(x, y):
            assert (x, y) == (1, 2)
    assert point.__doc__ == "A place."
    parameters = inspect.signature(point).parameters
    assert [*parameters] == ["x", "y", "path"] and parameters["y"].default == 2
    assert parameters["x"].annotation is int and parameters["x"].default is inspect.Parameter.empty


def test_a_class_that_holds_itself_can_be_shown(dataclass):
    @dataclass(slots=True)
    class Chain:
        next: object = None

    made = Chain()
    made.next = made
    assert repr(made).endswith("Chain(next=...)")
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def test_its_own_functions_stay(dataclass):
    @dataclass(frozen=True, slots=True)
    class Own:
        x: int

        def __eq__(self, other):
            return True

        def __repr__(self):
            return "own"

    assert Own(1) == Own(2) and repr(Own(1)) == "own" and {Own(1)}

    @dataclass(frozen=True, slots=True, eq=False)
    class Same:
        x: int

    assert Same(1) != Same(1) and len({Same(1), Same(1)}) == 2


def test_fields_that_are_made_afterwards(dataclass):
    @dataclass(slots=True, kw_only=True)
    class Made:
        several: ClassVar[int] = 3
        x: int
        twice: int = field(init=False)
        seen: list[int] = field(init=False, default_factory=list)
        kind: str = field(init=False, default="made")

        def __post_init__(self):
            self.twice = 2 * self.x

    made = Made(x=4)
    assert (made.twice, made.seen, made.kind) == (8, [], "made") and made.seen is not Made(x=4).seen
    with pytest.raises(TypeError):
        Made(4)
    assert [*inspect.signature(Made).parameters] == ["x"]


def test_classes_that_extend_others(dataclass):
    @dataclass(frozen=True)
    class Base:
        x: int

        @cached_property
        def kept(self):
            return [self.x]

    @dataclass(frozen=True)
    class More(Base):
        y: int = field(kw_only=True, default=0)
        z: int = 5

    made = More(1, 2, y=3)
    assert (made.x, made.y, made.z) == (1, 3, 2) and made.kept is made.kept
    assert made == More(1, 2, y=3) and made != More(1, 2) and More(1) != Base(1)
    with pytest.raises(FrozenInstanceError):
        made.x = 0

    class Without(More):
        def __init__(self, each: int) -> None:
            super().__init__(each, each)

    assert Without(4).z == 4 and [*inspect.signature(Without).parameters] == ["each"]


def test_slots_of_a_base_are_filled(dataclass):
    @dataclass(frozen=True, slots=True)
    class Base:
        x: int

    @dataclass(frozen=True, slots=True, weakref_slot=True)
    class More(Base):
        y: int

    made = copy.copy(More(1, 2))
    assert (made.x, made.y) == (1, 2) and repr(made).endswith("More(x=1, y=2)")
    assert More.__slots__ == ("y", "__weakref__")


def test_an_object_that_is_called_has_its_own_signature(dataclass):
    @dataclass(frozen=True, slots=True)
    class Call:
        x: int

        def __call__(self, argument: int) -> int:
            return argument

    assert [*inspect.signature(Call(1)).parameters] == ["argument"]


def test_no_fields(dataclass):
    @dataclass(frozen=True, slots=True)
    class Nothing: ...

    assert Nothing() == Nothing() and hash(Nothing()) == hash(Nothing())
    assert repr(Nothing()).endswith("Nothing()")


def test_replace_does_as_that_of_the_standard_library(dataclass):
    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2

    @dataclass(frozen=True, kw_only=True)
    class Named:
        x: int
        y: int = field(default=3, init=False)

    for changes in ({}, {"x": 5}, {"y": 7, "x": 1}):
        assert ours.replace(Point(1), **changes) == replace(Point(1), **changes)
    assert ours.replace(Named(x=1), x=4) == replace(Named(x=1), x=4)
    for record, changes in ((Point(1), {"z": 1}), (Named(x=1), {"z": 1})):
        with pytest.raises(TypeError, match="z"):
            ours.replace(record, **changes)
    with pytest.raises(ValueError, match="init=False"):
        ours.replace(Named(x=1), y=1)
