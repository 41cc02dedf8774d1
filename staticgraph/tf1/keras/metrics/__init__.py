"""Metrics of models (TF1's `tf.keras.metrics`): classes that keep their state in variables, and functions."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.keras.losses": (
            "binary_crossentropy categorical_crossentropy hinge KLD kld kullback_leibler_divergence MAE mae "
            "MAPE mape mean_absolute_error mean_absolute_percentage_error mean_squared_error "
            "mean_squared_logarithmic_error MSE mse MSLE msle poisson sparse_categorical_crossentropy "
            "squared_hinge"
        ),
        "staticgraph.tf1.keras.metrics.base": "Mean MeanTensor Metric Sum",
        "staticgraph.tf1.keras.metrics.classes": (
            "Accuracy BinaryAccuracy BinaryCrossentropy CategoricalAccuracy CategoricalCrossentropy "
            "CategoricalHinge CosineSimilarity deserialize get Hinge KLDivergence LogCoshError "
            "MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError "
            "Poisson serialize SparseCategoricalAccuracy SparseCategoricalCrossentropy "
            "SparseTopKCategoricalAccuracy SquaredHinge TopKCategoricalAccuracy"
        ),
        "staticgraph.tf1.keras.metrics.confusion": (
            "AUC FalseNegatives FalsePositives Precision Recall SensitivityAtSpecificity "
            "SpecificityAtSensitivity TrueNegatives TruePositives"
        ),
        "staticgraph.tf1.keras.metrics.errors": "MeanIoU MeanRelativeError RootMeanSquaredError",
        "staticgraph.tf1.keras.metrics.functions": (
            "ACC acc accuracy binary_accuracy categorical_accuracy cosine cosine_proximity "
            "sparse_categorical_accuracy sparse_top_k_categorical_accuracy top_k_categorical_accuracy"
        ),
    },
)
