"""`Layer`: makes its variables on the first call and uses them in every later one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from staticgraph.building.framework import GraphKeys, checked, get_collection_ref, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import function_of, text_of
from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.graph.errors import ShapeError, misuse, require, shown
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.state.replicas import VariableAggregation, VariableSynchronization
from staticgraph.state.scopes import VariableScope, get_variable, get_variable_scope, variable_scope
from staticgraph.state.store import AUTO_REUSE
from staticgraph.state.variables import Variable, parts_of


def variable_options(initializer: Any, regularizer: Any, constraint: Any) -> dict[str, Any]:
    """Return the user's options for a variable of a layer, as keyword arguments of `add_weight`."""
    return {"initializer": initializer, "regularizer": regularizer, "constraint": constraint}


class Layer:
    """The base of all layers. A subclass defines `build(input_shape)`,
    which calls `add_weight`, and `call(inputs)`.

    The layer's variables and operations are in a variable scope called after it: `dense/kernel`,
    `dense_1/kernel`. Its `name` is that which it was given, or else counts the layers of its class in the
    graph, as in TensorFlow: the first is `dense_1`, whose variables are `dense/kernel` and `dense/bias`.

    >>> import staticgraph as sg
    >>> class Scale(sg.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.factor = self.add_weight("factor", [], initializer=sg.ones_initializer())
    ...
    ...     def call(self, inputs):
    ...         return inputs * self.factor
    >>> layer = Scale()
    >>> y = layer(sg.placeholder(sg.float32, [None, 3]))
    >>> [v.name for v in layer.trainable_weights]
    ['scale/factor:0']
    """

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        *,
        activity_regularizer: Any = None,
        _scope: Any = None,
        _reuse: Any = None,
    ) -> None:
        self._trainable = trainable
        self._dtype: Any = as_dtype(dtype) if dtype is not None else None
        self.built = False
        self.input_spec: Any = None  # an `InputSpec`, or one for each input: what calls are checked against
        if activity_regularizer is not None:
            function_of(activity_regularizer, "activity_regularizer")
        self.activity_regularizer = activity_regularizer
        self._losses: list[Tensor] = []
        self._updates: list[Operation] = []
        self._weights: list[Variable] = []  # in the order in which they were made
        self._named_weights: dict[str, Any] = {}  # by what `add_weight` called them
        given = text_of("" if name is None else name, "name")
        self._base_name = given or self._default_name()
        self._name = given or self._unique_name(self._base_name)
        self._reuse = _reuse
        self._scope: VariableScope | None = None
        if _scope:
            with variable_scope(_scope) as self._scope:
                pass

    @classmethod
    def _default_name(cls) -> str:
        return snake_case(cls.__name__)

    def _unique_name(self, word: str) -> str:
        """Return the name of a layer that is given none: a word and the number of layers called so."""
        return f"{word}_{count_of_layers(word)}"

    @property
    def name(self) -> str:
        """The name of the layer, which need not be that of its scope."""
        return self._name

    @property
    def label(self) -> str:
        """The name that the layer's variables have, for messages."""
        return self._scope.name.split("/")[-1] if self._scope is not None else self._base_name

    @property
    def scope_name(self) -> str:
        """The full name of the layer's variable scope. ValueError
        before the first call of a layer without a name.
        """
        if self._scope is None:
            raise misuse(ValueError, f"the layer {self._base_name} has no scope before it is called")
        return self._scope.name

    @property
    def dtype(self) -> Any:
        """The dtype of the weights; that of the first input by default."""
        return self._dtype

    @dtype.setter
    def dtype(self, value: Any) -> None:
        self._dtype = value

    if not TYPE_CHECKING:  # a checker knows the attributes that there are

        def __getattr__(self, name: str) -> Any:
            """An option of a weight that the constructor was given, such as `kernel_regularizer`."""
            weight, _, kind = name.rpartition("_")
            of_all = self.__dict__.get("weight_options", {})
            options = self.__dict__.get(f"{weight}_options") or of_all.get(weight, {})
            if kind in options:
                return options[kind]
            return object.__getattribute__(self, name)  # raises what a property raised

    # What it owns

    def _sublayers(self) -> Sequence[Layer]:
        """The layers inside of this one."""
        return ()

    def _variables(self) -> Sequence[Variable]:
        """The variables that are this layer's own."""
        return self._weights

    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        """Return what a `Checkpoint` saves of the layer, as pairs of a name and a variable or layer."""
        return list(self._named_weights.items())

    @property
    def trainable(self) -> bool:
        """True if training changes the weights. Setting it also sets it for all layers in this one."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value
        for layer in self._sublayers():
            layer.trainable = value

    @property
    def trainable_weights(self) -> list[Variable]:
        """The variables that training changes."""
        if not self.trainable:
            return []
        own = [v for v in self._variables() if v.trainable]
        return unique([*own, *(v for layer in self._sublayers() for v in layer.trainable_weights)])

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The variables that training does not change by gradients."""
        own = [v for v in self._variables() if not (v.trainable and self.trainable)]
        return unique([*own, *(v for layer in self._sublayers() for v in layer.non_trainable_weights)])

    @property
    def weights(self) -> list[Variable]:
        """All variables, those that are trained first."""
        return unique(self.trainable_weights + self.non_trainable_weights)

    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights
    variables = weights

    def count_params(self) -> int:
        """The number of elements of all weights. ValueError before the layer is built."""
        if not self.built and not self.weights:  # `build` may be called by itself
            raise misuse(ValueError, f"the weights of {self.label} do not exist before it is built or called")
        return sum(v.shape.num_elements() or 0 for v in self.weights)

    @property
    def losses(self) -> list[Tensor]:
        """Penalties of weights and activities, and what `add_loss` was given."""
        return unique([*self._losses, *(t for layer in self._sublayers() for t in layer.losses)])

    @property
    def updates(self) -> list[Operation]:
        """The operations that each training step must run."""
        return unique([*self._updates, *(u for layer in self._sublayers() for u in layer.updates)])

    def get_losses_for(self, inputs: Any) -> list[Tensor]:
        """The losses that depend on what is fed to `inputs` alone; those of no input for None."""
        from staticgraph.state.dependents import dependents  # few programs ask

        return dependents(self.losses, inputs, lambda loss: loss.op)

    def get_updates_for(self, inputs: Any) -> list[Operation]:
        """The updates that depend on what is fed to `inputs` alone; those of no input for None."""
        from staticgraph.state.dependents import dependents  # few programs ask

        return dependents(self.updates, inputs, lambda update: update)

    # For subclasses

    def build(self, input_shape: Any) -> None:
        """Make the variables, for inputs of this static shape."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The layer's output for `inputs`."""
        return inputs

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        partitioner: Any = None,
        **options: Any,
    ) -> Variable:
        """A variable of the layer, in its scope. `regularizer(variable)` is added to the losses."""
        opened = self._open_scope(None)
        if get_variable_scope().name != opened.name:  # `build` was called by itself, or opened another scope
            with self._entered(opened):
                return self.add_weight(
                    name, shape, dtype, initializer, regularizer, trainable, constraint, use_resource,
                    synchronization, aggregation, partitioner, **options,
                )  # fmt: skip
        trained = self.trainable and is_trained(trainable, synchronization)
        wanted = as_dtype(dtype) if dtype is not None else self.dtype
        regularization = get_collection_ref(GraphKeys.REGULARIZATION_LOSSES)
        known = len(regularization)
        variable = get_variable(
            name,
            shape,
            wanted,
            initializer,
            regularizer,
            trained,
            constraint=constraint,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
            partitioner=partitioner,
            **options,
        )
        self._losses += regularization[known:]
        self._named_weights[name] = variable
        self._weights += [part for part in parts_of(variable) if part not in self._weights]
        return variable

    add_variable = add_weight

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add to the collection REGULARIZATION_LOSSES; `inputs` is unused, since the graph tells them."""
        for loss in losses if isinstance(losses, list | tuple) else [losses]:
            self._losses.append(loss)
            loss.graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add operations, such as those of moving averages, that each training step runs."""
        for update in updates if isinstance(updates, list | tuple) else [updates]:
            made = update() if callable(update) else update
            operation = made if isinstance(made, Operation) else made.op
            self._updates.append(operation)
            operation.graph.add_to_collection(GraphKeys.UPDATE_OPS, operation)

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        inputs = _converted(inputs)
        tensors = list(inputs.values()) if isinstance(inputs, dict) else inputs
        if isinstance(tensors, list) and not tensors:
            raise misuse(ValueError, f"{type(self).__name__} was called with an empty list of inputs")
        if self.dtype is None:
            self.dtype = (tensors[0] if isinstance(tensors, list) else tensors).dtype
        self._check_inputs(inputs)
        shape: Any = (
            {key: tensor.shape for key, tensor in inputs.items()}
            if isinstance(inputs, dict)
            else [i.shape for i in inputs]
            if isinstance(inputs, list)
            else inputs.shape
        )
        with self._opened(shape, kwargs.pop("scope", None)):
            self._check_inputs(inputs)  # once more: `build` may set the specification
            outputs = self.call(inputs, *args, **kwargs)
            if self.activity_regularizer is not None:
                self._regularize_activity([outputs])
        return outputs

    apply = __call__

    def _check_inputs(self, inputs: Any) -> None:
        if self.input_spec is not None:
            from staticgraph.state.input_spec import check_inputs  # most layers check in `call`

            check_inputs(self.input_spec, inputs, self.label)

    @contextmanager
    def _opened(self, shape: Any, scope: Any = None) -> Iterator[None]:
        """The layer's variable scope, with its variables made, for inputs of this shape."""
        with self._entered(self._open_scope(scope)):
            if not self.built:
                self.build(shape)
                self.built = True
            yield

    @contextmanager
    def _entered(self, opened: VariableScope) -> Iterator[None]:
        reuse = True if self.built else self._reuse
        with (
            variable_scope(opened, reuse=reuse, auxiliary_name_scope=False),
            name_scope(opened.original_name_scope),
        ):
            yield

    def _open_scope(self, scope: Any) -> VariableScope:
        if self._scope is None:
            named = (
                scope
                if scope is not None or not self._reuse or self._reuse is AUTO_REUSE
                else self._base_name
            )
            with variable_scope(named, self._base_name) as self._scope:
                pass
        return self._scope

    def _regularize_activity(self, outputs: Iterable[Tensor]) -> None:
        with name_scope("ActivityRegularizer"):
            for tensor in outputs:
                loss = self.activity_regularizer(tensor)
                if isinstance(loss, Tensor):
                    self.add_loss(loss / ops.cast(ops.shape_of(tensor)[0], dtype=loss.dtype))


