"""Definition of an op: one record that all else in the project is derived from. Also the table of all ops.

Records are made by the decorators in `ops/kinds.py`, never by hand. Calling a record applies the op. On
tensors of a user's graph, it adds an operation. On values inside the compiler, it makes an interned node. On
patterns, it makes a pattern.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from enum import Enum
from functools import cache
from typing import Any, Protocol

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.lazy_names import LazyTable


class Role(Enum):
    """Kind of argument that a parameter of an op takes."""

    TENSOR = "tensor"
    TENSORS = "tensors"  # a list of tensors; at most one such parameter per op
    OPERAND = "operand"  # a tensor in the user's graph, a known value in a compiled one: a shape, an axis
    ATTR = "attribute"  # a plain value, always known


class Effect(Enum):
    """Dependence of an op on state that outlives a run, or its effect on such state."""

    PURE = "pure"
    RANDOM = "random"  # a pure function of its seeds and of a counter that the session keeps
    SOURCE = "source"  # a placeholder or a variable: its value comes from outside
    READ = "read"  # the present value of a variable
    WRITE = "write"  # new values of the variables that are its first inputs, as a pure function of all
    HOST = "host"  # calls back into Python
    EFFECT = "effect"  # something that the user sees, in the order of construction
    EXCHANGE = "exchange"  # a collective: every process of the run gives and gets something
    CONTROL = "control"  # runs Functions, which may never end
    MARK = "mark"  # a place in the graph that must not merge with others, whatever its value


class Kind(Enum):
    """Category of an op, which determines what the compiler may do with it."""

    ELEMENTWISE = "elementwise"  # an element of the result needs the same element of each input
    MOVEMENT = "movement"  # an element of the result is some element of the input
    REDUCTION = "reduction"  # elements combined along axes
    CONTRACTION = "contraction"  # sums of products
    SOURCE = "source"  # elements computed from their position alone
    ASSEMBLY = "assembly"  # rectangular pieces written side by side
    ROUTINE = "routine"  # loops of its own
    COMPOSITE = "composite"  # written in terms of other ops, expanded once shapes are known
    STRUCTURAL = "structural"  # known to the compiler by name: constants, variables, gradients
    HOST = "host"  # called in Python between compiled steps


REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "REQUIRED"})()


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of an op."""

    name: str
    role: Role
    default: Any = REQUIRED
    var: str = "T"  # tensors of one letter have one dtype; a dtype's name fixes it, "*" leaves it open
    tf: str = ""  # TensorFlow's name of the input: constants made for it are called after it
    partial: bool = False  # operand: the type rule takes None if it is not known, or for entries that are not
    kind: str = "Any"  # attribute or operand: how its value is annotated


class Recorder(Protocol):
    """Something that ops can be recorded into: a graph, a builder of Functions, the maker of patterns."""

    def record(self, op: OpDef, values: dict[str, Any], name: str | None) -> Any: ...


