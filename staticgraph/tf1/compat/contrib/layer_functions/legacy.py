"""`tf.contrib.layers.legacy_fully_connected`: a layer of the time before `fully_connected`."""

from __future__ import annotations

from functools import partial
from typing import Any

import staticgraph as sg
from staticgraph.building.sizes import size_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.state.initializers import GlorotUniform, Zeros

__all__ = ["legacy_fully_connected", "legacy_linear", "legacy_relu"]

_Keys = sg.GraphKeys


def legacy_fully_connected(
    x: Any,
    num_output_units: int,
    activation_fn: Any = None,
    weight_init: Any = GlorotUniform,
    bias_init: Any = Zeros,
    name: str | None = None,
    weight_collections: Any = (_Keys.WEIGHTS,),
    bias_collections: Any = (_Keys.BIASES,),
    output_collections: Any = (_Keys.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Any = None,
    bias_regularizer: Any = None,
) -> sg.Tensor:
    """`activation_fn(x @ weights + bias)` over the last axis, with variables `weights` and `bias`.

    Args:
        x: A tensor of rank 2 or more, whose last size is known.
        num_output_units: The last size of the result.
        activation_fn: The activation, or None.
        weight_init, bias_init: Initializers; `bias_init=None` for no bias.
        name: The name of the variable scope.
        weight_collections, bias_collections, output_collections: Collections that each joins.
        trainable: If False, the variables are not trained.
        weight_regularizer, bias_regularizer: Functions that give a loss of a variable.

    Returns:
        A tensor of the rank of `x`.

    Raises:
        ValueError: The rank is not known or below 2, or the last size is not known.
    """
    with sg.variable_scope(name, "fully_connected", [x]):
        x = sg.convert_to_tensor(x)
        rank = x.shape.ndims
        if rank is None or rank < 2 or x.shape[-1].value is None:
            text = f"legacy_fully_connected: x must have rank 2 or more and a known last size, not {x.shape}"
            raise misuse(ValueError, text)
        units = x.shape[-1].value
        everywhere = _Keys.GLOBAL_VARIABLES
        weights = sg.get_variable(
            "weights",
            [units, num_output_units],
            x.dtype,
            weight_init,
            weight_regularizer,
            trainable,
            [*(weight_collections or ()), everywhere],
        )
        y = sg.matmul(x if rank == 2 else sg.reshape(x, [-1, units]), weights)
        if bias_init is not None:
            collections = [*(bias_collections or ()), everywhere]
            y = y + sg.get_variable(
                "bias", [num_output_units], x.dtype, bias_init, bias_regularizer, trainable, collections
            )
        if rank > 2:
            y = sg.reshape(y, [*(size_of(x, axis) for axis in range(rank - 1)), num_output_units])
        if activation_fn is not None:
            y = activation_fn(y)
        sg.add_to_collections(list(output_collections or ()), y)
        return y


legacy_linear = partial(legacy_fully_connected, activation_fn=None)
legacy_relu = partial(legacy_fully_connected, activation_fn=sg.nn.relu)
