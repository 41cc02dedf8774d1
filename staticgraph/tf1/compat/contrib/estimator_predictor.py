"""`tf.contrib.predictor.from_estimator`: a trained estimator as a function of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.saved_model.predictor import Predictor
from staticgraph.formats.tf.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY

__all__ = ["from_estimator"]


def from_estimator(
    estimator: Any,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: Any = None,
    config: Any = None,
) -> Predictor:
    """Build the model of an estimator for predictions, with the variables of its latest checkpoint.

    Args:
        estimator: An `Estimator` that has been trained.
        serving_input_receiver_fn: A function that returns a ServingInputReceiver.
        output_key: Which of the model's `export_outputs`; "serving_default" by default.
        graph: The graph to build in; a new one by default.
        config: The ConfigProto of the session.

    Returns:
        A function from arrays by the names of the receiver to arrays by the names of the output.

    Raises:
        KeyError: The model has no such output.
    """
    graph = graph or sg.Graph()
    with graph.as_default():
        receiver = serving_input_receiver_fn()
        spec = estimator.model_fn(receiver.features, None, sg.estimator.ModeKeys.PREDICT, estimator.config)
        key = DEFAULT_SERVING_SIGNATURE_DEF_KEY if output_key is None else output_key
        outputs = spec.export_outputs or {}
        if key not in outputs:
            raise misuse(KeyError, f"from_estimator: output_key is {key!r}, not one of {sorted(outputs)}")
        creator = sg.train.ChiefSessionCreator(config=config, checkpoint_dir=estimator.model_dir)
        session: Any = sg.train.MonitoredSession(creator)
    return Predictor(session, receiver.receiver_tensors, outputs[key].outputs)
