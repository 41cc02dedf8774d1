"""`Layer`: makes its weights on the first call and uses them in every later one."""

from __future__ import annotations

import inspect
from typing import Any

from staticgraph.building.framework import graph_of, name_scope
from staticgraph.building.inputs import convert_to_tensor, identity, placeholder
from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import op_count, set_op_count
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import cached_property
from staticgraph.state import layer as base
from staticgraph.state.input_spec import check_inputs
from staticgraph.state.layer import is_trained, unique
from staticgraph.state.replicas import VariableAggregation
from staticgraph.state.variables import Variable
from staticgraph.tf1.keras import initializers, regularizers, state
from staticgraph.tf1.keras.engine.arguments import axes, written
from staticgraph.tf1.keras.engine.connections import Connections
from staticgraph.tf1.keras.engine.node import Node, history, mask_of, set_masks
from staticgraph.tf1.keras.engine.owned import attributes, own_attributes, variables_of
from staticgraph.tf1.keras.engine.structure import leaves, mapped, of_shapes
from staticgraph.tf1.keras.settings import dtype_name, floatx

_OPTIONS = {
    "activity_regularizer",
    "autocast",
    "batch_input_shape",
    "batch_size",
    "input_dtype",
    "input_shape",
    "weights",
}
_calls: list[Any] = []  # the `training` argument of each layer that is being called


