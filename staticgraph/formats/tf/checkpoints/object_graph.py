"""The objects of an object-based checkpoint: found in a program, named, and matched with those of a file.

An object says what it holds by `_checkpoint_dependencies()`, pairs of a name and an object. The key of a
variable is the shortest path to it: `model/layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import InvalidFileError, misuse, shown
from staticgraph.formats.tf.messages.object_graph import TrackableObjectGraph
from staticgraph.formats.tf.messages.wire import DecodeError
from staticgraph.runtime.files.arrays.safetensors import Stored
from staticgraph.state.variables import Variable

OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VARIABLE_VALUE = "VARIABLE_VALUE"


def is_trackable(value: Any) -> bool:
    """Return True for a variable, for an object that says what it holds, and for lists and dicts with one."""
    if isinstance(value, list | tuple):
        return any(map(is_trackable, value))
    if isinstance(value, dict):
        return any(map(is_trackable, value.values()))
    return isinstance(value, Variable) or hasattr(value, "_checkpoint_dependencies")


def dependencies(value: Any) -> list[tuple[str, Any]]:
    """Return what an object holds, as pairs of a name and an object; nothing for a variable."""
    if isinstance(value, Variable):
        return []
    if isinstance(value, list | tuple):
        found: Iterable[tuple[str, Any]] = ((str(i), each) for i, each in enumerate(value))
    elif isinstance(value, dict):
        found = ((str(key), each) for key, each in value.items())
    else:
        found = value._checkpoint_dependencies()
    return [(name, each) for name, each in found if is_trackable(each)]


class ObjectGraph:
    """The objects below a root, breadth first, each under the shortest path to it; then the slots.

    Args:
        root: The object to begin with.
    """

    def __init__(self, root: Any) -> None:
        self.objects: list[Any] = [root]
        self._numbers = {id(root): 0}
        self._paths = [""]
        self._held: dict[int, list[tuple[str, Any]]] = {}  # by the number of the holder
        self._slots: dict[int, list[tuple[int, str, int]]] = {}  # by the number of the optimizer
        left = deque([root])
        while left:
            holder = left.popleft()
            number = self._numbers[id(holder)]
            path, self._held[number] = self._paths[number], dependencies(holder)
            for name, each in self._held[number]:
                if id(each) not in self._numbers:
                    self._add(each, f"{path}/{escaped(name)}" if path else escaped(name))
                    left.append(each)
        for number, held in enumerate(list(self.objects)):
            if not isinstance(held, Variable) and hasattr(held, "get_slot_names"):
                self._slots[number] = list(self._slots_of(held, self._paths[number]))

    def _add(self, thing: Any, path: str) -> int:
        self._numbers[id(thing)] = number = len(self.objects)
        self.objects.append(thing)
        self._paths.append(path)
        return number

    def _slots_of(self, optimizer: Any, path: str) -> Iterator[tuple[int, str, int]]:
        """Yield the number of a variable, the name of its slot, and the number of the slot."""
        for name in optimizer.get_slot_names():
            for number, variable in enumerate(list(self.objects)):
                slot = slot_of(optimizer, variable, name)
                if slot is not None and id(slot) not in self._numbers:
                    key = f"{self._paths[number]}/.OPTIMIZER_SLOT/{path}/{escaped(name)}"
                    yield number, name, self._add(slot, key)

    @property
    def variables(self) -> dict[str, Variable]:
        """The variables by their keys in a checkpoint."""
        return {
            value_key(path): each
            for path, each in zip(self._paths, self.objects, strict=True)
            if isinstance(each, Variable)
        }

    def message(self) -> TrackableObjectGraph:
        """Return the objects as a message."""
        made = TrackableObjectGraph()
        for number, (path, each) in enumerate(zip(self._paths, self.objects, strict=True)):
            node = made.nodes.add()
            for name, held in self._held.get(number, ()):
                node.children.add(node_id=self._numbers[id(held)], local_name=name)
            if isinstance(each, Variable):
                node.attributes.add(
                    name=VARIABLE_VALUE, full_name=each.op.name, checkpoint_key=value_key(path)
                )
            for original, name, slot in self._slots.get(number, ()):
                node.slot_variables.add(
                    original_variable_node_id=original, slot_name=name, slot_variable_node_id=slot
                )
        return made


def escaped(name: str) -> str:
    """Return a name as a part of a path: a slash in it is `.S`, and a dot is doubled."""
    return name.replace(".", "..").replace("/", ".S")


def value_key(path: str) -> str:
    """Return the key of the value of a variable."""
    return f"{path}/.ATTRIBUTES/{VARIABLE_VALUE}"


def slot_of(optimizer: Any, variable: Any, name: str) -> Variable | None:
    """Return a slot of a variable, None if the optimizer has none."""
    if not isinstance(variable, Variable):
        return None
    try:
        found: Variable | None = optimizer.get_slot(variable, name)
    except KeyError:
        return None
    return found


def matched(described: TrackableObjectGraph, root: Any) -> dict[int, Any]:
    """Match the objects of a checkpoint with those of the program, by their names, from the root on.

    Args:
        described: The objects of the checkpoint.
        root: The object of the program that the first of them stands for.

    Returns:
        The objects of the program by the numbers of those of the checkpoint.
    """
    found = {0: root}
    left = deque([0])
    while left:
        number = left.popleft()
        held = dict(dependencies(found[number]))
        for child in described.nodes[number].children:
            if child.local_name in held and child.node_id not in found:
                found[child.node_id] = held[child.local_name]
                left.append(child.node_id)
    for number, optimizer in list(found.items()):
        for told in described.nodes[number].slot_variables:
            variable = found.get(told.original_variable_node_id)
            if hasattr(optimizer, "get_slot_names") and told.slot_name in optimizer.get_slot_names():
                slot = slot_of(optimizer, variable, told.slot_name)
                if slot is not None:
                    found[told.slot_variable_node_id] = slot
    return found


def object_graph_of(prefix: str, tensors: Mapping[str, Stored]) -> TrackableObjectGraph | None:
    """Return the objects of a checkpoint; None if it was written by a Saver, and has values by name.

    Raises:
        InvalidFileError: If the checkpoint does not describe its objects as it should.
    """
    if OBJECT_GRAPH_KEY not in tensors:
        return None
    dtype, array = tensors[OBJECT_GRAPH_KEY]
    try:
        if dtype is not string or array.shape:
            raise DecodeError("no string")
        made: TrackableObjectGraph = TrackableObjectGraph.FromString(array.item())
        count = len(made.nodes)
        if not count or not all(0 <= number < count for node in made.nodes for number in _named(node)):
            raise DecodeError("an object that is not there")
    except DecodeError as error:
        text = f"checkpoint {prefix}: the objects that it describes cannot be read: {error}"
        raise misuse(InvalidFileError, text, "copy it again from where it came") from None
    return made


def _named(node: Any) -> Iterator[int]:
    """Yield the numbers of objects that an object names."""
    for child in node.children:
        yield child.node_id
    for slot in node.slot_variables:
        yield slot.original_variable_node_id
        yield slot.slot_variable_node_id


class ByName(Mapping[str, Stored]):
    """The values of an object-based checkpoint by the names of variables, as a Saver would name them.

    Args:
        described: The objects of the checkpoint.
        tensors: Its values by their keys.
    """

    def __init__(self, described: TrackableObjectGraph, tensors: Mapping[str, Stored]) -> None:
        self._tensors = tensors
        self._keys = {
            value.full_name: value.checkpoint_key
            for node in described.nodes
            for value in node.attributes
            if value.full_name and value.checkpoint_key in tensors
        }

    def __getitem__(self, name: str) -> Stored:
        return self._tensors[self._keys[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def stored(described: TrackableObjectGraph) -> Stored:
    """Return the message as a value of a checkpoint."""
    return string, np.array(described.SerializeToString(), object)


def check_trackable(name: str, value: Any) -> None:
    """Raise ValueError unless a checkpoint can save what an argument of `Checkpoint` holds."""
    if not is_trackable(value):
        text = f"Checkpoint({name}=...) was expecting a trackable object, and {shown(value)} is none"
        hint = "variables, layers, models, optimizers and other Checkpoints are"
        raise misuse(ValueError, text, hint)
