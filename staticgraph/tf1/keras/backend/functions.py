"""`Function`: a part of the graph as a function of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from staticgraph.building import nest
from staticgraph.building.framework import control_dependencies, get_default_graph
from staticgraph.building.inputs import convert_to_tensor, group, identity
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.state.state_ops import assign
from staticgraph.tf1.keras.state import get_session

_OPTIONS = {"fetches", "feed_dict", "options", "run_metadata"}


class Function:
    """A Python function that runs a part of the graph: `function(inputs, outputs)(values)`.

    It is prepared once for each session, and then takes arrays to arrays without Python for each operation.

    Attributes:
        fetches: Tensors and operations that each call runs besides. They may be changed between calls.
        fetch_callbacks: Functions that each call gives the value of a fetch, by that fetch.
        feed_dict: Values of further tensors. They may be changed between calls.
    """

    def __init__(
        self,
        inputs: Any,
        outputs: Any,
        updates: Sequence[Any] | None = None,
        name: str | None = None,
        **session_kwargs: Any,
    ) -> None:
        if not isinstance(updates, list | tuple | None):
            what = f"the updates of a function are a list, not {type(updates).__name__}"
            raise misuse(TypeError, what, "write updates=[update]")
        if unknown := sorted(set(session_kwargs) - _OPTIONS):
            hint = f"it takes {', '.join(sorted(_OPTIONS))}"
            raise misuse(ValueError, f"function() got an unknown argument {unknown[0]!r}", hint)
        self.inputs = nest.flatten(inputs)
        self._taken = inputs if nest.is_nested(inputs) else [inputs]
        self._structure = outputs
        self.outputs = nest.flatten(outputs)
        with control_dependencies([convert_to_tensor(output) for output in self.outputs[:1]]):
            self.updates = [assign(*u) if isinstance(u, tuple) else u for u in updates or ()]
        self.name = name
        given = session_kwargs.get("fetches") or []
        listed = given if isinstance(given, list | tuple) else [given]
        self.fetches = [each if isinstance(each, Operation) else identity(each) for each in listed]
        self.fetch_callbacks: dict[Any, Callable[[Any], Any]] = {}
        self.feed_dict: dict[Any, Any] = session_kwargs.get("feed_dict") or {}
        self._graph = get_default_graph()
        self._prepared: tuple[Any, Any] = None, None

    def __call__(self, inputs: Any = ()) -> Any:
        """Run the function.

        Args:
            inputs: Values of the inputs, nested as these were given. A value may be a tensor; None feeds
                nothing.

        Returns:
            The values of the outputs, nested as these were given.
        """
        values = _values(self._taken, inputs if nest.is_nested(inputs) else [inputs])
        fed = [(tensor, v) for tensor, v in zip(self.inputs, values, strict=False) if v is not None]
        fed += self.feed_dict.items()
        with self._graph.as_default():
            session = get_session()
        key = session, tuple(tensor for tensor, _ in fed), tuple(self.fetches)
        known, call = self._prepared
        if known != key:
            operation = [group(self.updates)] if self.updates else []
            call = session.make_callable([*self.outputs, *self.fetches, *operation], key[1])
            self._prepared = key, call
        made = call(*(session.run(v) if isinstance(v, Tensor) else v for _, v in fed))
        count = len(self.outputs)
        if self.fetch_callbacks:
            for fetch, value in zip(self.fetches, made[count:], strict=False):
                if fetch in self.fetch_callbacks:
                    self.fetch_callbacks[fetch](value)
        return nest.pack_sequence_as(self._structure, made[:count])


def _values(structure: Any, given: Any) -> Iterator[Any]:
    """Yield the values of the leaves of `structure`; a list that stands for a leaf is its value."""
    if not nest.is_nested(structure):
        yield given
    elif isinstance(structure, Mapping):
        for key in sorted(structure):
            yield from _values(structure[key], given[key])
    else:
        for part, value in zip(structure, given, strict=False):
            yield from _values(part, value)


def function(
    inputs: Any, outputs: Any, updates: Sequence[Any] | None = None, name: str | None = None, **kwargs: Any
) -> Function:
    """Return a Python function from the values of `inputs` to those of `outputs`.

    Args:
        inputs: Tensors that are fed, nested in any way.
        outputs: Tensors whose values are returned, nested in any way.
        updates: Operations, or pairs (variable, new value), that each call runs after the outputs.
        name: Kept as an attribute.
        **kwargs: `fetches`, tensors and operations that each call runs besides, and `feed_dict`, values of
            further tensors. `options` and `run_metadata` are taken and change nothing.

    Raises:
        ValueError: For another keyword.
        TypeError: If `updates` is no list.

    >>> import staticgraph as sg
    >>> K = sg.keras.backend
    >>> x = K.placeholder([None])
    >>> K.function([x], [x * 2])([[1.0, 2.0]])
    [array([2., 4.], dtype=float32)]
    """
    return Function(inputs, outputs, updates, name, **kwargs)
