"""The builder of Functions: interns nodes, folds constants, and turns Python values into constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter, is_
from typing import Any, Protocol, TypeVar

import numpy as np

from staticgraph.compiler.graph.checks.result_types import is_known, result_types
from staticgraph.compiler.graph.dtypes import DType, as_dtype, bool_, float32, int32, int64
from staticgraph.compiler.graph.errors import OpError, RuleError, misuse, refused, shown
from staticgraph.compiler.graph.function import Literal, Node, Value
from staticgraph.compiler.graph.opdef import OPS, Effect, OpDef, Role
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.size_contexts import Undecided, current_answer, listening
from staticgraph.compiler.graph.sizes import Size, is_open


class _Typed(Protocol):
    @property
    def dtype(self) -> DType: ...


T = TypeVar("T", bound=_Typed)

# Folding a larger constant would trade a few instructions for memory in every program and file.
FOLD_LIMIT = 1 << 16
FOLDED_LIMIT = 1 << 26  # bytes of all constants that a Function's builder computes
SOURCE_LIMIT = 1 << 10  # for what is computed from positions alone: shapes and axes are made of such tensors


def may_fold(op: OpDef, result: TensorType, limit: int) -> bool:
    """Return True if NumPy performs `op` quickly, its result having up to `limit` elements.

    Ops with windows are never quick: they may do much work for a small result.
    """
    shape = result.static_shape
    if is_open(shape) or math.prod([n or 1 for n in shape]) > limit:
        return False
    return not any(p.name in ("padding", "dilations") for p in op.params)


class Builder:
    """Records ops as interned nodes.

    >>> from staticgraph.compiler.graph.builder import Builder
    >>> from staticgraph.compiler import ops
    >>> build = Builder()
    >>> x = build.parameter("x", "float32", (2, 3))
    >>> ops.exp(x) is ops.exp(x), (x * 2 + 1).shape
    (True, (2, 3))
    """

    def __init__(self) -> None:
        self.table: dict[Any, Node] = {}
        self.serial = 0
        self._types: dict[Any, tuple[tuple[TensorType, ...], tuple[TensorType, ...]]] = {}
        self._same_types: dict[TensorType, TensorType] = {}
        self._numbers: dict[tuple[type, float, DType | str | None], Value] = {}  # the constants of numbers
        self._folded = 0  # bytes of constants that were computed
        self.where: Provenance | None = None  # given to new nodes: the user's line that is being compiled

    def record(self, op: OpDef, values: dict[str, Any], name: str | None = None) -> Any:
        """Use `op`; called by OpDef itself."""
        tensors, others = _by_role(op)
        inputs: Sequence[Value] = [values[name] for name in tensors]
        if _VALUES.issuperset(map(type, inputs)):  # as nearly always: nothing is to be converted
            attrs = {name: values[name] for name in others}
        else:
            inputs, attrs = operands(op, values, Value, self.convert)
        if not _PLAIN.issuperset(map(type, attrs.values())):
            attrs = {n: plain(a.constant if isinstance(a, Value) else a) for n, a in attrs.items()}
        return self.apply(op, inputs, attrs)

    def apply(self, op: OpDef, inputs: Sequence[Value], attrs: dict[str, Any]) -> Any:
        """The output of `op`, or the tuple of its outputs."""
        node = self.node(op, tuple(inputs), attrs)
        return node.outputs if len(node.outputs) != 1 else node.outputs[0]

    def node(
        self,
        op: OpDef,
        inputs: tuple[Value, ...],
        attrs: dict[str, Any],
        types: tuple[TensorType, ...] | None = None,
    ) -> Node:
        """The interned node; a constant's node where the value can be computed now.

        `types` are those of its outputs, if they are known.
        """
        if op.commutes and len(inputs) == 2 and _is_before(inputs[1].node, inputs[0].node):
            inputs = inputs[::-1]
        key = (op, inputs, tuple(attrs.items()))
        found = self.table.get(key)
        if found is None:
            found = self.table[key] = self._make(op, inputs, attrs, types)
        return found

    def again(self, node: Node, inputs: Sequence[Value], attrs: dict[str, Any] | None = None) -> Node:
        """The same for other inputs, or with other attributes, from the same line of the user's."""
        inputs, types = tuple(inputs), None
        if attrs is None:
            if inputs == node.inputs:
                return node
            attrs = node.attrs
            if all(map(is_, map(_type_of, inputs), map(_type_of, node.inputs))):
                types = tuple([v.type for v in node.outputs])
        around, self.where = self.where, node.where  # `at`, without a context for each node of a Function
        try:
            return self.node(node.op, inputs, attrs, types)
        except Undecided as undecided:
            _tell_where(undecided, node.where)
            raise
        finally:
            self.where = around

    def types(self, op: OpDef, inputs: Sequence[Value], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        """The types of the outputs of `op`; the error that its type rule asks for if there are none."""
        try:
            types = result_types(op, [*map(_type_of, inputs)], attrs)
            for type in types:
                if type.shape is None or None in type.shape:
                    raise RuleError(_NOT_KNOWN)
            for param in op.params:
                if param.partial and param.name in attrs and not is_known(param, attrs[param.name]):
                    raise RuleError(_NOT_KNOWN)
            return types
        except RuleError as error:
            raise refused(error, op.name, _call(op, inputs), self.where) from None

    def _known_types(
        self, op: OpDef, inputs: tuple[Value, ...], attrs: dict[str, Any]
    ) -> tuple[TensorType, ...]:
        """The same, computed once for the alike nodes of many layers, unless it depends on an answer.

        Equal types are one object here, so that they are found by identity.
        """
        of_inputs = tuple(map(_type_of, inputs))
        kinds = tuple(map(type, attrs.values()))  # 1 and True are equal
        key = (op, tuple(map(id, of_inputs)), tuple(attrs.items()), kinds) if inputs else None
        if key is not None and (found := self._types.get(key)) is not None:
            return found[0]
        asked: list[Undecided] = []
        if current_answer() is None:  # then nothing is answered
            types = self.types(op, inputs, attrs)
        else:
            with listening() as asked:
                types = self.types(op, inputs, attrs)
        types = tuple(map(self._same_types.setdefault, types, types))
        if key is not None and not asked:
            self._types[key] = types, of_inputs  # which keeps the identities
        return types

    def _make(
        self,
        op: OpDef,
        inputs: tuple[Value, ...],
        attrs: dict[str, Any],
        types: tuple[TensorType, ...] | None,
    ) -> Node:
        if types is None:
            types = self._known_types(op, inputs, attrs)
        if op.static is not None or not inputs or _is_given(inputs[0]):  # few nodes are computed now
            try:
                if folded := self._fold(op, inputs, attrs, types):
                    return folded
            except RuleError as error:  # what is known of the values does not fit
                raise refused(error, op.name, _call(op, inputs), self.where) from None
        self.serial += 1
        return Node(op, inputs, attrs, types, self.serial, self.where, self)

    def _fold(
        self, op: OpDef, inputs: tuple[Value, ...], attrs: dict[str, Any], types: tuple[TensorType, ...]
    ) -> Node | None:
        if op.effect is not Effect.PURE or op.reference is None or len(types) != 1:
            return None
        if op.name in ("constant", "extents"):
            return None
        if op.static is None and not all(map(_is_given, inputs)):
            return None
        if not may_fold(op, types[0], FOLD_LIMIT if inputs else SOURCE_LIMIT) or self._folded > FOLDED_LIMIT:
            return None
        values = [v.known for v in inputs]
        if op.static is not None and inputs:
            known = op.static([v.type for v in inputs], values, **attrs)
            if known is not None and not (isinstance(known, tuple) and None in known):
                return self.constant(known, types[0].dtype).node
        if any(v is None for v in values):
            return None
        if any(v.node.op.name == "extents" for v in inputs):
            return self._fold_sizes(op, values, attrs, types[0])
        if op.violation is None and any(map(has_sizes, attrs.values())):  # NumPy has no open sizes
            return None
        try:
            with np.errstate(all="ignore"):
                value = op.reference(*values, **attrs)
        except (OpError, RuleError):  # told when it runs, if it does
            return None
        if op.violation is not None and not value:  # a run that gets there says what does not hold
            return None
        self._folded += np.asarray(value).nbytes
        return self.constant(value, types[0].dtype).node

    def _fold_sizes(
        self, op: OpDef, values: Sequence[Any], attrs: dict[str, Any], type: TensorType
    ) -> Node | None:
        """Compute with open sizes, as far as the result consists of sizes too."""
        if not type.dtype.is_integer:
            return None
        from staticgraph.compiler.graph.size_algebra import integer_ops  # few graphs compute with sizes

        try:
            made = integer_ops.of_sizes(op, values, attrs, type.dtype)
        except Undecided:
            return None  # computed in a run
        return None if made is None else self.constant(made, type.dtype).node

    def constant(self, value: Any, dtype: DType | str | None = None) -> Value:
        """A constant; a dtype of None is inferred as in TF1: float32 for Python floats, int32 for ints.

        If it contains open sizes, the value is what they are in a run.
        """
        if value.__class__ not in (int, float) or not value:  # 0.0 and -0.0 are equal
            return self._constant(value, dtype)
        key = value.__class__, value, dtype  # formulas have the same few numbers again and again
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = self._constant(value, dtype)
        return found

    def _constant(self, value: Any, dtype: DType | str | None) -> Value:
        objects = isinstance(value, np.ndarray) and value.dtype == object
        if has_sizes(value.tolist() if objects else value):
            return self._extents(np.asarray(value, object), as_dtype(dtype or int32))
        type = as_dtype(dtype) if dtype is not None else infer_dtype(value)
        with np.errstate(over="ignore"):  # a count may be infinite in float16
            return self.literal(Literal.of(np.asarray(value), type))

    def literal(self, value: Literal) -> Value:
        """The constant of this content, whose type needs no rule."""
        type = TensorType(value.dtype, value.shape)
        types = (self._same_types.setdefault(type, type),)
        return self.node(OPS["constant"], (), {"value": value}, types).outputs[0]

    def _extents(self, sizes: np.ndarray, dtype: DType) -> Value:
        if not dtype.is_integer:
            return self.apply(OPS["cast"], (self._extents(sizes, int64),), {"dtype": dtype})
        attrs = {"sizes": tuple(sizes.ravel().tolist()), "shape": sizes.shape, "dtype": dtype}
        return self.node(OPS["extents"], (), attrs).outputs[0]

    def parameter(self, name: str, dtype: DType | str, shape: Sequence[int]) -> Value:
        """A new parameter of a Function, of this name."""
        type = TensorType(as_dtype(dtype), tuple(shape))
        return self.node(OPS["parameter"], (), {"name": name, "type": type}).outputs[0]

    def fresh_parameter(self, name: str, type: TensorType) -> Value:
        """A new parameter, different from all others whatever they are called."""
        unique = f"{name} {self.serial}"
        while (OPS["parameter"], (), (("name", unique), ("type", type))) in self.table:
            unique += "'"
        return self.node(OPS["parameter"], (), {"name": unique, "type": type}).outputs[0]

    def convert(self, value: Any, dtype: DType | None = None) -> Value:
        """`value` as a Value of this builder."""
        return value if isinstance(value, Value) else self.constant(value, dtype)

    def at(self, where: Provenance | None) -> _At:
        """Context in which new nodes come from the user's line `where`."""
        return _At(self, where)


class _At:
    """The context of `Builder.at`, which is entered for every node."""

    __slots__ = ("_before", "_builder", "_where")

    def __init__(self, builder: Builder, where: Provenance | None) -> None:
        self._builder, self._where = builder, where

    def __enter__(self) -> Builder:
        builder = self._builder
        self._before, builder.where = builder.where, self._where
        return builder

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, Undecided):
            _tell_where(error, self._where)
        self._builder.where = self._before


