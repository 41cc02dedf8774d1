"""`Network`: layers that are called as one; either a graph between two sets of tensors, or a subclass's
`call`.

The layers between the tensors are in an order in which they can run. Operations between layers, such as `x +
1`, are layers too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.graph.errors import DisconnectedError, misuse
from staticgraph.compiler.graph.opdef import Role
from staticgraph.compiler.graph.tensor import Operation, Tensor, ancestors
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.state.dependents import placeholders
from staticgraph.tf1.keras.engine.configuration import network_config, network_from_config
from staticgraph.tf1.keras.engine.input_layer import InputLayer
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.engine.node import Node, history
from staticgraph.tf1.keras.engine.owned import unique
from staticgraph.tf1.keras.engine.structure import leaves, listed, mapped, single
from staticgraph.tf1.keras.engine.summary import print_summary

# Attributes in which a network keeps its layers: in a checkpoint they have numbers instead.
_STRUCTURE = {"_graph_layers", "_nodes", "_stack", "_structure", "_ends", "inputs", "outputs"}


class Network(Layer):
    """Layers from `inputs` to `outputs`. A subclass that gives neither makes its layers as attributes and
    defines `call`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = dict(zip(("inputs", "outputs", "name"), args, strict=False)) | kwargs
        super().__init__(name=given.get("name"))
        self.is_graph = False
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.supports_masking = True
        if "inputs" in given and "outputs" in given:
            self._connect(given["inputs"], given["outputs"])
        elif extra := set(given) - {"name"}:
            raise misuse(
                TypeError, f"{type(self).__name__}() got {sorted(extra)}: give both inputs and outputs"
            )

    def _connect(self, inputs: Any, outputs: Any) -> None:
        """Become the graph between these tensors."""
        self._structure = inputs, outputs
        self.inputs, self.outputs = list(leaves(inputs)), list(leaves(outputs))
        for tensor in self.inputs:
            if history(tensor) is None:
                InputLayer(input_tensor=tensor, name=None)
        wrap_operations(self.outputs)
        found = topology(self.inputs, self.outputs, self.name)
        self._nodes, self._graph_layers = found.nodes, found.layers
        self._check_names()
        names = [self._layer_of(t).name for t in self.inputs], [self._layer_of(t).name for t in self.outputs]
        self.input_names, self.output_names = names[0], _numbered(names[1])
        self.is_graph = self.built = True
        self.inbound_nodes = [_Own(self), *(n for n in self.inbound_nodes if not isinstance(n, _Own))]

    def _check_names(self) -> None:
        seen: dict[str, Layer] = {}
        for layer in self._graph_layers:
            if seen.setdefault(layer.name, layer) is not layer:
                raise misuse(
                    ValueError,
                    f"model {self.name} has two layers named {layer.name}: give one of them another name",
                )

    @staticmethod
    def _layer_of(tensor: Tensor) -> Layer:
        found = history(tensor)
        assert found is not None
        return found.layer

    # Layers

    def _sublayers(self) -> list[Any]:
        return list(self._graph_layers) if self.is_graph else super()._sublayers()

    @property
    def layers(self) -> list[Any]:
        """The layers, from the inputs on."""
        return self._sublayers()

    @property
    def weights(self) -> list[Any]:
        """The variables of the layers, layer by layer, then those of the model itself."""
        return unique([*(v for layer in self._sublayers() for v in layer.weights), *self._variables()])

    variables = weights

    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        """Return the layers by their numbers, what else is an attribute, and the optimizer."""
        numbered: list[tuple[str, Any]] = []
        with_weights = 0
        for number, layer in enumerate(self._numbered_layers()):
            if layer.weights:
                numbered.append((f"layer_with_weights-{with_weights}", layer))
                with_weights += 1
            numbered.append((f"layer-{number}", layer))
        others = [pair for pair in super()._checkpoint_dependencies() if pair[0] not in _STRUCTURE]
        return [*numbered, *others, ("optimizer", getattr(self, "optimizer", None))]

    def _numbered_layers(self) -> list[Any]:
        """Return the layers that a checkpoint numbers: those of a subclass have names."""
        return self._sublayers() if self.is_graph else []

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """A layer by its name or its place. ValueError if there is none."""
        if index is not None:
            if index >= len(self.layers):
                raise misuse(
                    ValueError, f"model {self.name} has {len(self.layers)} layers, there is none at {index}"
                )
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise misuse(ValueError, f"model {self.name} has no layer named {name!r}")

    def reset_states(self) -> None:
        """Forget what stateful layers remember of the batch before."""
        for layer in self.layers:
            if hasattr(layer, "reset_states") and getattr(layer, "stateful", False):
                layer.reset_states()

    @property
    def state_updates(self) -> list[Operation]:
        """The updates of stateful layers."""
        return [u for layer in self.layers if layer.stateful for u in layer.updates]

    def _relevant(self, items: list[Any], operation: Any) -> list[Any]:
        """Return the items that can be computed from the inputs of this model.

        A layer may be part of other models too, and then has items that depend on other inputs.
        """
        if not self.is_graph:
            return items
        fed = {t.op for t in self.inputs}
        return [item for item in items if placeholders([operation(item)], self.inputs) <= fed]

    @property
    def losses(self) -> list[Any]:
        return self._relevant(super().losses, lambda loss: loss.op)

    @property
    def updates(self) -> list[Any]:
        return self._relevant(super().updates, lambda update: update)

    @property
    def input_spec(self) -> Any:
        return None

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        pass

    # Calling

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """The outputs for other inputs, by the same layers."""
        if not self.is_graph:
            raise misuse(
                NotImplementedError,
                f"{type(self).__name__} is made without inputs and outputs: define call()",
            )
        given = _ordered(inputs, self.input_names)
        if len(given) != len(self.inputs):
            raise misuse(
                ValueError, f"model {self.name} has {len(self.inputs)} inputs, {len(given)} were given"
            )
        values: dict[Tensor, Any] = dict(zip(self.inputs, given, strict=True))
        for node in self._nodes:
            if not all(t in values for t in node.output_tensors):
                arguments = mapped(lambda v: values.get(v, v) if isinstance(v, Tensor) else v, node.arguments)
                extra = {"training": training} if "training" in node.layer._parameters else {}
                made = node.layer(mapped(values.__getitem__, node.inputs), **arguments, **extra)
                values.update(zip(node.output_tensors, leaves(made), strict=True))
        return mapped(values.__getitem__, self._structure[1])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """None: the layers inside have noted the masks of their outputs, which are those of the model."""
        return None

    # As text and data

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} of {len(self.layers)} layers>"

    def summary(self, line_length: int | None = None, positions: Any = None, print_fn: Any = None) -> None:
        """Print a table of the layers: their output shapes and numbers of weights."""
        if not self.built:
            raise misuse(
                ValueError, f"model {self.name} is not built yet: fit it, call it, or call build() first"
            )
        print_summary(self, line_length, positions, print_fn)

    def get_config(self) -> dict[str, Any]:
        """The layers and how they are connected, as data."""
        if not self.is_graph:
            raise misuse(
                NotImplementedError, f"{self.name} is a subclass of Model: only its code says what it does"
            )
        return network_config(self)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The model of a `get_config`."""
        return network_from_config(cls, config, custom_objects)


class _Own(Node):
    """The connection of a model's own inputs and outputs, as if it had been called with them."""

    def __init__(self, model: Network) -> None:
        self.layer = model
        self.inputs, self.outputs = single(model.inputs), single(model.outputs)
        self.input_tensors, self.output_tensors = model.inputs, model.outputs
        self.arguments = {}


