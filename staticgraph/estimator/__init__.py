"""Models that a function builds, with their training, evaluation and use (TF1's `tf.estimator`)."""

from staticgraph.estimator import export, inputs
from staticgraph.estimator.baseline import BaselineClassifier, BaselineEstimator, BaselineRegressor
from staticgraph.estimator.combined import (
    DNNLinearCombinedClassifier,
    DNNLinearCombinedEstimator,
    DNNLinearCombinedRegressor,
)
from staticgraph.estimator.dnn import DNNClassifier, DNNEstimator, DNNRegressor
from staticgraph.estimator.estimator import Estimator
from staticgraph.estimator.exporters import BestExporter, Exporter, FinalExporter, LatestExporter
from staticgraph.estimator.heads import BinaryClassHead, MultiClassHead, RegressionHead
from staticgraph.estimator.linear import LinearClassifier, LinearEstimator, LinearRegressor
from staticgraph.estimator.parsing import classifier_parse_example_spec, regressor_parse_example_spec
from staticgraph.estimator.run_config import RunConfig
from staticgraph.estimator.spec import EstimatorSpec, ModeKeys
from staticgraph.estimator.training import EvalSpec, TrainSpec, train_and_evaluate
from staticgraph.estimator.warm_start import WarmStartSettings

__all__ = [
    "BaselineClassifier",
    "BaselineEstimator",
    "BaselineRegressor",
    "BestExporter",
    "BinaryClassHead",
    "DNNClassifier",
    "DNNEstimator",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedEstimator",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "Estimator",
    "EstimatorSpec",
    "EvalSpec",
    "Exporter",
    "FinalExporter",
    "LatestExporter",
    "LinearClassifier",
    "LinearEstimator",
    "LinearRegressor",
    "ModeKeys",
    "MultiClassHead",
    "RegressionHead",
    "RunConfig",
    "TrainSpec",
    "WarmStartSettings",
    "classifier_parse_example_spec",
    "export",
    "inputs",
    "regressor_parse_example_spec",
    "train_and_evaluate",
]
