"""Optimizers, learning rate schedules, moving averages and the global step (TF1's `tf.train`)."""

from staticgraph.train.adadelta import AdadeltaOptimizer
from staticgraph.train.adagrad import AdagradOptimizer
from staticgraph.train.adam import AdamOptimizer
from staticgraph.train.ftrl import FtrlOptimizer
from staticgraph.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from staticgraph.train.gradient_descent import GradientDescentOptimizer
from staticgraph.train.momentum import MomentumOptimizer
from staticgraph.train.moving_averages import ExponentialMovingAverage
from staticgraph.train.optimizer import Optimizer
from staticgraph.train.rmsprop import RMSPropOptimizer
from staticgraph.train.schedules import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    piecewise_constant_decay,
    polynomial_decay,
)

__all__ = [
    "AdadeltaOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "ExponentialMovingAverage",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "Optimizer",
    "RMSPropOptimizer",
    "assert_global_step",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "inverse_time_decay",
    "linear_cosine_decay",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
]
