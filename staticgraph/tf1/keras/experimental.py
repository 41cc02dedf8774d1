"""Layers of sequences and cosine schedules (TF1's `tf.keras.experimental`)."""

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.layers.feature_columns import SequenceFeatures
from staticgraph.tf1.keras.optimizers.schedules import Decay, arguments_of
from staticgraph.train import schedules

__all__ = [
    "CosineDecay",
    "CosineDecayRestarts",
    "LinearCosineDecay",
    "NoisyLinearCosineDecay",
    "SequenceFeatures",
]


class CosineDecay(Decay):
    """From `initial_learning_rate` down to `alpha` of it in `decay_steps`, along half a cosine."""

    __init__ = arguments_of(schedules.cosine_decay)


class CosineDecayRestarts(Decay):
    """`CosineDecay` again and again, each in `t_mul` times as many steps, from `m_mul` times the rate."""

    __init__ = arguments_of(schedules.cosine_decay_restarts)


class LinearCosineDecay(Decay):
    """The product of a line and a cosine of `num_periods` periods, both over `decay_steps`."""

    __init__ = arguments_of(schedules.linear_cosine_decay)


class NoisyLinearCosineDecay(Decay):
    """`LinearCosineDecay` with noise on the line, whose variance falls."""

    __init__ = arguments_of(schedules.noisy_linear_cosine_decay)


show_public_names(__name__)
