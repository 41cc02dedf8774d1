"""Layers of one step: products, activations, shapes, functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph import nn
from staticgraph.arrays import array_ops
from staticgraph.arrays.casts import cast
from staticgraph.building.inputs import identity
from staticgraph.building.signatures import like
from staticgraph.compiler.graph.checks.arguments import function_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.static_value import decided
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.layers import core
from staticgraph.layers.adapters import with_weights
from staticgraph.state.input_spec import InputSpec
from staticgraph.state.layer import known_size
from staticgraph.tf1.keras import activations, regularizers
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.engine.arguments import GLOROT, resolved, weight_options
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.engine.structure import of_shapes
from staticgraph.tf1.keras.serialization import find, get_custom_objects
from staticgraph.tf1.keras.settings import checked_format

# So many operations more TensorFlow makes to take the size of a batch into a new shape.
_SIZE_TAKEN = 6


class Dense(core.Dense, Layer):
    """`activation(inputs @ kernel + bias)` along the last axis.

    >>> import staticgraph as sg
    >>> sg.keras.layers.Dense(3, activation="relu")(sg.keras.Input([5, 4])).shape.as_list()
    [None, 5, 3]
    """

    config_names = (
        "units",
        "activation",
        "use_bias",
        "kernel_options",
        "bias_options",
        "activity_regularizer",
    )

    @like(core.Dense, "trainable name", **GLOROT)
    def __init__(self, **given: Any) -> None:
        if "input_shape" not in given and "input_dim" in given:
            given["input_shape"] = (given.pop("input_dim"),)
        super().__init__(**resolved(given))
        self.supports_masking = True
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: Any) -> None:
        self.input_spec = InputSpec(min_ndim=2, axes={-1: known_size(input_shape, -1, self.name)})
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        return super().call(inputs if inputs.dtype.is_floating else cast(inputs, self.dtype))


class Activation(Layer):
    """A function of each element, given by name or as a function.

    >>> sg.Session().run(sg.keras.layers.Activation("relu")(sg.constant([-1.0, 2.0])))
    array([0., 2.], dtype=float32)
    """

    config_names = ("activation",)

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


class Dropout(core.Dropout, Layer):
    """In training, each element is zero with probability `rate`, and the others are enlarged to make up.

    >>> x = sg.ones([2, 4])
    >>> sg.Session().run(sg.keras.layers.Dropout(0.5)(x, training=False))
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]], dtype=float32)
    """

    config_names = ("rate", "noise_shape", "seed")

    def __init__(self, rate: Any, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(rate, noise_shape, seed, **kwargs)
        self.supports_masking = True

    def _noise_shape(self, inputs: Any) -> Any:
        return self.noise_shape

    def call(self, inputs: Any, training: Any = None) -> Any:
        shape = self._noise_shape(inputs)
        training = decided(K.learning_phase() if training is None else training)
        if isinstance(training, Tensor):
            return self._in_training(inputs, training, shape)
        return K.in_train_phase(
            lambda: nn.dropout(inputs, rate=self.rate, noise_shape=shape, seed=self.seed),
            lambda: identity(inputs),
            training,
        )


class _SpatialDropout(Dropout):
    """Dropout of whole channels."""

    rank = 0

    def __init__(self, rate: Any, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.input_spec = InputSpec(ndim=self.rank + 2)
        self.data_format = "channels_last"

    def _noise_shape(self, inputs: Any) -> Any:
        sizes, ones = array_ops.shape(inputs), [1] * self.rank
        last = self.data_format == "channels_last"
        return array_ops.stack([sizes[0], *ones, sizes[-1]] if last else [sizes[0], sizes[1], *ones])

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        for name in ("noise_shape", "seed"):
            config.pop(name)
        return config


class SpatialDropout1D(_SpatialDropout):
    """Dropout of whole channels of sequences."""

    rank = 1


class SpatialDropout2D(_SpatialDropout):
    """Dropout of whole channels of images."""

    rank = 2

    def __init__(self, rate: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.data_format = checked_format(data_format)


class SpatialDropout3D(SpatialDropout2D):
    """Dropout of whole channels of volumes."""

    rank = 3


class Flatten(Layer):
    """All elements of a sample in one vector.

    >>> sg.keras.layers.Flatten()(sg.zeros([2, 3, 4])).shape
    TensorShape([Dimension(2), Dimension(12)])
    """

    config_names = ("data_format",)

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = checked_format(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 2:
            inputs = array_ops.transpose(inputs, [0, *range(2, rank), 1])
        if rank == 1:
            return array_ops.expand_dims(inputs, -1)
        if inputs.shape[0].value is None:
            count_more(inputs.graph, _SIZE_TAKEN)
        return K.batch_flatten(inputs)


class Reshape(Layer):
    """The elements of each sample in another shape; one size may be -1."""

    config_names = ("target_shape",)

    def __init__(self, target_shape: Sequence[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Any) -> Any:
        known = inputs.shape.as_list()[1:]
        target = list(self.target_shape)
        if None not in known and -1 in target:
            rest = int(np.prod([n for n in target if n != -1], dtype=np.int64))
            target[target.index(-1)] = int(np.prod(known, dtype=np.int64)) // max(rest, 1)
        if -1 not in target:
            count_more(inputs.graph, _SIZE_TAKEN)
            return array_ops.reshape(inputs, [-1, *target])
        return array_ops.reshape(inputs, array_ops.stack([array_ops.shape(inputs)[0], *target]))


class Permute(Layer):
    """Axis i of a sample is axis dims[i] before, counted from one."""

    config_names = ("dims",)

    def __init__(self, dims: Sequence[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise misuse(
                ValueError, f"Permute: dims={self.dims} must hold each of 1 to {len(self.dims)} once"
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Any) -> Any:
        return array_ops.transpose(inputs, [0, *self.dims])


class RepeatVector(Layer):
    """A vector repeated `n` times along a new axis of time."""

    config_names = ("n",)

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs: Any) -> Any:
        return K.repeat(inputs, self.n)


class Lambda(Layer):
    """A function of tensors as a layer. Weights that the function makes are not trained: write a Layer."""

    def __init__(
        self, function: Any, output_shape: Any = None, mask: Any = None, arguments: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.function, self.arguments = function_of(function, "function"), dict(arguments or {})
        self._output_shape, self.mask = output_shape, mask
        self.supports_masking = mask is not None

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        names = _argument_names(self.function)
        given = {"mask": mask, "training": training}
        extra = {n: v for n, v in given.items() if n in names and n not in self.arguments}
        return self.function(inputs, **self.arguments, **extra)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return what `output_shape` says, without the batch or as a function; else as the function gives."""
        if self._output_shape is None:
            return super().compute_output_shape(input_shape)
        if callable(self._output_shape):
            return of_shapes(TensorShape, self._output_shape(input_shape))
        batches: list[Any] = []
        of_shapes(lambda shape: batches.append(TensorShape(shape).as_list()[0]), input_shape)
        return of_shapes(
            lambda shape: TensorShape([batches[0], *TensorShape(shape).as_list()]), self._output_shape
        )

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def get_config(self) -> dict[str, Any]:
        """The function by its name, which must be registered as a custom object where it is read again."""
        name = getattr(self.function, "__name__", "<lambda>")
        if name == "<lambda>":
            raise misuse(
                NotImplementedError,
                f"{self.name}: a lambda has no name to be found by again, and code is never written; "
                "give the layer a named function, or save the weights alone",
            )
        return super().get_config() | {"function": name, "arguments": self.arguments}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Lambda:
        arguments = dict(config)
        name = arguments.pop("function")
        if not isinstance(name, str):
            raise misuse(
                ValueError, "a Lambda from another program holds code, which is never run from a file"
            )
        return cls(find(name, get_custom_objects(), custom_objects, "function of a Lambda"), **arguments)


