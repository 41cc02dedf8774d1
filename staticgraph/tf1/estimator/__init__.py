"""Models that a function builds, with their training, evaluation and use (TF1's `tf.estimator`)."""

from staticgraph.tf1.estimator import export, inputs
from staticgraph.tf1.estimator.baseline import BaselineClassifier, BaselineEstimator, BaselineRegressor
from staticgraph.tf1.estimator.combined import (
    DNNLinearCombinedClassifier,
    DNNLinearCombinedEstimator,
    DNNLinearCombinedRegressor,
)
from staticgraph.tf1.estimator.dnn import DNNClassifier, DNNEstimator, DNNRegressor
from staticgraph.tf1.estimator.estimator import Estimator
from staticgraph.tf1.estimator.exporters import BestExporter, Exporter, FinalExporter, LatestExporter
from staticgraph.tf1.estimator.heads import BinaryClassHead, MultiClassHead, RegressionHead
from staticgraph.tf1.estimator.linear import LinearClassifier, LinearEstimator, LinearRegressor
from staticgraph.tf1.estimator.parsing import classifier_parse_example_spec, regressor_parse_example_spec
from staticgraph.tf1.estimator.run_config import RunConfig
from staticgraph.tf1.estimator.spec import EstimatorSpec, ModeKeys
from staticgraph.tf1.estimator.training import EvalSpec, TrainSpec, train_and_evaluate
from staticgraph.tf1.estimator.warm_start import WarmStartSettings

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
