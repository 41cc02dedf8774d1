"""Operations between layers as layers: `x + 1` on the way from a model's inputs to its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.opdef import Role
from staticgraph.compiler.graph.tensor import Operation, Tensor, ancestors
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.engine.node import Node, history
from staticgraph.tf1.keras.engine.structure import leaves, single


class OperationLayer(Layer):
    """One operation of the graph; calling it makes the same operation on other tensors."""

    def __init__(self, operation: Operation, positions: Sequence[int]) -> None:
        super().__init__(name=f"tf_op_layer_{operation.name}")
        self.operation, self.positions = operation, list(positions)
        self.built = True

    def call(self, inputs: Any) -> Any:
        tensors = list(self.operation.all_inputs)
        for position, tensor in zip(self.positions, leaves(inputs), strict=True):
            tensors[position] = tensor
        return again(self.operation, tensors)

    def get_config(self) -> dict[str, Any]:
        text = f"{self.operation.name} ({self.operation.type}) is not a layer and cannot be written as one"
        raise misuse(
            NotImplementedError, f"{text}: put it into a Layer or a Lambda, or save the weights alone"
        )


def again(operation: Operation, tensors: Sequence[Tensor]) -> Any:
    """The same operation on other tensors."""
    inputs, operands = list(tensors[: len(operation.tensors)]), list(tensors[len(operation.tensors) :])
    values: dict[str, Any] = {}
    singles = sum(p.role is Role.TENSOR for p in operation.definition.params)
    for param in operation.definition.params:
        match param.role:
            case Role.TENSOR:
                values[param.name] = inputs.pop(0)
            case Role.TENSORS:
                count = len(operation.tensors) - singles
                values[param.name], inputs = inputs[:count], inputs[count:]
            case _ if param.name in operation.operands:
                values[param.name] = operands.pop(0)
            case _:
                values[param.name] = operation.attrs[param.name]
    made = operation.graph.record(operation.definition, values, operation.name.split("/")[-1])
    return list(made) if isinstance(made, tuple) else made


def wrap_operations(outputs: Sequence[Tensor]) -> None:
    """Make a layer of each operation between `outputs` and the tensors of layers before them."""
    missing = [t.op for t in outputs if history(t) is None]
    if not missing:
        return
    known = {t for op in ancestors(missing) for t in op.outputs if history(t) is not None}
    between = ancestors(missing, known)
    reaching: set[Operation] = set()
    for op in sorted(between, key=lambda op: op.id):
        positions = [i for i, t in enumerate(op.all_inputs) if history(t) is not None or t.op in reaching]
        if positions and all(history(t) is None for t in op.outputs):
            reaching.add(op)
            given = [op.all_inputs[i] for i in positions]
            Node(OperationLayer(op, positions), single(given), single(list(op.outputs)), {})