@dataclass(frozen=True, slots=True, eq=False)
class OpDef:
    """Everything the system knows about an op.

    Functions take tensors (flattened, in order of declaration) as positional arguments, operands and
    attributes as keywords.
    """

    name: str
    tf: str  # TensorFlow's op type: default node name, and the type in TensorFlow's files
    doc: str
    kind: Kind
    params: tuple[Param, ...]
    type: Callable[..., Any]  # (*types, **attrs) -> TensorType or tuple; raises RuleError through `require`
    reference: Callable[..., Any] | None  # the meaning, in NumPy: (*arrays, **attrs) -> array or tuple
    # elementwise, if `reference` takes machine numbers alone: (*numbers, **attrs) -> number, for whole
    # numbers of which some are open sizes. Raises TypeError if the result is no size.
    of_sizes: Callable[..., Any] | None = None
    # of integers: (result, *intervals of the inputs that are integers) -> the least and the greatest that an
    # element may be, each perhaps an open size or beyond what the dtype holds; None if nothing is known
    interval: Callable[..., tuple[float, float] | None] | None = None
    elements_of: tuple[int, ...] | None = None  # an element is one of an input at these positions; (): of any
    # structural: the input whose value it has, where no derivative is taken any more
    alias: int | None = None
    cheap: bool = False  # elementwise: sooner done again than its result is kept
    element: Callable[..., Any] | None = None  # (at, *views, **attrs) -> scalar expression
    body: Callable[..., Any] | None = None  # elementwise: the formula over scalars; reduction: the combiner
    pieces: Callable[..., Any] | None = None  # assembly: (*views, **attrs) -> pieces
    statements: Callable[..., Any] | None = None  # routine: (outs, *views, **attrs) -> kernel statements
    # routine: totals grow in the memory of the result. In 16 bits each step would round them, and a total
    # stops growing at some hundred times its items: of such numbers, it is computed in float32.
    totals_in_float32: bool = False
    long: Callable[..., bool] | None = None  # routine: (*types) -> if too few threads of a GPU could do it
    # How many of the first input's last axes a compiled form must know: if one is open, NumPy does the op.
    closed: int = 0
    closed_on_gpu: int = 0  # the same on a GPU, whose kernels have scratch memory of known sizes
    # composite, long routine, or what combines complex numbers: (*values, **attrs) -> value(s)
    expand: Callable[..., Any] | None = None
    grad: Callable[..., Any] | None = None  # (g, y, *inputs, **attrs) -> cotangents, None if there is none
    # Operands whose values `grad` takes, if it needs ranks but no sizes: then it differentiates operations of
    # a user's graph, too. None if it needs all sizes.
    grad_takes: tuple[str, ...] | None = None
    grad_any_rank: bool = False  # `grad` needs no ranks either
    broadcasts: bool = False  # operands broadcast, although this is no elementwise op of several inputs
    inline: bool = False  # composite: a Function has what it is made of, although it has a formula of its own
    # If a derivative by the inputs exists: for all or none of them, or for those at these positions, which a
    # function makes of the number of inputs and the attributes. By nature there is none by the others.
    differentiable: bool | tuple[int, ...] | Callable[..., Sequence[int]] = True
    # The positions of inputs by which the derivative is zero between kinks. TensorFlow gives zeros, not None.
    flat: tuple[int, ...] = ()
    # The positions of inputs by which a derivative exists that is not known here, True for all of them.
    no_gradient_known: bool | tuple[int, ...] = ()
    dtypes: dict[str, frozenset[DType]] = field(default_factory=dict)  # allowed dtypes by letter
    # The op that finds a size in the last inputs and operands, if data decide it: the operand `num_segments`,
    # where that is left out, or the length of a result.
    counted: str | None = None
    decides_by: int | None = None  # the input whose numbers decide about the result, which has none of them
    effect: Effect = Effect.PURE
    variables: int = 1  # WRITE: how many it changes; there is a result for each, and a graph has the first
    # random: (types, shape of the first result, **attrs) -> steps by which a run advances the counter
    advance: Callable[..., int] | None = None
    internal: bool = False  # made while a graph is captured, and never a part of a user's graph
    # host, of numbers: (*values, **attrs) -> values with room for the most elements that there may be, and
    # their number. Compiled code computes these, and `cut` makes the results: (*arrays, **attrs) -> arrays.
    padded: Callable[..., Any] | None = None
    cut: Callable[..., Any] | None = None
    strings: bool = False  # takes strings too, by its NumPy meaning: it only moves or compares elements
    commutes: bool = False
    primitive: str | None = None  # the scalar primitive that this op applies to every element
    # (types, values, **attrs) -> value known though inputs are not, or None
    static: Callable[..., Any] | None = None
    samples: Any = None  # how tests draw valid inputs: ops/samples.py
    requires: Callable[..., Any] | None = None  # (*values, **attrs) -> truth values: ops/requirements.py
    violation: Callable[..., str] | None = None  # a requirement's: (*arrays, **attrs) -> what does not hold
    unchecked: Callable[..., Any] | None = None  # with `requires`: the meaning where they may not hold

    @property
    def meaning(self) -> Callable[..., Any] | None:
        """The NumPy meaning as compiled code has it: `reference` without a look at what the op requires."""
        return self.unchecked or self.reference

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = kwargs.pop("name", None)
        if len(args) > len(self.params):
            *args, name = args  # type: ignore[assignment]
        values = self.bind(args, kwargs)
        try:
            return recorder_of(values.values()).record(self, values, name)
        except Exception as error:
            from staticgraph.compiler.graph.boundary import CAUGHT, at_users, seen_by_user  # few calls fail

            if not isinstance(error, CAUGHT) or not at_users(error, sys._getframe(1)):
                raise
            raise seen_by_user(error, self.name, list(values.items())) from None

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The values of all parameters by name, in order of declaration."""
        names = _names(self)
        if not kwargs and len(args) == len(names):
            return dict(zip(names, args, strict=True))
        if len(args) > len(names):
            raise misuse(
                TypeError,
                f"{self.name} takes {len(self.params)} arguments and a name, {len(args)} were given",
            )
        values: dict[str, Any] = {}
        for position, param in enumerate(self.params):
            if position < len(args):
                values[param.name] = args[position]
                if param.name in kwargs:
                    raise misuse(TypeError, f"{self.name} got two values for {param.name}")
            elif param.name in kwargs:
                values[param.name] = kwargs.pop(param.name)
            elif param.default is not REQUIRED:
                values[param.name] = param.default
            else:
                raise misuse(TypeError, f"{self.name} needs a value for {param.name}")
        if kwargs:
            known = ", ".join(p.name for p in self.params)
            raise misuse(
                TypeError, f"{self.name} has no parameter {next(iter(kwargs))}; it has {known} and name"
            )
        return values

    def gradient_inputs(self, count: int, attrs: dict[str, Any]) -> Sequence[int]:
        """Return the positions of the inputs to which gradients flow, `count` being the number of inputs."""
        if callable(self.differentiable):
            return self.differentiable(count, **attrs)
        if isinstance(self.differentiable, tuple):
            return self.differentiable
        return range(count) if self.differentiable else ()

    def lacking_inputs(self, count: int) -> Sequence[int]:
        """Return the positions of the inputs to which gradients would flow if a formula were known."""
        if isinstance(self.no_gradient_known, tuple):
            return self.no_gradient_known
        return range(count) if self.no_gradient_known else ()

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return inspect.cleandoc(self.doc)

    @property
    def __signature__(self) -> inspect.Signature:
        """Call signature of the op, for `help` and editors."""
        kind, required = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
        defaults = {p.name: required if p.default is REQUIRED else p.default for p in self.params}
        defaults["name"] = None
        return inspect.Signature(
            [inspect.Parameter(name, kind, default=default) for name, default in defaults.items()]
        )

    def __repr__(self) -> str:
        return f"<op {self.name}>"


@cache
def _names(op: OpDef) -> tuple[str, ...]:
    """The names of the parameters of `op`."""
    return tuple([param.name for param in op.params])


OPS: LazyTable[OpDef] = LazyTable()
PRIMITIVE_OPS: LazyTable[OpDef] = LazyTable()  # by scalar primitive
METHODS: LazyTable[Callable[..., Any]] = LazyTable()  # functions of the operators and methods of tensors


def register(op: OpDef) -> OpDef:
    """Add `op` to the tables. Its name must be new."""
    if op.name in OPS:
        raise misuse(ValueError, f"there already is an op {op.name}")
    OPS[op.name] = op
    if op.primitive is not None:
        PRIMITIVE_OPS[op.primitive] = op
    return op


@cache
def by_meaning(op: OpDef) -> OpDef:
    """The same op without a native form: it is always computed by NumPy."""
    return replace(op, element=None, pieces=None, statements=None, primitive=None)


class _Namespace:
    """Every op by name, looked up when it is used: op definitions refer to each other through it."""

    def __getattr__(self, name: str) -> OpDef:
        try:
            return OPS[name]
        except KeyError:
            raise AttributeError(f"there is no op {name}") from None


ops = _Namespace()


def method(name: str) -> Callable[[Any], Any]:
    """Decorator: make a function available as a method of tensors and values."""

    def declare(function: Any) -> Any:
        METHODS[name] = function
        return function

    return declare


class _Stack(threading.local):
    def __init__(self) -> None:
        self.recorders: list[Recorder] = []


_stack = _Stack()
_default: list[Callable[[], Recorder]] = []  # set by graph.py: the graph in use where no other is


class recording:
    """Context in which ops without tensor arguments are recorded into `recorder`."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __enter__(self) -> Recorder:
        _stack.recorders.append(self.recorder)
        return self.recorder

    def __exit__(self, *_: object) -> None:
        _stack.recorders.pop()


