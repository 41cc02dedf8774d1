"""Signatures: which tensors a graph takes and gives when it is served, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from staticgraph.compiler.graph.dtypes import float32, string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.messages.meta_graph import SignatureDef, TensorInfo
from staticgraph.formats.tf.messages.types import dtype_of
from staticgraph.formats.tf.saved_model import signature_constants as names
from staticgraph.formats.tf.saved_model.utils import build_tensor_info

__all__ = [
    "build_signature_def",
    "classification_signature_def",
    "is_valid_signature",
    "predict_signature_def",
    "regression_signature_def",
]


def build_signature_def(
    inputs: Mapping[str, TensorInfo] | None = None,
    outputs: Mapping[str, TensorInfo] | None = None,
    method_name: str | None = None,
) -> SignatureDef:
    """The signature of these inputs and outputs, which are messages: `build_tensor_info` makes them."""
    return SignatureDef(inputs=dict(inputs or {}), outputs=dict(outputs or {}), method_name=method_name)


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> SignatureDef:
    """The signature of any function, from tensors by name. ValueError if there are none.

    >>> import staticgraph as sg
    >>> with sg.Graph().as_default():
    ...     x = sg.placeholder(sg.float32, [None], name="x")
    ...     made = predict_signature_def({"x": x}, {"y": sg.exp(x, name="y")})
    >>> made.outputs["y"].name, made.method_name
    ('y:0', 'tensorflow/serving/predict')
    """
    _given("Prediction", inputs=inputs, outputs=outputs)
    return _built(inputs, outputs, names.PREDICT_METHOD_NAME)


def regression_signature_def(examples: Any, predictions: Any) -> SignatureDef:
    """The signature of a function from serialized examples, strings, to float32 numbers. ValueError for
    others.
    """
    _given("Regression", examples=examples, predictions=predictions)
    _of_dtype("Regression", "input", examples, string)
    _of_dtype("Regression", "output", predictions, float32)
    outputs = {names.REGRESS_OUTPUTS: predictions}
    return _built({names.REGRESS_INPUTS: examples}, outputs, names.REGRESS_METHOD_NAME)


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> SignatureDef:
    """The signature of a function from serialized examples, strings, to the names of classes, strings, to
    their scores, float32, or to both. ValueError for others.
    """
    _given("Classification", examples=examples)
    if classes is None and scores is None:
        raise misuse(ValueError, "Classification classes and scores cannot both be None.")
    _of_dtype("Classification", "input", examples, string)
    outputs = {}
    if classes is not None:
        _of_dtype("Classification", "classes output", classes, string)
        outputs[names.CLASSIFY_OUTPUT_CLASSES] = classes
    if scores is not None:
        _of_dtype("Classification", "scores output", scores, float32)
        outputs[names.CLASSIFY_OUTPUT_SCORES] = scores
    return _built({names.CLASSIFY_INPUTS: examples}, outputs, names.CLASSIFY_METHOD_NAME)


def is_valid_signature(signature_def: SignatureDef | None) -> bool:
    """Return True if a signature has a method of TensorFlow Serving, and the method's inputs and outputs."""
    if signature_def is None:
        return False
    inputs, outputs = signature_def.inputs, signature_def.outputs
    match signature_def.method_name:
        case names.PREDICT_METHOD_NAME:
            return bool(inputs) and bool(outputs)
        case names.REGRESS_METHOD_NAME:
            told = _dtypes(inputs) == {names.REGRESS_INPUTS: string}
            return told and _dtypes(outputs) == {names.REGRESS_OUTPUTS: float32}
        case names.CLASSIFY_METHOD_NAME:
            allowed = {names.CLASSIFY_OUTPUT_CLASSES: string, names.CLASSIFY_OUTPUT_SCORES: float32}
            given = _dtypes(outputs)
            told = _dtypes(inputs) == {names.CLASSIFY_INPUTS: string}
            return told and bool(given) and given.items() <= allowed.items()
    return False


def _dtypes(infos: Mapping[str, TensorInfo]) -> dict[str, Any]:
    return {name: dtype_of(info.dtype) for name, info in infos.items()}


def _built(inputs: Mapping[str, Any], outputs: Mapping[str, Any], method: str) -> SignatureDef:
    return build_signature_def(
        {name: build_tensor_info(tensor) for name, tensor in inputs.items()},
        {name: build_tensor_info(tensor) for name, tensor in outputs.items()},
        method,
    )


def _given(kind: str, **values: Any) -> None:
    for name, value in values.items():
        if value is None or (isinstance(value, Mapping) and not value):
            what = "None" if value is None else "empty"
            raise misuse(ValueError, f"{kind} {name} cannot be {what}.")


def _of_dtype(kind: str, what: str, tensor: Any, dtype: Any) -> None:
    if tensor.dtype is not dtype:
        text = f"{kind} {what} tensors must be of type {dtype.name}: {tensor.name} is {tensor.dtype.name}"
        raise misuse(ValueError, text)
