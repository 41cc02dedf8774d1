"""Keras models as estimators (TF1's `tf.keras.estimator`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph import train
from staticgraph.building.inputs import group
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.estimator import Estimator, EstimatorSpec, ModeKeys
from staticgraph.tf1.estimator.export import PredictOutput
from staticgraph.tf1.keras import backend
from staticgraph.tf1.keras.engine.input_layer import Input
from staticgraph.tf1.keras.engine.structure import listed
from staticgraph.tf1.keras.models import clone_model, load_model
from staticgraph.tf1.keras.optimizers.native import NativeOptimizer


def model_to_estimator(
    keras_model: Any = None,
    keras_model_path: Any = None,
    custom_objects: Any = None,
    model_dir: Any = None,
    config: Any = None,
    checkpoint_format: str = "saver",
) -> Estimator:
    """An estimator that trains copies of a compiled model, which begin with the weights that it has now.

    `keras_model`, or `keras_model_path` of a saved one with its `custom_objects`. Features are a tensor, or a
    dict by the names of the model's inputs; the predictions have the names of its outputs. `model_dir` and
    `config`: see `Estimator`. ValueError for a model that is not compiled, and for both a model and a path.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> from staticgraph.keras.estimator import model_to_estimator
    >>> model = sg.keras.Sequential([sg.keras.layers.Dense(1, kernel_initializer="ones", input_shape=[2])])
    >>> model.compile("sgd", "mse")
    >>> data = sg.estimator.inputs.numpy_input_fn(np.float32([[1, 2]]), shuffle=False)
    >>> [float(found["dense"][0]) for found in model_to_estimator(model).predict(data)]
    [3.0]
    """
    if (keras_model is None) == (keras_model_path is None):
        _refuse("one of keras_model and keras_model_path must be given, and not both")
    model = load_model(keras_model_path, custom_objects) if keras_model is None else keras_model
    if not model._training:
        _refuse("The given keras model has not been compiled yet.", 'model.compile("adam", "mse")')
    initial = model.get_weights()
    loss, weights, metrics, weighted_metrics, _ = model._training["arguments"]

    def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        backend.set_learning_phase(int(mode == ModeKeys.TRAIN))
        made = clone_model(model, _inputs(model, features))

        def begin(scaffold: Any, session: Any) -> None:
            for variable, value in zip(made.weights, initial, strict=True):
                variable.load(value, session)

        scaffold = train.Scaffold(init_fn=begin)
        predictions = dict(zip(model.output_names, made.outputs, strict=True))
        if mode == ModeKeys.PREDICT:
            outputs = {"predict": PredictOutput(predictions)}
            return EstimatorSpec(mode, predictions, export_outputs=outputs, scaffold=scaffold)
        optimizer = _copied(model.optimizer)
        made.compile(optimizer, loss, metrics, weights, None, weighted_metrics, _targets(model, labels))
        goal = made._objective([None] * len(made.outputs))
        if mode == ModeKeys.EVAL:
            found = {metric.name: (metric.result(), goal.updates) for metric in made._metric_objects}
            return EstimatorSpec(mode, predictions, goal.total, None, found, scaffold=scaffold)
        steps = [*optimizer.get_updates(goal.total, made.trainable_weights), *made.updates]
        counted = train.get_global_step().assign_add(1)
        return EstimatorSpec(mode, predictions, goal.total, group(*steps, counted), scaffold=scaffold)

    return Estimator(model_fn, model_dir, config)


def _copied(optimizer: Any) -> Any:
    """An optimizer of the same kind with variables of its own."""
    if isinstance(optimizer, NativeOptimizer):
        return NativeOptimizer(optimizer.optimizer)
    return type(optimizer).from_config(optimizer.get_config())


def _inputs(model: Any, features: Any) -> Any:
    """The tensors of a model's inputs, in their order. ValueError if one is missing."""
    if isinstance(features, Mapping):
        features = _by_name(features, model.input_names, "feature")
    return [Input(tensor=tensor) for tensor in listed(features)]


def _targets(model: Any, labels: Any) -> Any:
    if not isinstance(labels, Mapping):
        return listed(labels)
    return _by_name(labels, model.output_names, "label")


def _by_name(tensors: Mapping[str, Any], names: Sequence[str], what: str) -> list[Any]:
    if set(tensors) != set(names):
        _refuse(
            f"the model wants a {what} for each of {', '.join(names)}, and there are {', '.join(tensors)}"
        )
    return [tensors[name] for name in names]


def _refuse(text: str, hint: str | None = None) -> None:
    raise misuse(ValueError, f"model_to_estimator: {text}", hint)