def recorders() -> list[Recorder]:
    """The stack of recorders of this thread, innermost last."""
    return _stack.recorders


COMPOSITES: list[type] = []  # types of composite tensors that record operations on themselves


def _composite_recorder(values: Any) -> Recorder | None:
    kinds = tuple(COMPOSITES)
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, kinds):
                return item.recorder  # type: ignore[attr-defined]
    return None


@contextmanager
def scope(name: str, *values: Any) -> Iterator[str | None]:
    """Context in which ops on `values` are named below `name`; yields the name for the one with the result.

    Inside the compiler, values have no names, and it yields None.

    >>> with scope("mean_of_two") as name:
    ...     y = sg.multiply(sg.constant(2.0) + 3.0, 0.5, name=name)
    >>> y.name, y.op.inputs[0].name
    ('mean_of_two:0', 'mean_of_two/add:0')
    """
    recorder = recorder_of(values)
    name_scope = getattr(recorder, "name_scope", None)  # of a user's graph
    if name_scope is None:
        yield None
        return
    with recording(recorder), name_scope(name) as prefix:
        yield prefix


def recorder_of(values: Any) -> Recorder:
    """The recorder of the first tensor among `values` (lists are searched), or else the current one.

    That of a composite tensor comes before those of others.
    """
    if COMPOSITES:
        values = tuple(values)
        if (composite := _composite_recorder(values)) is not None:
            return composite
    for value in values:
        found = getattr(value, "recorder", None)
        if found is not None:
            return found
        if isinstance(value, (list, tuple)):
            for item in value:
                found = getattr(item, "recorder", None)
                if found is not None:
                    return found
    return _stack.recorders[-1] if _stack.recorders else _default[0]()
