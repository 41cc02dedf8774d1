"""Normalizing flows: bijectors whose shifts and scales are computed by networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.control_flow.loops import while_loop
from staticgraph.layers.core import Dense, dense
from staticgraph.mathematics.math_ops import clip_by_value
from staticgraph.state.initializers import GlorotNormal
from staticgraph.state.template import make_template
from staticgraph.tf1.distributions.bijectors.base import Bijector


class MaskedAutoregressiveFlow(Bijector):
    """`y = x * exp(log_scale(y)) + shift(y)`, where element i of both depends on elements before i of y only.

    The inverse is one pass through the network. Forward takes one pass for each element of a vector.

    Args:
        shift_and_log_scale_fn: A function of y that returns the two, [..., n] each, or None for one of them:
            no shift, or no scale. `masked_autoregressive_default_template` makes one.
        is_constant_jacobian: If True, the scale is promised not to depend on y.
        validate_args: Accepted; there is nothing to check.
        unroll_loop: If True, the passes of forward are written one after the other; n must be known.
        name: The name of its operations, "masked_autoregressive_flow" by default.

    Raises:
        ValueError: By forward, with `unroll_loop`, if n is not known.

    >>> ds = sg.distributions
    >>> made = ds.bijectors.masked_autoregressive_default_template(hidden_layers=[16])
    >>> flow = ds.TransformedDistribution(
    ...     ds.MultivariateNormalDiag(sg.zeros([2])), ds.bijectors.MaskedAutoregressiveFlow(made)
    ... )
    >>> flow.log_prob(flow.sample(7)).shape.as_list()
    [7]
    """

    def __init__(
        self,
        shift_and_log_scale_fn: Callable[[Any], tuple[Any, Any]],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        unroll_loop: bool = False,
        name: str | None = None,
    ) -> None:
        self._network = shift_and_log_scale_fn
        self._unroll_loop = unroll_loop
        super().__init__(
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            forward_min_event_ndims=1,
            name=name or "masked_autoregressive_flow",
        )

    def _forward(self, x: Any) -> Any:
        count = x.shape.with_rank_at_least(1).as_list()[-1]
        y = sg.zeros_like(x, name="y0")
        if self._unroll_loop:
            if count is None:
                text = f"the last size of {x.name} {x.shape} is not known, as unroll_loop=True needs it"
                raise misuse(ValueError, text, made=[(x.name, x.op.where)])
            for _ in range(count):
                y = _scaled(x, *self._network(y))
            return y
        self._network(y)  # makes the variables outside of the loop
        end = sg.shape(x)[-1] if count is None else count

        def body(index: Any, before: Any) -> Any:
            after = _scaled(x, *self._network(before))
            after.set_shape(x.shape)
            return index + 1, after

        return while_loop(lambda index, _: index < end, body, (0, y))[1]

    def _inverse(self, y: Any) -> Any:
        return _unscaled(y, *self._network(y))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        _, log_scale = self._network(y)
        return sg.constant(0.0, y.dtype) if log_scale is None else -sg.reduce_sum(log_scale, axis=-1)

    def _log_growth(self, x: Any, y: Any) -> Any:
        return -self._inverse_log_det_jacobian(y)


class RealNVP(Bijector):
    """The first elements of a vector as they are, and the others scaled and shifted by a function of those.

    Args:
        num_masked: The number of elements that stay as they are, from 1 to n - 1.
        shift_and_log_scale_fn: A function of these elements and of the number of the others; it returns
            shift and logarithm of the scale, or None for one of them. `real_nvp_default_template` makes one.
        is_constant_jacobian: If True, the scale is promised not to depend on the elements.
        validate_args: Accepted; there is nothing to check.
        name: The name of its operations, "real_nvp" by default.

    Raises:
        ValueError: If `num_masked` is not positive; later, if vectors have no more elements.

    >>> made = sg.distributions.bijectors.real_nvp_default_template(hidden_layers=[16])
    >>> sg.distributions.bijectors.RealNVP(1, made).forward(sg.ones([5, 3])).shape.as_list()
    [5, 3]
    """

    def __init__(
        self,
        num_masked: int,
        shift_and_log_scale_fn: Callable[[Any, int], tuple[Any, Any]],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        if num_masked <= 0:
            raise misuse(ValueError, f"num_masked={num_masked} must be a positive integer")
        self._num_masked = num_masked
        self._network = shift_and_log_scale_fn
        super().__init__(
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            forward_min_event_ndims=1,
            name=name or "real_nvp",
        )

    def _parts(self, x: Any) -> tuple[Any, Any, Any, Any]:
        """Return the elements that stay, the others, their shift, and the logarithm of their scale."""
        count = _known_count(x)
        if self._num_masked >= count:
            text = f"num_masked={self._num_masked} must be smaller than the number of elements, {count}"
            raise misuse(ValueError, text, made=[(x.name, x.op.where)])
        first, rest = x[..., : self._num_masked], x[..., self._num_masked :]
        return first, rest, *self._network(first, count - self._num_masked)

    def _forward(self, x: Any) -> Any:
        first, *rest = self._parts(x)
        return sg.concat([first, _scaled(*rest)], axis=-1)

    def _inverse(self, y: Any) -> Any:
        first, *rest = self._parts(y)
        return sg.concat([first, _unscaled(*rest)], axis=-1)

    def _log_growth(self, x: Any, y: Any) -> Any:
        *_, log_scale = self._parts(x)
        return sg.constant(0.0, x.dtype) if log_scale is None else sg.reduce_sum(log_scale, axis=-1)


def _scaled(x: Any, shift: Any, log_scale: Any) -> Any:
    x = x if log_scale is None else x * sg.exp(log_scale)
    return x if shift is None else x + shift


def _unscaled(y: Any, shift: Any, log_scale: Any) -> Any:
    y = y if shift is None else y - shift
    return y if log_scale is None else y * sg.exp(-log_scale)


def _known_count(x: Any) -> int:
    """Return the last size of a tensor, which weights depend on."""
    count: int | None = x.shape.with_rank_at_least(1).as_list()[-1]
    if count is None:
        text = f"the last size of {x.name} {x.shape} must be known before the graph runs"
        raise misuse(NotImplementedError, text, made=[(x.name, x.op.where)])
    return count


def masked_dense(
    inputs: Any,
    units: int,
    num_blocks: int | None = None,
    exclusive: bool = False,
    kernel_initializer: Any = None,
    reuse: bool | None = None,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> sg.Tensor:
    """A dense layer in which a block of outputs depends on no later block of inputs.

    Args:
        inputs: [..., n], n known.
        units: The number of outputs.
        num_blocks: The number of blocks that inputs and outputs consist of.
        exclusive: If True, a block of outputs does not depend on the block of inputs at its own place either.
        kernel_initializer: The initializer of the kernel, `glorot_normal_initializer()` by default.
        reuse: If True, take the weights of the layer of this name.
        name: The name of the layer.
        *args: Arguments of `layers.Dense` after `units`.
        **kwargs: Arguments of `layers.Dense` by name.

    Returns:
        [..., units]

    Raises:
        NotImplementedError: If n is not known.
    """
    blocks = num_blocks if num_blocks is not None else 1
    mask = _mask(blocks, _known_count(inputs), units, exclusive, inputs.dtype.numpy)
    make = GlorotNormal() if kernel_initializer is None else kernel_initializer

    def masked(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return mask * make(shape, dtype=dtype)

    with sg.name_scope(name, "masked_dense", [inputs]):
        options: dict[str, Any] = {
            "kernel_initializer": masked,
            "kernel_constraint": lambda kernel: mask * kernel,
            "name": name,
            "_scope": name,
            "_reuse": reuse,
        }
        layer: Any = Dense  # which of its parameters are given is up to the caller
        made: sg.Tensor = layer(units, *args, **options, **kwargs)(inputs)
        return made


def _mask(blocks: int, inputs: int, outputs: int, exclusive: bool, dtype: Any) -> np.ndarray:
    """Return which inputs the outputs of a masked layer depend on: 1 or 0, [inputs, outputs]."""
    mask = np.zeros([outputs, inputs], dtype)
    wide, high = inputs // blocks, outputs // blocks
    for block in range(blocks):
        mask[(block + exclusive) * high :, block * wide : (block + 1) * wide] = 1
    return mask.T


def masked_autoregressive_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = sg.nn.relu,
    log_scale_min_clip: Any = -5.0,
    log_scale_max_clip: Any = 3.0,
    log_scale_clip_gradient: bool = False,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Callable[[Any], tuple[Any, Any]]:
    """Return a network of masked layers for `MaskedAutoregressiveFlow`; it makes its weights once.

    Args:
        hidden_layers: The sizes of the hidden layers, each at least the number of elements of a vector.
        shift_only: If True, there is no scale.
        activation: The activation of the hidden layers.
        log_scale_min_clip: The least logarithm of a scale.
        log_scale_max_clip: The largest one.
        log_scale_clip_gradient: If True, what is clipped has no gradient; by default the gradient passes.
        name: The name of the template, "masked_autoregressive_default_template" by default.
        *args: Arguments of `masked_dense` after `name`.
        **kwargs: Arguments of `masked_dense` by name.

    Returns:
        A function of vectors [..., n] that returns their shifts and logarithms of scales, [..., n] each.
    """
    name = name or "masked_autoregressive_default_template"

    def network(x: Any) -> tuple[Any, Any]:
        count = _known_count(x)
        shape = x.shape.as_list() if x.shape.is_fully_defined() else sg.shape(x)
        for number, units in enumerate(hidden_layers):
            exclusive = number == 0
            x = masked_dense(x, units, count, exclusive, *args, activation=activation, **kwargs)
        x = masked_dense(x, (1 if shift_only else 2) * count, count, *args, activation=None, **kwargs)
        if shift_only:
            return sg.reshape(x, shape), None
        shift, log_scale = sg.unstack(sg.reshape(x, sg.concat([shape, [2]], 0)), num=2, axis=-1)
        clipped = clip_by_value(log_scale, log_scale_min_clip, log_scale_max_clip)
        if not log_scale_clip_gradient:
            clipped = log_scale + sg.stop_gradient(clipped - log_scale)
        return shift, clipped

    template: Callable[[Any], tuple[Any, Any]] = make_template(name, network)
    return template


def real_nvp_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = sg.nn.relu,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Callable[[Any, int], tuple[Any, Any]]:
    """Return a network of dense layers for `RealNVP`; it makes its weights once.

    Args:
        hidden_layers: The sizes of the hidden layers.
        shift_only: If True, there is no scale.
        activation: The activation of the hidden layers.
        name: Accepted; the weights are in the scope "real_nvp_default_template".
        *args: Arguments of `layers.dense` after `activation`.
        **kwargs: Arguments of `layers.dense` by name.

    Returns:
        A function of vectors [..., d] and a number of outputs that returns shifts and logarithms of scales.
    """

    def network(x: Any, output_units: int) -> tuple[Any, Any]:
        for units in hidden_layers:
            x = dense(x, units, activation, *args, **kwargs)
        x = dense(x, (1 if shift_only else 2) * output_units, None, *args, **kwargs)
        if shift_only:
            return x, None
        shift, log_scale = sg.split(x, 2, axis=-1)
        return shift, log_scale

    template: Callable[[Any, int], tuple[Any, Any]] = make_template("real_nvp_default_template", network)
    return template
