"""Models of layers (TF1's `tf.keras`): `Sequential`, `Model`, and how they are trained, watched and saved.

They are graphs like any other: the tensors of a model can be fetched and fed in a `Session`, and `fit` runs
each training step as one prepared call of compiled code.
 Made by tools/type_stubs.py."""

from staticgraph.tf1.keras import (
    activations as activations,
    applications as applications,
    backend as backend,
    callbacks as callbacks,
    constraints as constraints,
    datasets as datasets,
    experimental as experimental,
    initializers as initializers,
    layers as layers,
    losses as losses,
    metrics as metrics,
    models as models,
    optimizers as optimizers,
    preprocessing as preprocessing,
    regularizers as regularizers,
    utils as utils,
)
from staticgraph.tf1.keras.engine.input_layer import (
    Input as Input,
)
from staticgraph.tf1.keras.models import (
    Model as Model,
    Sequential as Sequential,
)
