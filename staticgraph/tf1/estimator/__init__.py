"""Models that a function builds, with their training, evaluation and use (TF1's `tf.estimator`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.estimator.baseline": "BaselineClassifier BaselineEstimator BaselineRegressor",
        "staticgraph.tf1.estimator.combined": (
            "DNNLinearCombinedClassifier DNNLinearCombinedEstimator DNNLinearCombinedRegressor"
        ),
        "staticgraph.tf1.estimator.dnn": "DNNClassifier DNNEstimator DNNRegressor",
        "staticgraph.tf1.estimator.estimator": "Estimator",
        "staticgraph.tf1.estimator.extenders": "add_metrics",
        "staticgraph.tf1.estimator.exporters": "BestExporter Exporter FinalExporter LatestExporter",
        "staticgraph.tf1.estimator.heads": "BinaryClassHead MultiClassHead RegressionHead",
        "staticgraph.tf1.estimator.linear": "LinearClassifier LinearEstimator LinearRegressor",
        "staticgraph.tf1.estimator.parsing": "classifier_parse_example_spec regressor_parse_example_spec",
        "staticgraph.tf1.estimator.run_config": "RunConfig",
        "staticgraph.tf1.estimator.spec": "EstimatorSpec ModeKeys",
        "staticgraph.tf1.estimator.training": "EvalSpec train_and_evaluate TrainSpec",
        "staticgraph.tf1.estimator.warm_start": "WarmStartSettings",
    },
    modules={name: f"staticgraph.tf1.estimator.{name}" for name in ("experimental", "export", "inputs")},
)
