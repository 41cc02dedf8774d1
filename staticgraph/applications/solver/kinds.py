"""Layers, optimizers and schedules that a description can name, each with its parameters.

The parameters are those of the classes and functions themselves. The kind of value that a parameter takes
follows from its name, which means the same for all layers, or from its default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from staticgraph import train
from staticgraph.applications.solver.values import (
    AXES,
    COUNT,
    FLAG,
    FROM_ZERO,
    MARGIN,
    NOT_NEGATIVE,
    NUMBER,
    NUMBERS,
    POSITIVE,
    SHARE,
    SIZE,
    WHOLE,
    WHOLES,
    Kind,
    one_of,
)
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.tf1.keras import activations, constraints, initializers, layers, regularizers
from staticgraph.tf1.keras.engine.layer import Layer, snake_case

Maker = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """Kind of value that a parameter takes. It must be given if `required`."""

    kind: Kind
    required: bool


def _names(module: ModuleType) -> list[str]:
    """The names by which Keras knows the objects of a module."""
    return [name for name in module.__all__ if name.islower() and name not in _FUNCTIONS]


def _named(module: ModuleType, what: str) -> Kind:
    """A name that Keras knows, or a table with `type` and what that takes."""
    names = one_of(_names(module))

    def fits(value: Any) -> bool:
        return names.fits(value.get("type") if isinstance(value, dict) else value)

    makers = {name: getattr(module, name) for name in names.names}
    return Kind(f"{what}: {names.words}; or a table with that as its type", fits, names.names, makers=makers)


_FUNCTIONS = ("deserialize", "get", "serialize")
_ACTIVATION = one_of([*_names(activations), "relu6", "swish"])
_OF_WEIGHTS = {
    "_initializer": _named(initializers, "an initializer"),
    "_regularizer": _named(regularizers, "a regularizer"),
    "_constraint": _named(constraints, "a constraint"),
}
_KINDS = {
    "units": COUNT, "filters": COUNT, "input_dim": COUNT, "output_dim": COUNT, "n": COUNT,
    "depth_multiplier": COUNT, "kernel_size": SIZE, "strides": SIZE, "pool_size": SIZE, "size": SIZE,
    "dilation_rate": SIZE, "cropping": MARGIN, "target_shape": WHOLES, "dims": WHOLES, "axis": AXES,
    "rate": SHARE, "dropout": SHARE, "recurrent_dropout": SHARE, "stddev": NOT_NEGATIVE, "epsilon": POSITIVE,
    "value": NUMBER, "activation": _ACTIVATION, "recurrent_activation": _ACTIVATION, "seed": WHOLE,
    "interpolation": one_of(["nearest", "bilinear"]), "learning_rate": POSITIVE, "decay_steps": COUNT,
    "first_decay_steps": COUNT, "boundaries": WHOLES, "values": NUMBERS, "decay_rate": NOT_NEGATIVE,
    "num_periods": POSITIVE, "t_mul": POSITIVE, "m_mul": POSITIVE, "momentum": NOT_NEGATIVE,
    "label_smoothing": SHARE, "delta": POSITIVE,
}
# What the solver gives itself, what makes a layer return more than its output, and what changes nothing.
_HIDDEN = {
    "self", "name", "dtype", "dynamic", "trainable", "data_format", "weights", "noise_shape", "shared_axes",
    "stateful", "return_state", "time_major", "cell", "implementation", "input_length", "mask_zero", "fused",
    "renorm", "renorm_clipping", "renorm_momentum", "virtual_batch_size", "adjustment", "use_locking",
    "global_step", "x", "accum_name", "linear_name", "y_true", "y_pred", "from_logits", "output_padding",
}
_PLANNED = {"decay_steps"}  # by default a schedule takes as long as the training

_CLASSES = (
    layers.Dense, layers.Conv1D, layers.Conv2D, layers.Conv3D, layers.Conv2DTranspose,
    layers.SeparableConv1D, layers.SeparableConv2D, layers.DepthwiseConv2D,
    layers.MaxPooling1D, layers.MaxPooling2D, layers.MaxPooling3D,
    layers.AveragePooling1D, layers.AveragePooling2D, layers.AveragePooling3D,
    layers.GlobalMaxPooling1D, layers.GlobalMaxPooling2D, layers.GlobalMaxPooling3D,
    layers.GlobalAveragePooling1D, layers.GlobalAveragePooling2D, layers.GlobalAveragePooling3D,
    layers.Activation, layers.LeakyReLU, layers.PReLU, layers.ELU, layers.ThresholdedReLU, layers.Softmax,
    layers.Dropout, layers.SpatialDropout1D, layers.SpatialDropout2D, layers.SpatialDropout3D,
    layers.AlphaDropout, layers.GaussianDropout, layers.GaussianNoise,
    layers.BatchNormalization, layers.LayerNormalization,
    layers.Flatten, layers.Reshape, layers.Permute, layers.RepeatVector,
    layers.ZeroPadding1D, layers.ZeroPadding2D, layers.ZeroPadding3D,
    layers.Cropping1D, layers.Cropping2D, layers.Cropping3D,
    layers.UpSampling1D, layers.UpSampling2D, layers.UpSampling3D,
    layers.Embedding, layers.SimpleRNN, layers.GRU, layers.LSTM,
    layers.Add, layers.Subtract, layers.Multiply, layers.Average, layers.Maximum, layers.Minimum,
    layers.Concatenate,
)
# snake_case makes re_lu of ReLU.
_SPELLED: dict[Any, str] = {
    layers.LeakyReLU: "leaky_relu",
    layers.PReLU: "prelu",
    layers.ThresholdedReLU: "thresholded_relu",
}

LAYERS: dict[str, Maker] = {_SPELLED.get(made, snake_case(made.__name__)): made for made in _CLASSES}
MERGING = {"add", "subtract", "multiply", "average", "maximum", "minimum", "concatenate"}  # several inputs

OPTIMIZERS: dict[str, Maker] = {
    "adadelta": train.AdadeltaOptimizer,
    "adagrad": train.AdagradOptimizer,
    "adagrad_da": train.AdagradDAOptimizer,
    "adam": train.AdamOptimizer,
    "ftrl": train.FtrlOptimizer,
    "gradient_descent": train.GradientDescentOptimizer,
    "momentum": train.MomentumOptimizer,
    "proximal_adagrad": train.ProximalAdagradOptimizer,
    "proximal_gradient_descent": train.ProximalGradientDescentOptimizer,
    "rmsprop": train.RMSPropOptimizer,
}
SCHEDULES: dict[str, Maker] = {
    made.__name__: made
    for made in (
        train.cosine_decay, train.cosine_decay_restarts, train.exponential_decay, train.inverse_time_decay,
        train.linear_cosine_decay, train.natural_exp_decay, train.noisy_linear_cosine_decay,
        train.piecewise_constant, train.polynomial_decay,
    )
}


@cache
def parameters(made: Maker) -> dict[str, Parameter]:
    """Return the parameters that a description may give a layer, optimizer, schedule or loss, by name.

    >>> list(parameters(LAYERS["dropout"])), parameters(LAYERS["dropout"])["rate"].required
    (['rate', 'seed'], True)
    """
    found = {}
    for parameter in _signature(made):
        kind = None if parameter.name in _HIDDEN else _kind(parameter)
        if kind is not None and parameter.name not in found:
            required = parameter.default is parameter.empty and parameter.name not in _PLANNED
            found[parameter.name] = Parameter(kind, required)
    return found


def _signature(made: Maker) -> list[inspect.Parameter]:
    """The parameters of a function or a class; of its bases, and of a cell, as far as they are passed on."""
    if not isinstance(made, type):
        return list(inspect.signature(made).parameters.values())
    found: list[inspect.Parameter] = []
    for chain in (made.__mro__, getattr(getattr(made, "cell_class", None), "__mro__", ())):
        for base in chain:
            if base is Layer:
                break
            if "__init__" in vars(base):
                own = list(inspect.signature(vars(base)["__init__"]).parameters.values())
                found += own
                if all(p.kind is not p.VAR_POSITIONAL for p in own):
                    break
    return [p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _kind(parameter: inspect.Parameter) -> Kind | None:
    """Return the kind of value that a parameter takes, or None if no text of a description can be one."""
    name, default = parameter.name, parameter.default
    for ending, kind in _OF_WEIGHTS.items():
        if name.endswith(ending):
            return kind
    if name == "padding":
        return one_of(["valid", "same"]) if isinstance(default, str) else MARGIN
    if name in _KINDS:
        return _KINDS[name]
    if isinstance(default, bool) or parameter.annotation == "bool":
        return FLAG
    if isinstance(default, float) or "float" in str(parameter.annotation):
        return NUMBER
    return FROM_ZERO if isinstance(default, int) else None
