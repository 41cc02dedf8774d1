"""Optimizers of models (TF1's `tf.keras.optimizers`); those of `staticgraph.train` serve as well. Made by tools/type_stubs.py."""

from staticgraph.tf1.keras.optimizers import (
    schedules as schedules,
)
from staticgraph.tf1.keras.optimizers.adapters import (
    Adadelta as Adadelta,
    Adagrad as Adagrad,
    Adam as Adam,
    Adamax as Adamax,
    Ftrl as Ftrl,
    Nadam as Nadam,
    RMSprop as RMSprop,
    SGD as SGD,
)
from staticgraph.tf1.keras.optimizers.base import (
    Optimizer as Optimizer,
)
from staticgraph.tf1.keras.optimizers.named import (
    deserialize as deserialize,
    get as get,
    serialize as serialize,
)