def _ordered(inputs: Any, names: list[str]) -> list[Any]:
    """Inputs in the model's order; a dict gives them by the names of its input layers."""
    return [inputs[name] for name in names] if isinstance(inputs, dict) else listed(inputs)


def _numbered(names: list[str]) -> list[str]:
    """Names of outputs, different from each other."""
    counts: dict[str, int] = {}
    made = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        made.append(name if counts[name] == 1 else f"{name}_{counts[name] - 1}")
    return made


def get_source_inputs(tensor: Tensor, layer: Any = None, node_index: int | None = None) -> list[Tensor]:
    """The inputs of models that `tensor` comes from."""
    found = history(tensor)
    made = None if found is None else found.node
    node = layer.inbound_nodes[node_index or 0] if layer is not None else made
    if node is None or not node.input_tensors:
        return [tensor]
    sources = [s for t in node.input_tensors for s in get_source_inputs(t)]
    return list(dict.fromkeys(sources))


class OperationLayer(Layer):
    """One operation of the graph; calling it makes the same operation on other tensors."""

    def __init__(self, operation: Operation, positions: Sequence[int]) -> None:
        super().__init__(name=f"tf_op_layer_{operation.name}")
        self.operation, self.positions = operation, list(positions)
        self.built = True

    def call(self, inputs: Any) -> Any:
        tensors = list(self.operation.all_inputs)
        for position, tensor in zip(self.positions, leaves(inputs), strict=True):
            tensors[position] = tensor
        return again(self.operation, tensors)

    def get_config(self) -> dict[str, Any]:
        text = f"{self.operation.name} ({self.operation.type}) is not a layer and cannot be written as one"
        raise misuse(
            NotImplementedError, f"{text}: put it into a Layer or a Lambda, or save the weights alone"
        )


