"""Inputs and outputs of exported models (TF1's `tf.estimator.export`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.estimator.export.outputs": (
            "ClassificationOutput ExportOutput PredictOutput RegressionOutput"
        ),
        "staticgraph.tf1.estimator.export.receivers": (
            "build_parsing_serving_input_receiver_fn build_raw_serving_input_receiver_fn "
            "ServingInputReceiver TensorServingInputReceiver"
        ),
    },
)