def _argument_names(function: Any) -> Any:
    code = getattr(function, "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


class Masking(Layer):
    """Time steps whose elements all equal `mask_value` do not count in the layers that follow."""

    config_names = ("mask_value",)

    def __init__(self, mask_value: Any = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.mask_value = mask_value

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        with counted_as(inputs.graph, 1):  # TensorFlow takes an axis off what `call` makes
            return K.any(K.not_equal(inputs, self.mask_value), -1)

    def call(self, inputs: Any) -> Any:
        kept = K.any(K.not_equal(inputs, self.mask_value), -1, True)
        return inputs * cast(kept, inputs.dtype)


class ActivityRegularization(Layer):
    """The inputs themselves, whose size is added to the loss."""

    config_names = ("l1", "l2")

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1, l2), **kwargs)
        self.supports_masking = True
        self.l1, self.l2 = l1, l2


class Embedding(Layer):
    """A trained vector for each of `input_dim` numbers. With `mask_zero`, zeros are time steps that do not
    count.
    """

    config_names = (
        "input_dim",
        "output_dim",
        "embeddings_options",
        "activity_regularizer",
        "mask_zero",
        "input_length",
    )

    @with_weights(before="mask_zero", embeddings="uniform")
    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        mask_zero: bool = False,
        input_length: Any = None,
        **kwargs: Any,
    ) -> None:
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            lengths = input_length if isinstance(input_length, list | tuple) else (input_length,)
            kwargs["input_shape"] = tuple(lengths)
        self.embeddings_options = weight_options(kwargs, "embeddings")["embeddings"]
        super().__init__(**{"dtype": K.floatx(), **kwargs})
        self.input_dim, self.output_dim = input_dim, output_dim
        self.mask_zero, self.input_length = mask_zero, input_length
        self.supports_masking = mask_zero

    def build(self, input_shape: Any) -> None:
        self.embeddings = self.add_weight(
            "embeddings", [self.input_dim, self.output_dim], **self.embeddings_options
        )
        self.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if not self.mask_zero:
            return None
        with counted_as(inputs.graph, 2):
            return K.not_equal(inputs, cast(0, inputs.dtype))

    def call(self, inputs: Any) -> Tensor:
        numbers = inputs if inputs.dtype.is_integer else cast(inputs, "int32")
        return nn.embedding_lookup(self.embeddings, numbers)
