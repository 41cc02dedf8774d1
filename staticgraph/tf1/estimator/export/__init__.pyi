"""Inputs and outputs of exported models (TF1's `tf.estimator.export`). Made by tools/type_stubs.py."""

from staticgraph.tf1.estimator.export.outputs import (
    ClassificationOutput as ClassificationOutput,
    ExportOutput as ExportOutput,
    PredictOutput as PredictOutput,
    RegressionOutput as RegressionOutput,
)
from staticgraph.tf1.estimator.export.receivers import (
    ServingInputReceiver as ServingInputReceiver,
    TensorServingInputReceiver as TensorServingInputReceiver,
    build_parsing_serving_input_receiver_fn as build_parsing_serving_input_receiver_fn,
    build_raw_serving_input_receiver_fn as build_raw_serving_input_receiver_fn,
)
