"""Ops become ONNX nodes: the recorder of `Held` values.

    writer.apply(OPS["softmax_cross_entropy"], (logits, labels), {})

looks for a rule in the tables of `write_rules`, and if there is none takes the op's own definition in
terms of others, which come back here one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from staticgraph.compiler.graph.builder import FOLD_LIMIT, operands, plain
from staticgraph.compiler.graph.dtypes import DType, int64, string
from staticgraph.compiler.graph.errors import RuleError
from staticgraph.compiler.graph.function import as_outputs
from staticgraph.compiler.graph.opdef import Effect, Kind, OpDef, Param, Role, recording
from staticgraph.compiler.graph.shapes import TensorType, compatible, merge
from staticgraph.formats.onnx.write.builder import Builder
from staticgraph.formats.onnx.write.rules import KEEPS_ORDER, RULES, Use, reason
from staticgraph.formats.onnx.write.value import Held, NoForm, Order, Size

_GROWTH = 1 << 12  # elements that a folded constant may have more than what it is made of
_LARGEST_MAP = 1 << 22  # elements of the constant that says where each element comes from
_UNKNOWN: Any = object()


class Writer(Builder):
    """Records ops as ONNX nodes. What is known while the file is written is computed at once."""

    def record(self, op: OpDef, values: dict[str, Any], name: str | None = None) -> Any:
        """Use `op`; called by OpDef itself."""
        return self.apply(op, *operands(op, values, Held, self.convert))

    def convert(self, value: Any, dtype: DType | None = None) -> Held:
        """Return the value of this file that `value` stands for; a number gets the type, as a size does."""
        if isinstance(value, Size) and dtype is not None:
            return self.cast(value, dtype)
        return value if isinstance(value, Held) else self.constant(value, dtype)

    def apply(
        self,
        op: OpDef,
        inputs: Sequence[Held],
        attrs: Mapping[str, Any],
        declared: Sequence[TensorType] | None = None,
    ) -> Any:
        """The result of `op`, or the tuple of its results. `declared`: what is known of their types."""
        if op.alias is not None:
            return inputs[op.alias]
        params = {p.name: p for p in op.params}
        given = {
            name: _known(value) if params[name].role is Role.OPERAND else plain(value)
            for name, value in attrs.items()
        }
        types = self._types(op, inputs, given, declared)
        folded, partial = self._folded(op, inputs, given, types)
        if folded is not None:
            return folded
        if why := reason(op):
            raise NoForm(why)
        order = None
        if op.name not in KEEPS_ORDER:
            inputs, order = self._aligned(inputs) if op.kind is Kind.ELEMENTWISE else (inputs, None)
            inputs = [v.kept if order is not None else self.plain(v) for v in inputs]
        laid_out = [_in_order(t, order) for t in types]
        if op.name in RULES:
            with recording(self):
                made = RULES[op.name](Use(self, op, tuple(laid_out)), *inputs, **given)
        else:
            made = self.by_definition(op, inputs, given, laid_out)
        results = tuple(
            _typed(m.in_order(order) if order else m, t) for m, t in zip(as_outputs(made), types, strict=True)
        )
        if partial is not None:
            results = (replace(results[0], partial=partial),)
        return results[0] if len(results) == 1 else results

    def by_definition(
        self, op: OpDef, inputs: Sequence[Held], attrs: Mapping[str, Any], types: Sequence[TensorType]
    ) -> Any:
        """Write an op by its own definition in terms of others. Raises NoForm if that is not possible."""
        inputs = [self.plain(v) for v in inputs]
        with recording(self):
            if op.kind is Kind.COMPOSITE and op.expand is not None:
                return op.expand(*inputs, **attrs)
            if op.kind is Kind.ELEMENTWISE and op.primitive is None and op.body is not None:
                return op.body(*inputs, **attrs)
        if op.kind in (Kind.MOVEMENT, Kind.ASSEMBLY):
            return self._by_places(op, inputs, attrs, types[0])
        raise NoForm("ONNX has no operator for it, and none that it could be made of")

    def _by_places(
        self, op: OpDef, inputs: Sequence[Held], attrs: Mapping[str, Any], type: TensorType
    ) -> Held:
        """An op that only moves elements, by where each comes from: its meaning, applied to numbers."""
        if any(v.type.shape is None or None in v.type.shape for v in inputs) or not type.is_static:
            raise NoForm("all sizes of its inputs must be known")
        if type.size > _LARGEST_MAP:
            raise NoForm(f"it moves {type.size} elements, which would take a table of as many places")
        sources = [v for v in inputs if v.dtype is type.dtype]
        places, count = [], 1  # place 0 is a zero, where the op puts some
        for v in inputs:
            if v.dtype is not type.dtype:
                if v.constant is None:
                    raise NoForm("its indices must be known")
                places.append(v.constant)
                continue
            places.append(np.arange(count, count + v.type.size).reshape(v.type.static_shape))
            count += v.type.size
        assert op.reference is not None
        found = np.asarray(op.reference(*places, **attrs), np.int64)
        dtype = type.dtype
        zero = self.constant(np.array([b""], object) if dtype is string else np.zeros(1), dtype)
        flat = [self._reshaped(v, (v.type.size,)) for v in sources]
        row = self.node("Concat", [zero, *flat], (TensorType(dtype, (count,)),), {"axis": 0})[0]
        return self.node("Gather", [row, self.constant(found, int64)], (type,), {"axis": 0})[0]

    def _reshaped(self, held: Held, shape: tuple[int, ...]) -> Held:
        type = TensorType(held.dtype, shape)
        return self.node("Reshape", [held, self.constant(shape, int64)], (type,), {"allowzero": 1})[0]

    def _types(
        self,
        op: OpDef,
        inputs: Sequence[Held],
        attrs: Mapping[str, Any],
        declared: Sequence[TensorType] | None,
    ) -> tuple[TensorType, ...]:
        """The types of the results, as far as they are known."""
        if op.effect is Effect.RANDOM and declared is not None:  # the rule speaks of a state that is not here
            return tuple(declared)
        told = {p.name: _told(attrs[p.name], p) for p in op.params if p.name in attrs}
        if any(value is _UNKNOWN for value in told.values()):
            if declared is None:
                raise NoForm("a shape or an axis depends on what is fed")
            return tuple(declared)
        try:
            made = op.type(*(v.type for v in inputs), **told)
        except RuleError as error:
            raise NoForm(error.what) from None
        types = made if isinstance(made, tuple) else (made,)
        return types if declared is None else tuple(map(_both, types, declared))

    def _folded(
        self, op: OpDef, inputs: Sequence[Held], attrs: Mapping[str, Any], types: Sequence[TensorType]
    ) -> tuple[Any, tuple[int | None, ...] | None]:
        """The results where they are known now; else what is known of the entries of the only one."""
        told = {p.name: _told(attrs[p.name], p) for p in op.params if p.name in attrs}
        if op.effect is not Effect.PURE or any(v is _UNKNOWN for v in told.values()):
            return None, None
        known = [v.constant if v.constant is not None else v.partial for v in inputs]
        partial = None
        if op.static is not None:
            found = op.static([v.type for v in inputs], known, **told)
            if found is not None and len(types) == 1:
                if not (isinstance(found, tuple) and None in found):
                    return self.constant(found, types[0].dtype), None
                partial = tuple(None if n is None else int(n) for n in found)
        exact = not any(
            isinstance(v, Held) or (isinstance(v, tuple) and any(isinstance(e, Held) for e in v))
            for v in attrs.values()
        )
        small = all(t.is_static for t in types) and sum(t.size for t in types) <= min(
            FOLD_LIMIT, _GROWTH + sum(v.type.size for v in inputs if v.type.is_static)
        )
        if op.reference is None or not exact or not small or any(v.constant is None for v in inputs):
            return None, partial
        with np.errstate(all="ignore"):
            made = as_outputs(op.reference(*(v.constant for v in inputs), **attrs))
        values = tuple(self.constant(m, t.dtype) for m, t in zip(made, types, strict=True))
        return (values[0] if len(values) == 1 else values), None

    def _aligned(self, inputs: Sequence[Held]) -> tuple[Sequence[Held], Order | None]:
        """The inputs of an elementwise op with their axes in one order, that of the first that has one."""
        order = next((v.order for v in inputs if v.order is not None), None)
        if order is None:
            return inputs, None
        ranks = [v.type.rank for v in inputs]
        beside = [v for v, rank in zip(inputs, ranks, strict=True) if rank != len(order)]
        if any(rank is None or rank > len(order) for rank in ranks) or any(
            v.data is None and v.rank for v in beside
        ):
            return [self.plain(v) for v in inputs], None
        return [self._beside(v, order) for v in inputs], order

    def _beside(self, held: Held, order: Order) -> Held:
        """The tensor as one that broadcasts against those whose axes are in this order."""
        if held.rank == 0:
            return held
        if held.rank < len(order):
            assert held.data is not None
            shape = (1,) * (len(order) - held.rank) + held.data.shape
            held = replace(held, type=TensorType(held.dtype, shape), data=held.data.reshape(shape), name="")
        return self.ordered(held, order)


def _known(value: Any) -> Any:
    """An operand as plain numbers where it is known, and as values of the ONNX graph where not."""
    if isinstance(value, Held):
        return plain(value.constant) if value.constant is not None else value
    if isinstance(value, tuple | list):
        return tuple(_known(entry) for entry in value)
    return plain(value)


def _told(value: Any, param: Param) -> Any:
    """Return what a type rule is told of an operand.

    An operand that is not known is `_UNKNOWN`. If the parameter takes partial values, the operand is instead
    a tuple of its entries with None for each unknown one, or None if their number is unknown too.
    """
    if isinstance(value, Held):
        if not param.partial:
            return _UNKNOWN
        shape = value.type.shape
        return value.partial or (
            (None,) * shape[0] if shape and len(shape) == 1 and shape[0] is not None else None
        )
    if isinstance(value, tuple):
        entries = tuple(_told(entry, param) for entry in value)
        return _UNKNOWN if any(entry is _UNKNOWN for entry in entries) else entries
    return value


def _both(found: TensorType, declared: TensorType) -> TensorType:
    """Merge two descriptions of one type. If the shapes contradict each other, return `found`."""
    if not compatible(found.shape, declared.shape):
        return found
    return TensorType(declared.dtype, merge(found.shape, declared.shape))


def _in_order(type: TensorType, order: Order | None) -> TensorType:
    if order is None or type.shape is None:
        return type
    return TensorType(type.dtype, tuple(type.shape[axis] for axis in order))


def _typed(held: Held, type: TensorType) -> Held:
    """A value of which the type may tell more."""
    both = _both(held.type, type)
    return held if both == held.type else replace(held, type=both)
