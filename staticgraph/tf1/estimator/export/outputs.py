"""Outputs of an exported model, by kind: numbers, classes or named tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.tf.messages.meta_graph import SignatureDef
from staticgraph.formats.tf.saved_model.signature_def_utils import (
    classification_signature_def,
    predict_signature_def,
    regression_signature_def,
)
from staticgraph.sparse.tensor import SparseTensor


class ExportOutput:
    """The tensors that one signature of an exported model gives."""

    @property
    def outputs(self) -> dict[str, Any]:
        """The tensors by name."""
        raise NotImplementedError

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> SignatureDef:
        """Return the signature of a SavedModel that gives these outputs.

        Args:
            receiver_tensors: The tensors that the model is fed with, by name.

        Raises:
            ValueError: Classes and numbers are given for examples in one string tensor, and this is none.
        """
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

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> SignatureDef:
        return regression_signature_def(_examples(receiver_tensors, "Regression"), self.value)


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

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> SignatureDef:
        examples = _examples(receiver_tensors, "Classification")
        return classification_signature_def(examples, self.classes, self.scores)


class PredictOutput(ExportOutput):
    """Any tensors by name; a single one has the name "output". ValueError for what is no tensor."""

    def __init__(self, outputs: Any) -> None:
        self._outputs = dict(outputs) if isinstance(outputs, Mapping) else {"output": outputs}
        for key, value in self._outputs.items():
            if not isinstance(key, str) or not isinstance(value, Tensor | SparseTensor):
                _refuse(f"Prediction outputs must be tensors by name; got {key!r}: {value!r}")

    outputs: dict[str, Any] = read_only("outputs")

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> SignatureDef:
        return predict_signature_def(receiver_tensors, self._outputs)


def _examples(receiver_tensors: Mapping[str, Any], kind: str) -> Tensor:
    given = list(receiver_tensors.values())
    if len(given) != 1 or not isinstance(given[0], Tensor) or given[0].dtype is not string:
        _refuse(f"{kind} signatures take one string tensor of examples; got {dict(receiver_tensors)!r}")
    return given[0]


def _refuse(text: str) -> NoReturn:
    raise misuse(ValueError, text)
