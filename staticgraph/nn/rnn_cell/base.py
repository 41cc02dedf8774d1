"""`RNNCell`: one step of a recurrent network, with a state that goes from step to step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.arrays.array_ops import concat, expand_dims, shape
from staticgraph.arrays.creation import zeros
from staticgraph.building import nest
from staticgraph.building.framework import get_default_graph, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import counted_as, op_count
from staticgraph.compiler.graph.shapes import as_shape
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.state.layer import Layer
from staticgraph.state.scopes import get_variable_scope, variable_scope

Step = Callable[[Tensor, Any], tuple[Any, Any]]


class RNNCell(Layer):
    """The base of all cells: `output, new_state = cell(inputs, state)`.

    A subclass has the properties `state_size` and `output_size`, numbers or shapes without the batch, nested
    as one likes, and the method `call(inputs, state)`, which may call `get_variable`. Inputs are
    [batch, features], and a state is [batch, size] for each size of `state_size`.

    >>> import staticgraph as sg
    >>> class Counter(sg.nn.rnn_cell.RNNCell):
    ...     state_size = output_size = 1
    ...
    ...     def call(self, inputs, state):
    ...         return state, state + 1.0
    >>> counts, _ = sg.nn.dynamic_rnn(Counter(), sg.zeros([1, 3, 5]), dtype=sg.float32)
    >>> sg.Session().run(counts).tolist()
    [[[0.0], [1.0], [2.0]]]
    """

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """The output and the new state."""
        where = get_variable_scope() if scope is None else scope
        with variable_scope(where, custom_getter=self._remembering) as opened:
            return super().__call__(inputs, state, **({} if scope is None else {"scope": opened}))

    def _remembering(self, getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """`get_variable` inside the cell: its variables are weights of the cell."""
        variable = getter(*args, **kwargs)
        if all(variable is not known for known in self._weights):
            self._weights.append(variable)
        return variable

    @property
    def state_size(self) -> Any:
        """The sizes of the state."""
        raise misuse(NotImplementedError, f"{type(self).__name__} has no state_size")

    @property
    def output_size(self) -> Any:
        """The sizes of the output."""
        raise misuse(NotImplementedError, f"{type(self).__name__} has no output_size")

    def build(self, _: Any) -> None:
        """Nothing: `call` makes the variables."""
        self.built = True

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """The state before the first step, for the batch of `inputs` or for `batch_size` and `dtype`."""
        if inputs is not None:
            inputs = convert_to_tensor(inputs, name="inputs")
            batch_size, dtype = inputs.shape[0].value or shape(inputs)[0], inputs.dtype
        if batch_size is None or dtype is None:
            raise misuse(ValueError, "get_initial_state: inputs must be given, or batch_size and dtype")
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros, nested like `state_size`.

        >>> import staticgraph as sg
        >>> sg.nn.rnn_cell.GRUCell(8).zero_state(32, sg.float32)
        <sg.Tensor 'GRUCellZeroState/zeros:0' shape=(32, 8) dtype=float32>
        """
        with name_scope(f"{type(self).__name__}ZeroState"):
            return zero_state_tensors(self.state_size, batch_size, dtype)


class LayerRNNCell(RNNCell):
    """A cell that makes its variables in `build`, as layers do."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        """The output and the new state."""
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)

    def projected(self, inputs: Tensor) -> tuple[Tensor, Step]:
        """The part of all steps that does not depend on the state, computed at once, and the rest of a step.

        `inputs` are [time, batch, features]; the step takes a row of what is returned, and the state. A class
        that defines `call` may define this too.
        """
        raise misuse(NotImplementedError, f"{type(self).__name__} is not split")

    def split_over(self, inputs: Tensor, state: Any) -> tuple[Tensor, Step] | None:
        """Return the result of `projected` in the cell's scope, or None if the cell cannot be split.

        A cell can be split if the class that defines its `call` also defines `projected`.
        The `call` of another class may do something else.
        """
        kind = type(self)
        meaning = next(base for base in kind.__mro__ if "call" in vars(base))
        same = "projected" in vars(meaning) and kind.__call__ is LayerRNNCell.__call__
        if not same or inputs.shape.ndims != 3:
            return None
        if self.dtype is None:
            self.dtype = inputs.dtype
        with self._opened(inputs.shape[1:]), counted_as(inputs.graph, self._operations(inputs, state)):
            return self.projected(inputs)

    def _operations(self, inputs: Tensor, state: Any) -> int:
        """Return the number of operations of one step that is not split, with one for each weight that a loop
        captures. They are made for it and taken back.
        """
        graph = inputs.graph
        with graph.attempt() as forget:
            row = inputs[0]
            before = op_count(graph)
            self.call(row, state)
            made = op_count(graph) - before
            forget()
        return made + len(self._weights)


class OfUnits(RNNCell):
    """A cell whose output and state have `num_units` numbers."""

    _num_units: int

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units


def zero_state_tensors(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """Return zeros of the sizes of a state, with the batch in front.

    Args:
        state_size: A number, a shape, or a structure of them.
        batch_size: A number or a tensor.
        dtype: The dtype of all tensors.

    >>> import staticgraph as sg
    >>> zero_state_tensors((3, 4), 2, sg.float32)[1].shape
    TensorShape([Dimension(2), Dimension(4)])
    """
    return nest.map_structure(lambda size: batch_of_zeros(batch_size, size, dtype), state_size)


def batch_of_zeros(batch_size: Any, size: Any, dtype: Any) -> Tensor:
    """Zeros of the shape [batch_size, *size]; `size` is a number or a shape."""
    sizes = list(as_shape(size) or ())
    if isinstance(batch_size, Tensor):
        known = static_value(batch_size)
        vector = batch_size.shape.ndims == 1
        with counted_as(batch_size.graph, 6 if vector else 10):
            rows = batch_size if vector else expand_dims(batch_size, 0)
            made = zeros(concat([rows, sizes], 0), dtype)
        made.set_shape([None if known is None else int(known), *sizes])
        return made
    with counted_as(get_default_graph(), 8):
        return zeros([int(batch_size), *sizes], dtype)