def _tell_where(undecided: Undecided, where: Provenance | None) -> None:
    """Let a question say from which line of the user's it comes."""
    undecided.asked_by = undecided.asked_by or (("what asks", where),)


_type_of = attrgetter("type")
_NOT_KNOWN = "the sizes of its result are not known"


def _is_given(value: Value) -> bool:
    """Return True if a value is `known`."""
    return value.node.op.name in ("constant", "extents")


def _call(op: OpDef, inputs: Sequence[Value]) -> str:
    return f"{op.name}({', '.join(str(v.type) for v in inputs)})"


def operands(
    op: OpDef, values: dict[str, Any], kind: type[T], convert: Callable[[Any, DType | None], T]
) -> tuple[list[T], dict[str, Any]]:
    """The inputs and the attributes of a use of `op`. What is not of the `kind` of a recorder's values is
    converted, to the dtype of the inputs that it must agree with.
    """
    dtypes = {
        p.var: v.dtype
        for p in reversed(op.params)
        if p.role in (Role.TENSOR, Role.TENSORS)
        for v in reversed(values[p.name] if p.role is Role.TENSORS else [values[p.name]])
        if isinstance(v, kind)
    }
    inputs: list[T] = []
    attrs: dict[str, Any] = {}
    for param in op.params:
        value = values[param.name]
        if param.role is Role.TENSOR:
            inputs.append(convert(value, dtypes.get(param.var)))
        elif param.role is Role.TENSORS:
            inputs.extend(convert(v, dtypes.get(param.var)) for v in value)
        else:
            attrs[param.name] = value
    return inputs, attrs


