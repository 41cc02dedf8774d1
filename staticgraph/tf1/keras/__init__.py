"""Models of layers (TF1's `tf.keras`): `Sequential`, `Model`, and how they are trained, watched and saved.

They are graphs like any other: the tensors of a model can be fetched and fed in a `Session`, and `fit` runs
each training step as one prepared call of compiled code.
"""

from staticgraph.compiler.support.lazy_names import lazy_names

_MODULES = (
    "activations applications backend callbacks constraints datasets experimental initializers layers losses "
    "metrics models optimizers preprocessing regularizers utils"
)

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.keras.engine.input_layer": "Input",
        "staticgraph.tf1.keras.models": "Model Sequential",
    },
    modules={name: f"{__name__}.{name}" for name in _MODULES.split()},
)
