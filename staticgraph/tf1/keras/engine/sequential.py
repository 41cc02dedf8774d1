"""`Sequential`: a model in which each layer follows the one before it."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.keras.engine.input_layer import Input, InputLayer, inputs_like
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.engine.model import Model
from staticgraph.tf1.keras.engine.node import history
from staticgraph.tf1.keras.serialization import (
    deserialize_keras_object,
    layers_by_name,
    serialize_keras_object,
)


class Sequential(Model):
    """A stack of layers, of one input and one output each.

    The first layer says the shape of the input (`input_shape`, or `input_dim` of `Dense` and `Embedding`);
    otherwise the model is built when it first sees data, or by `build`.

    >>> import staticgraph as sg
    >>> model = sg.keras.Sequential([
    ...     sg.keras.layers.Dense(8, activation="relu", input_shape=[4]),
    ...     sg.keras.layers.Dense(1),
    ... ])
    >>> model.output_shape, model.count_params()
    ((None, 1), 49)
    """

    def __init__(self, layers: Any = None, name: str | None = None) -> None:
        super().__init__(name=name)
        self._stack: list[Any] = []
        for layer in layers or ():
            self.add(layer)

    @property
    def layers(self) -> list[Any]:
        """The layers in order, without the input."""
        return [layer for layer in self._stack if not isinstance(layer, InputLayer)]

    def _sublayers(self) -> list[Any]:
        return list(self._stack)

    def _numbered_layers(self) -> list[Any]:
        return list(self._stack)

    def add(self, layer: Any) -> None:
        """Put a layer on top."""
        if (found := history(layer)) is not None and isinstance(found.layer, InputLayer):
            layer = found.layer
        if not isinstance(layer, Layer):
            raise misuse(
                TypeError, f"Sequential.add() takes layers, not {layer!r} of type {type(layer).__name__}"
            )
        if any(layer.name == other.name for other in self._stack):
            raise misuse(
                ValueError, f"model {self.name} has a layer named {layer.name} already: names must differ"
            )
        self._stack.append(layer)
        if isinstance(layer, InputLayer):
            self._ends = layer.output, layer.output
        elif self.is_graph or hasattr(self, "_ends"):
            self._ends = self._ends[0], layer(self._ends[1])
            self._connect(*self._ends)
        elif (shape := self._first_shape(layer)) is not None and len(self._stack) == 1:
            self.build(shape)

    @staticmethod
    def _first_shape(layer: Any) -> Any:
        """The input shape that a layer was told; that of a model as first layer is its own."""
        if isinstance(layer, Model) and layer.is_graph:
            return tuple(layer.inputs[0].shape.as_list())
        return getattr(layer, "batch_input_shape", None)

    def pop(self) -> None:
        """Take the last layer off."""
        if not self.layers:
            raise misuse(TypeError, "there are no layers in the model")
        last = self._stack.pop()
        last.inbound_nodes.pop()
        if self.is_graph and self.layers:
            self._ends = self._ends[0], self._stack[-1].inbound_nodes[-1].output_tensors[0]
            self._connect(*self._ends)
        else:
            self.is_graph = self.built = False
            vars(self).pop("_ends", None)

    def build(self, input_shape: Any = None) -> None:
        """Make all weights, for batches of this shape."""
        if self.is_graph or input_shape is None or not self.layers:
            return
        first = self.layers[0]
        batch, *sizes = [getattr(n, "value", n) for n in input_shape]
        given = Input(sizes, batch, name=f"{first.name}_input", dtype=self._input_dtype(first))
        out = given
        for layer in self.layers:
            out = layer(out)
        found = history(given)
        assert found is not None
        self._stack.insert(0, found.layer)
        self._ends = given, out
        self._connect(given, out)

    def _build_for(self, arrays: Any) -> None:
        if isinstance(arrays, dict):  # features by names, for a layer that takes a dict
            given = out = inputs_like(arrays)
            for layer in self.layers:
                out = layer(out)
            self._connect(given, out)
        else:
            self.build((None, *(arrays[0].shape[1:] or (1,))))

    @staticmethod
    def _input_dtype(layer: Any) -> Any:
        while isinstance(layer, Model) and layer.layers:
            layer = layer.layers[0]
        return layer.dtype

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        if self.is_graph:
            return super().call(inputs, training, mask)
        for layer in self.layers:
            inputs = layer(inputs, **({"training": training} if "training" in layer._parameters else {}))
        return inputs

    def predict_proba(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """`predict` under the name that says what it gives."""
        return self.predict(x, batch_size, verbose)

    def predict_classes(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """The number of the most likely class; of a single output, whether it is above one half."""
        found = self.predict(x, batch_size, verbose)
        return found.argmax(-1) if found.shape[-1] > 1 else (found > 0.5).astype("int32")

    def get_config(self) -> dict[str, Any]:
        config: dict[str, Any] = {
            "name": self.name,
            "layers": [serialize_keras_object(layer) for layer in self.layers],
        }
        if hasattr(self, "_ends"):
            config["build_input_shape"] = tuple(self.inputs[0].shape.as_list())
        return config

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        data = config if isinstance(config, dict) else {"layers": config}
        model = cls(name=data.get("name"))
        for layer in data["layers"]:
            model.add(deserialize_keras_object(layer, layers_by_name(), custom_objects, "layer"))
        if not model.is_graph and data.get("build_input_shape"):
            model.build(data["build_input_shape"])
        return model
