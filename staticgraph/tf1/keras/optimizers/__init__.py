"""Optimizers of models (TF1's `tf.keras.optimizers`); those of `staticgraph.train` serve as well."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.keras.optimizers.adapters": "Adadelta Adagrad Adam Adamax Ftrl Nadam RMSprop SGD",
        "staticgraph.tf1.keras.optimizers.base": "Optimizer",
        "staticgraph.tf1.keras.optimizers.named": "deserialize get serialize",
    },
    modules={"schedules": "staticgraph.tf1.keras.optimizers.schedules"},
)
