"""A variable of a loaded graph: what lists of variables, checkpoints and optimizers ask of one."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.operators import Operators
from staticgraph.compiler.graph.recording.snapshot import snapshot
from staticgraph.compiler.graph.shapes import TensorShape, TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor


class RestoredVariable(Operators):
    """Stands in a loaded graph where the `Variable` stood. It has no initializer, it has a value."""

    def __init__(self, op: Operation, trainable: bool, read: Tensor | None) -> None:
        self.op = op
        self.trainable = trainable
        self._read = read if read is not None else self.handle

    @property
    def handle(self) -> Tensor:
        """The output of the variable's operation: what operations that assign take as their first input."""
        return self.op.outputs[0]

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def recorder(self) -> Graph:
        return self.op.graph

    @property
    def name(self) -> str:
        return self.handle.name

    @property
    def dtype(self) -> DType:
        return self.handle.dtype

    @property
    def type(self) -> TensorType:
        return self.handle.type

    @property
    def shape(self) -> TensorShape:
        return self.handle.shape

    def get_shape(self) -> TensorShape:
        return self.shape

    def to_tensor(self) -> Tensor:
        """Return the tensor that operations take in place of this variable."""
        return self._read

    def value(self) -> Tensor:
        """Return the value that the variable has here, as a tensor."""
        return self.read_value()

    def read_value(self) -> Tensor:
        """Return the value that the variable has here, as a tensor."""
        value: Tensor = snapshot(self.handle)
        return value

    def eval(self, session: Any = None) -> Any:
        """The value in `session`, or in the default session, as an array."""
        return self._read.eval(session=session)

    def __repr__(self) -> str:
        return f"<sg.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, from a file>"