class Layer(Connections, base.Layer):
    """The base of all layers. A subclass defines `build(input_shape)`, which calls `add_weight`, and
    `call(inputs)`.

    `input_shape` or `batch_input_shape` make it the first layer of a `Sequential`. Layers and variables that
    are attributes, also in lists and dicts, belong to the layer.

    >>> import staticgraph as sg
    >>> class Scale(sg.keras.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.factor = self.add_weight("factor", [], initializer="ones")
    ...
    ...     def call(self, inputs):
    ...         return inputs * self.factor
    >>> layer = Scale()
    >>> y = layer(sg.keras.Input([3]))
    >>> [v.name for v in layer.trainable_weights]
    ['scale/factor:0']
    """

    batch_input_shape: Any
    config_names: tuple[str, ...] = ()  # attributes that get_config() writes besides those of the base class

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if unknown := set(kwargs) - _OPTIONS:
            raise misuse(TypeError, f"{type(self).__name__}() got an unknown argument {sorted(unknown)[0]!r}")
        super().__init__(
            trainable, name, activity_regularizer=regularizers.get(kwargs.get("activity_regularizer"))
        )
        self._dtype = dtype_name(dtype or kwargs.get("input_dtype")) if dtype else None
        self.dynamic = dynamic
        self.stateful = False
        self.supports_masking = False
        self.inbound_nodes: list[Node] = []
        self.outbound_nodes: list[Node] = []
        self._metrics: list[Any] = []
        self._initial_weights = kwargs.get("weights")
        if "batch_input_shape" in kwargs:
            self.batch_input_shape = tuple(axes("batch_input_shape", kwargs["batch_input_shape"]))
        elif "input_shape" in kwargs:
            self.batch_input_shape = (kwargs.get("batch_size"), *axes("input_shape", kwargs["input_shape"]))

    @classmethod
    def _default_name(cls) -> str:
        name = snake_case(cls.__name__)
        number = base.count_of_layers(name)
        return name if number == 1 else f"{name}_{number - 1}"

    def _unique_name(self, word: str) -> str:
        return word  # which has its number already

    # For subclasses

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the output. TypeError if there is one and the layer does not support masking."""
        if self.supports_masking or all(m is None for m in leaves(mask)):
            return mask
        raise misuse(
            TypeError, f"layer {self.name} does not support masking, and was passed an input with a mask"
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The static shape of the output for an input of this shape; of each output for several inputs."""
        made = self(of_shapes(lambda shape: placeholder(self._dtype or floatx(), shape), input_shape))
        return mapped(lambda t: t.shape, made)

    def compute_output_signature(self, input_signature: Any) -> Any:
        """Return the `TensorSpec` of the output for an input of this `TensorSpec`, or those of several.

        Raises:
            TypeError: Something else is given.
        """
        given = list(leaves(input_signature))
        for spec in given:
            if type(spec).__name__ != "TensorSpec":
                raise misuse(TypeError, f"Only TensorSpec signature types are supported, but saw {spec!r}")
        dtype, made = as_dtype(self._dtype or given[0].dtype), type(given[0])
        shapes = self.compute_output_shape(mapped(lambda spec: spec.shape, input_signature))
        return of_shapes(lambda shape: made(shape, dtype), shapes)

    def add_weight(  # type: ignore[override]
        self,
        name: str | None = None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        partitioner: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        **kwargs: Any,
    ) -> Any:
        """A variable of the layer. `regularizer(variable)` is added to the losses.

        By default it is a number in the dtype of the layer, begins with `glorot_uniform` (zeros for integers
        and bool), and is trained.
        """
        wanted = as_dtype(dtype or self._dtype or floatx())
        default = "glorot_uniform" if wanted.is_floating else "zeros"
        make = initializers.get(initializer if initializer is not None else default)
        sizes = [] if shape is None else TensorShape(shape).as_list()
        variable = Variable(
            lambda: make(sizes, dtype=wanted),
            is_trained(trainable, synchronization),
            name=name or "weight",
            dtype=wanted,
            constraint=constraint,
            aggregation=aggregation or VariableAggregation.NONE,
            use_resource=True,
        )
        state.track(variable)
        self._weights.append(variable)
        self._named_weights[name or "weight"] = variable
        if regularizer is not None:
            start = op_count(variable.graph)
            with name_scope(f"{name}/Regularizer"):
                self.add_loss(regularizer(variable))
            set_op_count(variable.graph, start)  # TensorFlow computes it when it is asked for
        return variable

    add_variable = add_weight  # type: ignore[assignment]

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add numbers to what `fit` minimises: tensors, or functions that make one."""
        for loss in leaves(losses):
            made = loss() if callable(loss) else loss
            if isinstance(made, Tensor) or hasattr(made, "to_tensor") or made:
                self._losses.append(convert_to_tensor(made))

    def add_metric(self, value: Any, aggregation: str | None = None, name: str | None = None) -> None:
        """Watch a tensor: `fit` and `evaluate` report it for each epoch.

        Args:
            value: A tensor whose mean over all steps is reported, with `aggregation="mean"`; or what calling
                a metric gave, of which the metric's result is reported.
            aggregation: "mean", or None for what a metric gave.
            name: The name under which it is reported; that of the metric or of the operation by default.

        Raises:
            ValueError: For another aggregation, or for None if no metric gave the tensor: nobody could begin
                anew with the next epoch.
        """
        if aggregation not in (None, "mean"):
            raise misuse(ValueError, f"aggregation={aggregation!r} is not mean")
        metric = state.results(value.graph).get(value) if aggregation is None else None
        if aggregation is None and metric is None:
            what = f"add_metric: {value.name} was not given by a metric, so it cannot be reset between epochs"
            raise misuse(ValueError, what, 'its mean over an epoch is meant by aggregation="mean"')
        self._metrics.append((name or getattr(metric, "name", value.op.name.split("/")[-1]), value, metric))

    # Calling

    @cached_property
    def _parameters(self) -> set[str]:
        """The names of the arguments of `call`; `**` among them where it takes any."""
        found = inspect.signature(self.call).parameters.values()
        return {"**" if p.kind is p.VAR_KEYWORD else p.name for p in found}

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        inputs = mapped(self._tensor, inputs)
        tensors = list(leaves(inputs))
        training = kwargs.get("training")
        if "training" in self._parameters and training is None:
            training = next((t for t in reversed(_calls) if t is not None), None)
            kwargs = kwargs | ({} if training is None else {"training": training})
        with graph_of(tensors).as_default(), name_scope(self.name):
            masks = kwargs.get("mask") if "mask" in kwargs else mask_of(inputs)
            if "mask" in self._parameters and "mask" not in kwargs and masks is not None:
                kwargs = kwargs | {"mask": masks}
            self._build_once(inputs)
            _calls.append(training)
            try:
                outputs = self.call(inputs, *args, **kwargs)
            finally:
                _calls.pop()
            outputs = self._fresh(outputs, tensors)
            if self.activity_regularizer is not None:
                self._regularize_activity(leaves(outputs))
            if masks is not None or type(self).compute_mask is not Layer.compute_mask:
                set_masks(outputs, self.compute_mask(inputs, masks))
        if any(history(t) is not None for t in tensors):
            Node(self, inputs, outputs, {k: v for k, v in kwargs.items() if k not in ("training", "mask")})
        return outputs

    apply = __call__

    def _tensor(self, value: Any) -> Tensor:
        if isinstance(value, Tensor):
            return value
        return convert_to_tensor(value, preferred_dtype=self._dtype or floatx())

    def _build_once(self, inputs: Any) -> None:
        if not self.built:
            check_inputs(self.input_spec, inputs, self.name)
            first = next(leaves(inputs), None)
            if self._dtype is None and first is not None:
                self._dtype = first.dtype.name if first.dtype.is_floating else floatx()
            self.build(mapped(lambda t: t.shape, inputs))
            self.built = True
            if self._initial_weights is not None:
                self.set_weights(self._initial_weights)
                self._initial_weights = None
        check_inputs(self.input_spec, inputs, self.name)

    def _fresh(self, outputs: Any, inputs: list[Tensor]) -> Any:
        """Outputs that are tensors of this call: an input that is passed on gets a name of its own."""
        passed = set(inputs)

        def own(t: Any) -> Tensor:
            t = convert_to_tensor(t)
            return identity(t) if t in passed else t

        return mapped(own, outputs)

    # What it owns

    def _sublayers(self) -> list[Any]:
        return unique(value for value in attributes(self) if isinstance(value, Layer) and value is not self)

    def _variables(self) -> list[Any]:
        return unique([*self._weights, *variables_of(self)])

    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        named = super()._checkpoint_dependencies()
        known = {name for name, _ in named}
        return named + [(name, value) for name, value in own_attributes(self) if name not in known]

    def get_weights(self) -> list[Any]:
        """The values of all weights as arrays."""
        return state.batch_get_value(self.weights)

    def set_weights(self, weights: Any) -> None:
        """Set all weights. ValueError if their number or a shape differs."""
        values = list(weights)
        if len(values) != len(self.weights):
            raise misuse(ValueError, f"{self.name} has {len(self.weights)} weights, {len(values)} were given")
        state.batch_set_value(list(zip(self.weights, values, strict=True)))

    @property
    def updates(self) -> list[Operation]:
        """The operations that each training step must run.

        There are none if the layer is neither trainable nor stateful.
        """
        if not (self.trainable or self.stateful):
            return []
        return super().updates

    @property
    def metrics(self) -> list[Any]:
        """The metrics that `add_metric` was given, also by layers in this one: pairs (name, tensor)."""
        return [(name, value) for name, value, _ in self._watched()]

    def _watched(self) -> list[tuple[str, Tensor, Any]]:
        """Return the name, the tensor, and the metric or None of each call of `add_metric`."""
        return [*self._metrics, *(m for layer in self._sublayers() for m in layer._watched())]

    # As data

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer, without its weights."""
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "batch_input_shape"):
            config["batch_input_shape"] = self.batch_input_shape
        config["dtype"] = self._dtype or floatx()
        return config | written(self)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer of a `get_config`."""
        return cls(**config)


def snake_case(name: str) -> str:
    """`BatchNormalization` as `batch_normalization`."""
    made = base.snake_case(name)
    return made if not made.startswith("_") else f"private{made}"
