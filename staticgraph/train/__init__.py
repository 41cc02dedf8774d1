"""Optimizers, learning rate schedules, moving averages and the global step (TF1's `tf.train`)."""

from typing import TYPE_CHECKING, Any

from staticgraph.train.adadelta import AdadeltaOptimizer
from staticgraph.train.adagrad import AdagradOptimizer
from staticgraph.train.adagrad_da import AdagradDAOptimizer
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
from staticgraph.train.proximal import ProximalAdagradOptimizer, ProximalGradientDescentOptimizer
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

# What reads and writes files is imported when it is first used: few programs need it.
if TYPE_CHECKING:
    from staticgraph.train.checkpoint_state import (
        CheckpointState,
        checkpoint_exists,
        get_checkpoint_mtimes,
        get_checkpoint_state,
        latest_checkpoint,
        remove_checkpoint,
        update_checkpoint_state,
    )
    from staticgraph.train.saver import Saver

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "CheckpointState",
    "ExponentialMovingAverage",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "Optimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "RMSPropOptimizer",
    "Saver",
    "assert_global_step",
    "checkpoint_exists",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "inverse_time_decay",
    "latest_checkpoint",
    "linear_cosine_decay",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "remove_checkpoint",
    "update_checkpoint_state",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from staticgraph.train import checkpoint_state, saver

        return getattr(saver if name == "Saver" else checkpoint_state, name)
    raise AttributeError(f"module 'staticgraph.train' has no attribute {name!r}")
