"""Batch normalization."""

from __future__ import annotations

from functools import partial
from typing import Any

from staticgraph import nn
from staticgraph.arrays.casts import of_dtype
from staticgraph.building.framework import checked
from staticgraph.building.inputs import constant
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bfloat16, float16, float32
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.recording.op_count import (
    BackwardCount,
    count_backward,
    counted_as,
    op_count,
    set_op_count,
)
from staticgraph.compiler.graph.shapes import TensorShape, normalize_axis
from staticgraph.compiler.graph.static_value import decided
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.layers.adapters import function_of
from staticgraph.state.initializers import Ones, Zeros
from staticgraph.state.layer import Layer, known_size, variable_options
from staticgraph.state.moving_averages import assign_moving_average
from staticgraph.state.replicas import VariableAggregation
from staticgraph.state.scopes import get_variable_scope

_BRANCHES_OF_FUSED = 36  # operations of TensorFlow's fused normalization if a tensor tells that it trains


class BatchNormalization(Layer):
    """`gamma * (x - mean) / sqrt(variance + epsilon) + beta`, with the statistics of all axes but `axis`.

    In training, mean and variance are those of the batch, and `moving_mean` and `moving_variance` follow them
    with `moving = moving * momentum + batch * (1 - momentum)`; otherwise the moving ones are used. The two
    updates are in the collection UPDATE_OPS, and `minimize` runs those that belong to its loss. If `axis` is
    a list of several axes, the weights have the rank of the input, and size 1 along all other axes.

    Args:
        renorm: If True, training normalizes by slowly moving statistics: batch renormalization
            (https://arxiv.org/abs/1702.03275). `r` and `d`, the ratio of the batch's deviation to the moving
            one and the distance of the means in units of it, are constants for the gradient.
        renorm_clipping: Bounds `rmin` and `rmax` of r and `dmax` of the absolute value of d, in a dict; a
            key that is missing sets no bound.
        renorm_momentum: The momentum of the statistics that `renorm` uses.
        virtual_batch_size: If given, each such part of a batch is normalized by its own statistics. It
            divides the size of the batch.
        adjustment: A function of the shape of the inputs, an int32 vector, that returns a scale and a shift
            for the normalized inputs, both of a shape that broadcasts. They are used in training only.
    """

    _weights_in_order = ("gamma", "beta")
    _zero_debias_mean = False  # `tf.contrib.layers.batch_norm` may ask for it

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = Zeros,
        gamma_initializer: Any = Ones,
        moving_mean_initializer: Any = Zeros,
        moving_variance_initializer: Any = Ones,
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trainable, name, **options)
        self.renorm = renorm
        self.renorm_clipping = renorm_clipping or {}
        self.renorm_momentum = renorm_momentum
        self.virtual_batch_size = virtual_batch_size
        self.adjustment = adjustment
        self._is_plain = not renorm and virtual_batch_size is None and adjustment is None
        if not self._is_plain:
            from staticgraph.layers.renormalization import check_options  # few layers have any

            check_options(self)
        self.axis = axis
        self.momentum = momentum
        self.epsilon = epsilon
        self.center, self.scale = center, scale
        self.fused = fused
        self.beta_options = variable_options(beta_initializer, beta_regularizer, beta_constraint)
        self.gamma_options = variable_options(gamma_initializer, gamma_regularizer, gamma_constraint)
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer

    def build(self, input_shape: Any) -> None:
        input_shape = TensorShape(input_shape)
        rank = input_shape.ndims
        if rank is None:
            raise misuse(ValueError, f"{self.label}: the number of axes of the input must be known")
        virtual = self.virtual_batch_size is not None
        given = self.axis if isinstance(self.axis, list | tuple) else [self.axis]
        with checked(self.label):
            self._axes = [normalize_axis(axis, rank) for axis in given]
            twice = next((axis for axis in self._axes if self._axes.count(axis) > 1), None)
            require(twice is None, f"axis {twice} is given twice")
            require(not (virtual and 0 in self._axes), "axis 0 is the batch's if virtual_batch_size is given")
        # The fused operation also divides the moving variance by n - 1, as TF1 does for images.
        self._is_fused = self._is_plain and self.fused is not False and rank == 4 and self._axes in ([1], [3])
        size = [known_size(input_shape, axis, self.label) for axis in self._axes]
        if len(size) > 1 or virtual:  # as in TF1, with the other axes
            sizes = dict(zip(self._axes, size, strict=True))
            size = [sizes.get(axis, 1) for axis in range(rank)]
            size[1:1] = [1] * virtual  # the axis of the virtual batches
        dtype = float32 if self.dtype in (float16, bfloat16) else self.dtype
        self.gamma = self.beta = None
        for name in self._weights_in_order:
            options, wanted = (
                (self.gamma_options, self.scale) if name == "gamma" else (self.beta_options, self.center)
            )
            setattr(self, name, self.add_weight(name, size, dtype, **options) if wanted else None)
        followed = partial(
            self.add_weight, shape=size, dtype=dtype, trainable=False, aggregation=VariableAggregation.MEAN
        )
        scope = get_variable_scope()
        partitioner = scope.partitioner
        scope.set_partitioner(None)  # what follows is assigned as a whole
        try:
            self.moving_mean = followed("moving_mean", initializer=self.moving_mean_initializer)
            self.moving_variance = followed("moving_variance", initializer=self.moving_variance_initializer)
            if self.renorm:
                from staticgraph.layers.renormalization import root_of

                deviation = root_of(self.moving_variance_initializer)
                self.moving_stddev = followed("moving_stddev", initializer=deviation)
                self.renorm_mean = followed("renorm_mean", initializer=self.moving_mean_initializer)
                self.renorm_stddev = followed("renorm_stddev", initializer=deviation)
        finally:
            scope.set_partitioner(partitioner)

    def call(self, inputs: Tensor, training: Any = False) -> Tensor:
        training = decided(training)
        form = self._fused if self._is_fused else self._composed if self._is_plain else self._with_options
        outputs: Tensor = form(inputs, training)
        outputs.set_shape(inputs.shape)  # `training` may be of unknown shape
        return outputs

    def _with_options(self, inputs: Tensor, training: Any) -> Tensor:
        """The outputs with renormalization, virtual batches or an adjustment."""
        from staticgraph.layers import renormalization  # few layers have any

        return renormalization.normalized(self, inputs, training)

    def _fused(self, inputs: Tensor, training: Any) -> Any:
        normalize = self._fused_operation(inputs)
        start = op_count(inputs.graph)
        known: Any = None
        trained: Any = None
        mean = variance = None
        if training is not True:
            known, _, _ = normalize(mean=self.moving_mean, variance=self.moving_variance, is_training=False)
        if training is not False:
            trained, mean, variance = normalize(is_training=True)
        momentum = constant(self.momentum)  # made in any case, as in TF1: seeds of later operations count it
        if training is False:
            return known
        self._follow(mean, variance, momentum, training)
        if training is True:
            return trained
        outputs = ops.select(training, trained, known)
        count_backward(outputs, BackwardCount(1, gates=3))
        for normalized, gates in (
            (trained, 6),
            (known, 4),
        ):  # branches capture their inputs
            count_backward(normalized, BackwardCount(6, by_input=6, gates=gates))
        set_op_count(inputs.graph, start + _BRANCHES_OF_FUSED)
        return outputs

    def _fused_operation(self, inputs: Tensor) -> Any:
        """The fused operation on `inputs`, with ones and zeros for weights that the layer does not have."""
        size, dtype = self.moving_mean.shape.as_list(), self.moving_mean.dtype
        gamma = self.gamma if self.gamma is not None else constant(1.0, dtype, size)
        beta = self.beta if self.beta is not None else constant(0.0, dtype, size)
        order = "NHWC" if self._axes == [3] else "NCHW"
        return partial(nn.fused_batch_norm, inputs, gamma, beta, epsilon=self.epsilon, data_format=order)

    def _composed(self, inputs: Tensor, training: Any) -> Tensor:
        mean: Any = self.moving_mean
        variance: Any = self.moving_variance
        if training is not False:
            batch_mean, batch_variance = self._moments(inputs)
            self._follow(batch_mean, batch_variance, self.momentum, training)
            mean, variance = self._statistics(batch_mean, batch_variance, training)
        return self._normalized(inputs, mean, variance)

    def _statistics(self, mean: Tensor, variance: Tensor, training: Any) -> tuple[Any, Any]:
        """Return those of the batch if `training`, else the moving ones."""
        if training is True:
            return mean, variance
        with counted_as(mean.graph, 14):  # branches in TensorFlow
            chosen_mean = ops.select(training, mean, self.moving_mean)
            chosen_variance = ops.select(training, variance, self.moving_variance)
        for chosen in (chosen_mean, chosen_variance):
            count_backward(chosen, BackwardCount(7, gates=3))
        return chosen_mean, chosen_variance

    def _moments(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        others = [d for d in range(len(inputs.shape)) if d not in self._axes]
        inputs = of_dtype(inputs, self.moving_mean.dtype)
        return nn.moments(inputs, others, keep_dims=len(self._axes) > 1)

    def _normalized(self, inputs: Tensor, mean: Any, variance: Any) -> Tensor:
        """The inputs less `mean`, over the root of `variance`, scaled and shifted by the weights."""
        values = [self._spread(v, len(inputs.shape)) for v in (mean, variance, self.beta, self.gamma)]
        return self._transformed(inputs, *values)

    def _transformed(self, inputs: Tensor, *values: Any) -> Tensor:
        """The same with `values`, mean, variance, shift and scale, in shapes that broadcast."""
        mean, variance, offset, scale = (v if v is None else of_dtype(v, inputs.dtype) for v in values)
        return nn.batch_normalization(inputs, mean, variance, offset, scale, self.epsilon)

    def _spread(self, value: Any, rank: int) -> Any:
        """A value for each element of `axis`, or None, in a shape that broadcasts to inputs of this rank."""
        if value is None or self._axes == [rank - 1] or len(self._axes) > 1:
            return value
        return ops.reshape(value, shape=[-1 if d in self._axes else 1 for d in range(rank)])

    def _follow(self, mean: Any, variance: Any, momentum: Any, training: Any) -> None:
        """Make the updates of the moving statistics."""
        followed = ((self.moving_mean, mean, self._zero_debias_mean), (self.moving_variance, variance, False))
        for moving, batch, zero_debias in followed:
            batch = of_dtype(batch, moving.dtype)
            follow = partial(assign_moving_average, moving, batch, momentum, zero_debias=zero_debias)
            if not isinstance(training, Tensor):
                self.add_update(follow())
            elif zero_debias:  # it counts its steps
                from staticgraph.control_flow.branches import cond

                self.add_update(cond(training, follow, moving.read_value))
            else:
                with counted_as(training.graph, 13):  # a branch in TensorFlow
                    batch = ops.select(training, batch, moving)  # outside training it follows itself
                    self.add_update(assign_moving_average(moving, batch, momentum, zero_debias=False))


@function_of(
    BatchNormalization,
    order="axis momentum epsilon center scale beta_initializer gamma_initializer moving_mean_initializer "
    "moving_variance_initializer beta_regularizer gamma_regularizer beta_constraint gamma_constraint "
    "training trainable name reuse renorm renorm_clipping renorm_momentum fused virtual_batch_size "
    "adjustment",
)
def batch_normalization(inputs: Any, *args: Any, **options: Any) -> Any:
    """A new `BatchNormalization` layer applied to `inputs`; `training` is a bool or a bool tensor.

    >>> import staticgraph as sg
    >>> training = sg.placeholder_with_default(False, [], name="training")
    >>> x = sg.placeholder(sg.float32, [None, 4])
    >>> y = sg.layers.batch_normalization(x, training=training)
    >>> [op.name for op in sg.get_collection(sg.GraphKeys.UPDATE_OPS)]
    ['batch_normalization/AssignMovingAvg', 'batch_normalization/AssignMovingAvg_1']
    """
