"""Errors of ONNX models: one cannot be read, has something unsupported, or needs an unknown value."""

from __future__ import annotations

from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.compiler.graph.tensor import Tensor


class OnnxError(InvalidFileError):
    """A model that cannot be read: it is damaged, or contradicts itself."""


class UnsupportedOnnxError(OnnxError):
    """A model that is right, and has something that does not exist here."""


class UnknownValueError(UnsupportedOnnxError):
    """The value of a tensor, or its sizes, decides what a node is, and depends on what is fed.

    `inputs` are the names of the model's inputs that it depends on.
    """

    def __init__(self, message: str, tensor: Tensor | None = None, inputs: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.tensor = tensor
        self.inputs = inputs