@cache
def _by_role(op: OpDef) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the tensors and of the lists of tensors that `op` takes, and of all other parameters."""
    roles = Role.TENSOR, Role.TENSORS
    tensors = [param.name for param in op.params if param.role in roles]
    return tuple(tensors), tuple([param.name for param in op.params if param.role not in roles])


_VALUES = frozenset({Value})
_NUMBERS = frozenset({int, float, bool, str, type(None)})  # types of attributes without sizes
_PLAIN = frozenset({int, float, bool, str, type(None), DType, Size})  # types of what `plain` leaves as it is


def has_sizes(value: Any) -> bool:
    """Return True if an attribute of an op is an open size, or a list or tuple with one in it."""
    if isinstance(value, (list, tuple)):
        return not _NUMBERS.issuperset(map(type, value)) and any(map(has_sizes, value))
    return isinstance(value, Size)


def plain(value: Any) -> Any:
    """An attribute in its one hashable form: ints, floats, bools, strings, dtypes, and tuples of these."""
    if value.__class__ is tuple and _PLAIN.issuperset(map(type, value)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    return value


def infer_dtype(value: Any) -> DType:
    """The dtype that a Python value gets: float32 and int32 for numbers, NumPy's own for arrays."""
    if isinstance(value, (np.ndarray, np.generic)):
        return as_dtype(value.dtype)
    try:
        array = np.asarray(value)
    except UnicodeDecodeError:  # NumPy makes text of bytes that are beside text
        array = np.asarray(value, object)
    except (ValueError, RecursionError):
        raise misuse(
            ValueError, f"{shown(value)} is no array: its lists have different lengths, or no end"
        ) from None
    if array.dtype == np.float64:
        return float32
    if array.dtype == np.int64:
        return int32
    if array.dtype == np.bool_:
        return bool_
    return as_dtype(array.dtype)


def _is_before(node: Node, other: Node) -> bool:
    """Return True if an operand of a commutative op comes first: constants last, then in order of making."""
    known = node.op.name == "constant"
    if known is not (other.op.name == "constant"):
        return not known
    return node.serial < other.serial


def number(value: Value) -> float | None:
    """The scalar that a constant holds in each of its elements, or None."""
    array = value.constant
    if array is None or array.size == 0 or array.dtype.kind not in "fiub":
        return None
    first = array.flat[0]
    if array.size > 1 and (array.flat[1] != first or not (array == first).all()):
        return None
    if isinstance(first, np.floating) and (
        math.isnan(first) or (not first and _has_zeros_of_both_signs(array))
    ):
        return None
    return first.item()


def _has_zeros_of_both_signs(zeros: np.ndarray) -> bool:
    negative = np.signbit(zeros)
    return bool(negative.any() and not negative.all())