def count_of_layers(word: str) -> int:
    """Count a layer that gets its name from a word, and return the number of those in the default graph."""
    counts: dict[str, int] = vars(get_default_graph()).setdefault("layer_counts", {})
    counts[word] = counts.get(word, 0) + 1
    return counts[word]


def forget_layers() -> None:
    """Begin to count the layers of the default graph anew."""
    vars(get_default_graph()).pop("layer_counts", None)


def _converted(inputs: Any) -> Any:
    """One tensor, or a list or dict of tensors."""
    if isinstance(inputs, dict):
        return {key: convert_to_tensor(value) for key, value in inputs.items()}
    if isinstance(inputs, list | tuple):
        return [convert_to_tensor(value) for value in inputs]
    return convert_to_tensor(inputs)


def is_trained(trainable: bool | None, synchronization: Any) -> bool:
    """Return True if a weight is trained: by default all but those that replicas combine `ON_READ`.

    Raises:
        ValueError: `trainable` is True for such a weight.
    """
    on_read = synchronization is VariableSynchronization.ON_READ
    if trainable and on_read:
        text = "a weight with synchronization ON_READ is not trained: trainable=True must not be given"
        raise misuse(ValueError, text)
    return not on_read if trainable is None else bool(trainable)


def unique(items: Iterable[Any]) -> list[Any]:
    """Each object once, in the order of its first occurrence."""
    return list({id(item): item for item in items}.values())


