"""Layers around a layer: the same one at every time step, or in both directions of time."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays import array_ops
from staticgraph.building.framework import name_scope
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.engine.structure import leaves, listed, single
from staticgraph.tf1.keras.serialization import (
    deserialize_keras_object,
    layers_by_name,
    serialize_keras_object,
)


class Wrapper(Layer):
    """A layer that uses another one, `self.layer`."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise misuse(ValueError, f"{type(self).__name__} wraps a layer, not {layer!r}")
        super().__init__(**kwargs)
        self.layer = layer

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"layer": serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        arguments = dict(config)
        layer = deserialize_keras_object(arguments.pop("layer"), layers_by_name(), custom_objects, "layer")
        return cls(layer, **arguments)


class TimeDistributed(Wrapper):
    """A layer applied to every time step of inputs [batch, time, ...], all steps at once.

    >>> import staticgraph as sg
    >>> frames = sg.keras.Input([10, 32, 32, 3])
    >>> sg.keras.layers.TimeDistributed(sg.keras.layers.Flatten())(frames).shape.as_list()
    [None, 10, 3072]
    """

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        if input_shape.ndims is None or input_shape.ndims < 3:
            raise misuse(ValueError, f"{self.name}: the input must have the axes batch and time and more")
        if not self.layer.built:  # under the name of this layer, as TensorFlow 1's checkpoints have it
            self.layer._dtype = self.layer._dtype or self._dtype
            self.layer.build(TensorShape([None, *input_shape.as_list()[2:]]))
            self.layer.built = True
        self.built = True

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        known, rest = inputs.shape.as_list(), _sizes_after_first(inputs)
        flat = array_ops.reshape(inputs, array_ops.stack([-1, *rest[1:]]))
        flat.set_shape([None, *known[2:]])
        extra = {"training": training} if "training" in self.layer._parameters else {}
        made = self.layer(flat, **extra)
        after = made.shape.as_list()[1:]
        outputs = array_ops.reshape(made, array_ops.stack([-1, rest[0], *_sizes_after_first(made)]))
        outputs.set_shape([known[0], known[1], *after])
        return outputs

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask


def _sizes_after_first(x: Tensor) -> list[Any]:
    """Return the sizes of all axes but the first, numbers where they are known."""
    known = x.shape.as_list()[1:]
    if None not in known:
        return known
    sizes = array_ops.shape(x)
    return [sizes[d] if n is None else n for d, n in enumerate(known, 1)]


class Bidirectional(Wrapper):
    """A recurrent layer in both directions of time. `merge_mode`: "concat", "sum", "mul", "ave" or None."""

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Any = None,
        backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:
        if merge_mode not in ("concat", "sum", "mul", "ave", None):
            raise misuse(ValueError, f"merge_mode={merge_mode!r} is not concat, sum, mul, ave or None")
        super().__init__(layer, **kwargs)
        self.merge_mode = merge_mode
        self.forward_layer = self._directed(layer, "forward", layer.go_backwards)
        back = layer if backward_layer is None else backward_layer
        self.backward_layer = self._directed(back, "backward", not layer.go_backwards)
        self._given_backward = backward_layer
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state
        self.stateful, self.supports_masking = layer.stateful, True
        del self.layer  # its two copies have the weights

    @staticmethod
    def _directed(layer: Any, direction: str, go_backwards: bool) -> Any:
        config = layer.get_config()
        config["name"] = f"{direction}_{layer.name}"
        config["go_backwards"] = go_backwards
        made = type(layer).from_config(config)
        if hasattr(made, "zero_output_for_mask"):
            # A repeated output would come from another place in time in each direction.
            made.zero_output_for_mask = made.return_sequences
        return made

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        further = [*leaves(kwargs.pop("initial_state", None))]
        if further:
            inputs = [*listed(inputs), *further]
        return super().__call__(inputs, *args, **kwargs)

    def build(self, input_shape: Any) -> None:
        shape: TensorShape = input_shape[0] if isinstance(input_shape, list) else input_shape
        for layer in (self.forward_layer, self.backward_layer):
            with name_scope(layer.name):
                layer._dtype = layer._dtype or K.floatx()
                layer.build(shape)
                layer.built = True
        self.built = True

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        given = listed(inputs)
        half = (len(given) - 1) // 2
        states = given[1 : 1 + half], given[1 + half :]
        made = []
        for layer, own in zip((self.forward_layer, self.backward_layer), states, strict=True):
            layer._constant_count = 0
            found = layer.call([given[0], *own] if own else given[0], mask=mask, training=training)
            made.append(listed(found))
        (forward, *forward_states), (backward, *backward_states) = made
        if self.return_sequences:
            backward = K.reverse(backward, 0 if self.forward_layer.time_major else 1)
        outputs = self._merged(forward, backward)
        if self.return_state:
            return [*listed(outputs), *forward_states, *backward_states]
        return outputs

    def _merged(self, forward: Any, backward: Any) -> Any:
        match self.merge_mode:
            case "concat":
                return K.concatenate([forward, backward])
            case "sum":
                return forward + backward
            case "mul":
                return forward * backward
            case "ave":
                return (forward + backward) / 2.0
        return [forward, backward]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        kept = listed(mask)[0] if self.return_sequences and mask is not None else None
        outputs = [kept] if self.merge_mode is not None else [kept, kept]
        if self.return_state:
            outputs += [None] * 2 * len(listed(self.forward_layer.cell.state_size))
        return single(outputs)

    def reset_states(self) -> None:
        """Forget the states of both directions."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def get_config(self) -> dict[str, Any]:
        config = Layer.get_config(self) | {"merge_mode": self.merge_mode}
        inner = self.forward_layer.get_config()
        inner["name"] = inner["name"].removeprefix("forward_")
        inner.pop("zero_output_for_mask", None)
        return config | {"layer": {"class_name": type(self.forward_layer).__name__, "config": inner}}