def again(operation: Operation, tensors: Sequence[Tensor]) -> Any:
    """The same operation on other tensors."""
    inputs, operands = list(tensors[: len(operation.tensors)]), list(tensors[len(operation.tensors) :])
    values: dict[str, Any] = {}
    singles = sum(p.role is Role.TENSOR for p in operation.definition.params)
    for param in operation.definition.params:
        match param.role:
            case Role.TENSOR:
                values[param.name] = inputs.pop(0)
            case Role.TENSORS:
                count = len(operation.tensors) - singles
                values[param.name], inputs = inputs[:count], inputs[count:]
            case _ if param.name in operation.operands:
                values[param.name] = operands.pop(0)
            case _:
                values[param.name] = operation.attrs[param.name]
    made = operation.graph.record(operation.definition, values, operation.name.split("/")[-1])
    return list(made) if isinstance(made, tuple) else made


def wrap_operations(outputs: Sequence[Tensor]) -> None:
    """Make a layer of each operation between `outputs` and the tensors of layers before them."""
    missing = [t.op for t in outputs if history(t) is None]
    if not missing:
        return
    known = {t for op in ancestors(missing) for t in op.outputs if history(t) is not None}
    between = ancestors(missing, known)
    reaching: set[Operation] = set()
    for op in sorted(between, key=lambda op: op.id):
        positions = [i for i, t in enumerate(op.all_inputs) if history(t) is not None or t.op in reaching]
        if positions and all(history(t) is None for t in op.outputs):
            reaching.add(op)
            given = [op.all_inputs[i] for i in positions]
            Node(OperationLayer(op, positions), single(given), single(list(op.outputs)), {})


@dataclass(frozen=True, slots=True)
class Topology:
    """`nodes`: the calls in the order of running. `layers`: each layer once, from the inputs on."""

    nodes: list[Node]
    layers: list[Any]


def topology(inputs: Sequence[Tensor], outputs: Sequence[Tensor], name: str) -> Topology:
    """Return the calls and layers between `inputs` and `outputs`.

    Raises:
        DisconnectedError: An output needs another input.
    """
    order: list[Node] = []  # parents before children
    layer_order: dict[int, int] = {}
    begun: set[int] = set()
    given = set(inputs)

    stack: list[tuple[Tensor, bool]] = [(t, False) for t in reversed(outputs)]
    while stack:
        tensor, done = stack.pop()
        found = history(tensor)
        if found is None:
            raise _disconnected(tensor, name)
        node = found.node
        if done:
            order.append(node)
        elif id(node) not in begun:
            begun.add(id(node))
            layer_order.setdefault(id(node.layer), len(layer_order))
            stack.append((tensor, True))
            if tensor not in given:
                stack += [(t, False) for t in reversed(node.input_tensors)]

    depths = _depths(order, given)
    layers = {id(node.layer): node.layer for node in order}
    depth_of = {key: max(depths[id(n)] for n in order if id(n.layer) == key) for key in layers}
    for tensor in inputs:  # an input that nothing uses is still an input
        found = history(tensor)
        if found is not None and id(found.layer) not in layers:
            layers[id(found.layer)] = found.layer
            layer_order[id(found.layer)] = -1
    deepest = max(depth_of.values(), default=0)
    begins = {id(h.layer) for t in inputs if (h := history(t)) is not None and not h.node.input_tensors}
    ranked = sorted(
        layers,
        key=lambda key: (-deepest if key in begins else -depth_of.get(key, deepest), layer_order[key]),
    )
    for tensor in (t for node in order if not node.input_tensors for t in node.output_tensors):
        if tensor not in given:
            raise _disconnected(tensor, name)
    nodes = sorted(order, key=lambda n: (-depths[id(n)], layer_order[id(n.layer)]))
    return Topology(nodes, [layers[key] for key in ranked])


def _depths(order: Sequence[Node], given: set[Tensor]) -> dict[int, int]:
    """Return the depth of each call, by its id: the distance of the call from the outputs.

    A call is at least as deep as the calls of its layer that come after it in `order`.
    """
    depths: dict[int, int] = {}
    of_layer: dict[int, int] = {}
    for node in reversed(order):
        depth = max(depths.get(id(node), 0), of_layer.get(id(node.layer), 0))
        depths[id(node)] = of_layer[id(node.layer)] = depth
        if any(t in given for t in node.output_tensors):
            continue
        for parent in node.parents():
            depths[id(parent.node)] = max(depth + 1, depths.get(id(parent.node), 0))
    return depths


def _disconnected(tensor: Tensor, name: str) -> DisconnectedError:
    text = f"model {name} cannot be cut out: {tensor.name} does not come from the inputs that were given"
    hint = "each path back from an output must end at an Input that is listed among the inputs"
    return misuse(DisconnectedError, text, hint, made=[(tensor.name, tensor.op.where)])
