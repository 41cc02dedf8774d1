"""Models of layers (TF1's `tf.keras`): `Sequential`, `Model`, and how they are trained, watched and saved.

They are graphs like any other: the tensors of a model can be fetched and fed in a `Session`, and `fit` runs
each training step as one prepared call of compiled code.
"""

from typing import TYPE_CHECKING

from staticgraph.compiler.support.lazy_names import lazy_names, show_public_names
from staticgraph.tf1.keras import (
    activations,
    backend,
    callbacks,
    constraints,
    datasets,
    initializers,
    layers,
    losses,
    metrics,
    models,
    optimizers,
    regularizers,
    utils,
)
from staticgraph.tf1.keras.engine.input_layer import Input
from staticgraph.tf1.keras.models import Model, Sequential

if TYPE_CHECKING:
    from staticgraph.tf1.keras import applications, preprocessing

_LAZY = {name: f"{__name__}.{name}" for name in ("applications", "preprocessing")}  # few programs use them
lazy_names(__name__, {}, _LAZY)

__all__ = [
    "Input",
    "Model",
    "Sequential",
    "activations",
    "applications",
    "backend",
    "callbacks",
    "constraints",
    "datasets",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "models",
    "optimizers",
    "preprocessing",
    "regularizers",
    "utils",
]

show_public_names(__name__)