def applied(layer: type[Layer], arguments: dict[str, Any]) -> Any:
    """Make a layer and call it.

    Args:
        layer: The class of the layer.
        arguments: The arguments of a function, its `locals()`: `inputs` and `training` are for the call, all
            others for the constructor.
    """
    given = dict(arguments)
    call = {name: given.pop(name) for name in ("inputs", "training") if name in given}
    if "reuse" in given:
        given |= {"_scope": given["name"], "_reuse": given.pop("reuse")}
    return layer(**given)(**call)


def snake_case(name: str) -> str:
    """`BatchNormalization` as `batch_normalization`."""
    spaced = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", spaced).lower()


def count_of(value: Any, name: str) -> int:
    """A number of units or the like that a user gave. ValueError if it is none."""
    try:
        count = int(value)
    except (TypeError, ValueError):
        count = -1
    if count < 0 or count != value:
        raise misuse(ValueError, f"{name} is {shown(value)}, and must be a whole number, 0 or more")
    return count


def known_size(shape: Any, axis: int, layer: str) -> int:
    """The size of `axis`; ShapeError if it is not known, since variables have static shapes.

    Args:
        shape: The shape of the input, in any form: programs call `build((None, 3))` themselves.
        axis: The axis.
        layer: The name of the layer, for the message.
    """
    shape = TensorShape(shape)
    with checked(layer):
        require(shape.shape is None or shape.shape, "the input is a single number, and has no axes")
    size = shape.shape[axis] if shape.shape is not None else None
    if size is None:
        text = f"{layer}: axis {axis} of the input {shape} must be known before the graph runs"
        raise misuse(ShapeError, text, "it decides the shape of the layer's variables")
    return size


def check_rank(shape: Any, rank: int, layer: str) -> None:
    """ShapeError unless the input of a layer has `rank` axes."""
    shape = TensorShape(shape)
    if shape.ndims is not None and shape.ndims != rank:
        text = f"{layer}: the input {shape} has {shape.ndims} axes, and must have {rank}"
        raise misuse(ShapeError, text, "one for the batch, one for channels, the others for space")
