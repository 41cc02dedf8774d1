"""The operations of a graph on their way into ONNX: those that the outputs need, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.errors import FeedError, GraphError, OpError, UnimplementedError, layout
from staticgraph.compiler.graph.function import as_outputs
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.onnx.write.graph import Writer
from staticgraph.formats.onnx.write.rules import reason, without
from staticgraph.formats.onnx.write.value import Held, NoForm, UnknownSize

_SELECTIONS = ("select", "select_rows")


@dataclass(frozen=True, slots=True)
class Named:
    """Writer of an operation that is known by name: the tensors that it reads, and the values it makes."""

    made: Callable[[Operations, Operation], Any]
    reads: Callable[[Operations, Operation], Sequence[Tensor]]


BY_NAME: dict[str, Named] = {}  # by the name of the op


def named(
    name: str, reads: Callable[[Operations, Operation], Sequence[Tensor]] = lambda at, op: op.all_inputs
) -> Callable[[Callable[[Operations, Operation], Any]], Any]:
    """Decorator: the function gives the values of the outputs of an operation of this name."""

    def declare(made: Callable[[Operations, Operation], Any]) -> Any:
        BY_NAME[name] = Named(made, reads)
        return made

    return declare


class Operations:
    """The values of the tensors of a graph in an ONNX model."""

    def __init__(self, writer: Writer, variables: Mapping[Operation, np.ndarray]) -> None:
        self.writer = writer
        self.values: dict[Tensor, Held] = {}
        self._variables = variables
        self._held: dict[Operation, Held] = {}
        self._done: set[Operation] = set()

    def perform(self, tensors: Sequence[Tensor]) -> None:
        """Write what tensors need that have no value yet: inputs before their users, and nothing else."""
        stack = [t.op for t in tensors if not self._is_known(t)]
        while stack:
            op = stack[-1]
            missing = {t.op for t in self._read(op) if not self._is_known(t)}
            if missing:
                stack += sorted(missing, key=lambda each: -each.id)
                continue
            stack.pop()
            if op not in self._done:
                self._done.add(op)
                self._one(op)

    def forget(self, operations: Iterable[Operation]) -> None:
        """Operations that are to be written again: those of a region."""
        for op in operations:
            self._done.discard(op)
            for tensor in op.outputs:
                self.values.pop(tensor, None)

    def _is_known(self, tensor: Tensor) -> bool:
        return tensor in self.values or variable_of(tensor) in self._variables

    def _read(self, op: Operation) -> Sequence[Tensor]:
        """The tensors that must have a value before an operation is written."""
        definition = op.definition
        if reason(definition):
            return ()
        if definition.name in BY_NAME:
            return BY_NAME[definition.name].reads(self, op)
        if definition.effect is Effect.EFFECT:
            return op.tensors[: len(op.outputs)]
        if definition.name in _SELECTIONS and (flag := self.flag(op)) is not None:
            return (op.tensors[0], op.tensors[1 if flag else 2])
        return op.all_inputs

    def flag(self, op: Operation) -> bool | None:
        """Return the condition that decides between two values of one type, or None if it is not known."""
        first = self.values.get(op.tensors[0])
        if (
            first is None
            or first.constant is None
            or first.constant.shape
            or op.tensors[1].type != op.tensors[2].type
        ):
            return None
        return bool(first.constant)

    def value(self, tensor: Tensor) -> Held:
        """The value of a tensor."""
        if tensor in self.values:
            return self.values[tensor]
        owner = variable_of(tensor)
        assert owner is not None, tensor
        if owner not in self._held:
            dtype, data = owner.outputs[0].dtype, self._variables[owner]
            self._held[owner] = Held(
                self.writer, TensorType(dtype, data.shape), label=owner.name, data=data, variable=True
            )
        return self._held[owner]

    def _one(self, op: Operation) -> None:
        nodes = self.writer.nodes
        outside, nodes.scope = nodes.scope, op.name
        start = nodes.position
        try:
            made = as_outputs(self._made(op))
        except NoForm as error:
            raise refusal(op, str(error)) from None
        except (OpError, GraphError):  # it tells its own line
            raise
        except UnknownSize as error:
            raise refusal(op, str(error)) from None
        except (AttributeError, AssertionError, TypeError, ValueError):
            raise refusal(
                op, "what it is made of needs sizes that are not known before the model runs"
            ) from None
        nodes.scope = outside
        for tensor, held in zip(op.outputs, made, strict=False):
            self.values.setdefault(tensor, held)
            if held.name and nodes.made_since(start, held.name):
                nodes.call(held.name, op.name if tensor.value_index == 0 else tensor.name)

    def _made(self, op: Operation) -> Any:
        """The values of the outputs of an operation."""
        definition = op.definition
        if definition.name in BY_NAME:
            return BY_NAME[definition.name].made(self, op)
        if definition.effect is Effect.EFFECT:  # an assertion, a print: nothing depends on it
            return [self.value(t) for t in op.tensors[: len(op.outputs)]]
        if definition.name in _SELECTIONS and (flag := self.flag(op)) is not None:
            return self.value(op.tensors[1 if flag else 2])
        attrs = dict(op.attrs) | {name: self.value(t) for name, t in op.operands.items()}
        attrs = {p.name: attrs[p.name] for p in definition.params if p.name in attrs}
        inputs = [self.value(t) for t in op.tensors]
        made = self.writer.apply(definition, inputs, attrs, [t.type for t in op.outputs])
        if isinstance(made, Held) and made.data is not None and not made.label:
            made = replace(made, label=op.name)
        return made


@named("placeholder")
def _placeholder(at: Operations, op: Operation) -> Any:
    raise FeedError(
        layout(
            f"the fetches need the placeholder {op.name}, which is not among the feeds",
            op.where,
            hint="add it to feeds=, or leave feeds= out for all that are needed",
        ),
        op,
    )


def _first_input(at: Operations, op: Operation) -> Sequence[Tensor]:
    return op.tensors[:1]


@named("placeholder_with_default", _first_input)
@named("initialized_value", _first_input)
@named("read_value", _first_input)
def _first(at: Operations, op: Operation) -> Held:
    return at.value(op.tensors[0])


@named("constant")
def _constant(at: Operations, op: Operation) -> Held:
    literal = op.attrs["value"]
    return at.writer.constant(literal.array, literal.dtype, op.name)


@named("is_variable_initialized", lambda at, op: ())
def _has_value(at: Operations, op: Operation) -> Held:
    return at.writer.constant(True, bool_)


@named("custom_gradient", lambda at, op: op.tensors[: op.attrs["ys"]])
def _without_derivative(at: Operations, op: Operation) -> list[Held]:
    return [at.value(t) for t in op.tensors[: op.attrs["ys"]]]


without(
    "it is a part of a derivative, and ONNX has none",
    "max_pool_backprop max_pool3d_backprop seed symbolic_gradients",
)
without(
    "a model of ONNX runs in one process",
    "all_reduce all_gather reduce_scatter broadcast all_to_all worker_rank",
)
without("only a session knows which variables have a value", "report_uninitialized")
without("it is a part of a training step, and an ONNX model has none", "decayed")
without(
    "it changes a variable, and an ONNX model has none",
    "apply_ada_max apply_adadelta apply_adagrad apply_adagrad_da apply_adam apply_add_sign "
    "apply_centered_rms_prop apply_ftrl apply_ftrl_v2 apply_gradient_descent apply_momentum apply_power_sign "
    "apply_proximal_adagrad apply_proximal_gradient_descent apply_rms_prop "
    "sparse_apply_adadelta sparse_apply_adagrad sparse_apply_adagrad_da sparse_apply_centered_rms_prop "
    "sparse_apply_ftrl sparse_apply_ftrl_v2 sparse_apply_momentum sparse_apply_proximal_adagrad "
    "sparse_apply_proximal_gradient_descent sparse_apply_rms_prop "
    "assign assign_add assign_sub scatter_add scatter_div scatter_max scatter_min scatter_mul "
    "scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub scatter_update",
)
without(
    "graphs do not have it: the compiler makes it",
    "branch cotangent effect extents loop parameter reads_of undefined_gradient unset",
)


def refusal(op: Operation, why: str) -> UnimplementedError:
    """The error for an operation that cannot be written."""
    sizes = "known" in why or "depends" in why
    hint = (
        "sizes that are known help: give the placeholders a full shape"
        if sizes
        else "a model may begin behind it, with its result among feeds=, or end before it"
    )
    return UnimplementedError(
        layout(f"{op.name} ({op.type}) cannot be written as ONNX: {why}", op.where, hint=hint), op
    )
