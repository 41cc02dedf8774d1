"""Outputs of an exported model, by kind: numbers, classes or named tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.sparse.tensor import SparseTensor

__all__ = ["ClassificationOutput", "ExportOutput", "PredictOutput", "RegressionOutput"]


class ExportOutput:
    """The tensors that one signature of an exported model gives."""

    @property
    def outputs(self) -> dict[str, Any]:
        """The tensors by name."""
        raise NotImplementedError


class RegressionOutput(ExportOutput):
    """A floating-point number for each example. ValueError for a tensor of another type."""

    def __init__(self, value: Any) -> None:
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            _refuse(f"Regression output value must be a float32 Tensor; got {value!r}")
        self.value = value

    @property
    def outputs(self) -> dict[str, Any]:
        return {"outputs": self.value}


class ClassificationOutput(ExportOutput):
    """Scores, names of classes or both for each example. ValueError for tensors of other types, and for
    none.
    """

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        if scores is not None and not (isinstance(scores, Tensor) and scores.dtype.is_floating):
            _refuse(f"Classification scores must be a float32 Tensor; got {scores!r}")
        if classes is not None and not (isinstance(classes, Tensor) and classes.dtype is string):
            _refuse(f"Classification classes must be a string Tensor; got {classes!r}")
        if scores is None and classes is None:
            _refuse("At least one of scores and classes must be set.")
        self.scores = scores
        self.classes = classes

    @property
    def outputs(self) -> dict[str, Any]:
        named = {"classes": self.classes, "scores": self.scores}
        return {name: tensor for name, tensor in named.items() if tensor is not None}


class PredictOutput(ExportOutput):
    """Any tensors by name; a single one has the name "output". ValueError for what is no tensor."""

    def __init__(self, outputs: Any) -> None:
        self._outputs = dict(outputs) if isinstance(outputs, Mapping) else {"output": outputs}
        for key, value in self._outputs.items():
            if not isinstance(key, str) or not isinstance(value, Tensor | SparseTensor):
                _refuse(f"Prediction outputs must be tensors by name; got {key!r}: {value!r}")

    outputs: dict[str, Any] = read_only("outputs")


def _refuse(text: str) -> NoReturn:
    raise misuse(ValueError, text)
