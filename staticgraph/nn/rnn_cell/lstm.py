"""Long short-term memory: cells whose state is a memory `c` and an output `h`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from staticgraph.arrays.array_ops import concat, split
from staticgraph.arrays.indexing import slice as part_of
from staticgraph.building.signatures import with_defaults
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.math_ops import clip_by_value
from staticgraph.mathematics.products import matmul
from staticgraph.nn.activation import activation_of, sigmoid, tanh
from staticgraph.nn.bias import bias_add
from staticgraph.nn.rnn_cell.base import LayerRNNCell, OfUnits, Step
from staticgraph.nn.rnn_cell.basic import rows_times
from staticgraph.state.initializers import Zeros
from staticgraph.state.layer import known_size


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM: the memory `c` and the output `h`, or their sizes."""

    c: Any
    h: Any

    @property
    def dtype(self) -> DType:
        """The dtype of both. TypeError if they differ."""
        if self.c.dtype is not self.h.dtype:
            raise misuse(TypeError, f"the state is {self.c.dtype.name} and {self.h.dtype.name}")
        found: DType = self.c.dtype
        return found


class OfMemory(OfUnits):
    """A cell with a memory of `num_units` and an output of as many, or of `num_proj`."""

    _num_proj: int | None = None
    _state_is_tuple = True

    @property
    def state_size(self) -> Any:
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        return self._num_proj or self._num_units


class OfGates(OfMemory):
    """The step of a long short-term memory, from what goes into its gates. See `LSTMCell`."""

    _forget_bias: Any
    _activation: Any
    _cell_clip: float | None
    _proj_clip: float | None

    def _advanced(
        self, gates: Sequence[Tensor], c: Tensor, peepholes: Mapping[str, Any]
    ) -> tuple[Tensor, Tensor]:
        """Return the output and the memory after a step.

        Args:
            gates: What goes into the input gate, the candidate, the forget gate and the output gate.
            c: The memory before.
            peepholes: The weights by which the gates "f", "i" and "o" see the memory; empty if they do not.
        """
        i, j, f, o = gates
        f = f + self._forget_bias
        if peepholes:
            f, i = f + peepholes["f"] * c, i + peepholes["i"] * c
        c = self._memory(sigmoid(f) * c + sigmoid(i) * self._activation(j))
        if self._cell_clip is not None:
            c = clip_by_value(c, -self._cell_clip, self._cell_clip)
        if peepholes:
            o = o + peepholes["o"] * c
        h = sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            h = self._projection(h)
            if self._proj_clip is not None:
                h = clip_by_value(h, -self._proj_clip, self._proj_clip)
        return h, c

    def _memory(self, c: Tensor) -> Tensor:
        """Return the new memory before it is clipped."""
        return c

    def _projection(self, h: Tensor) -> Tensor:
        """Return the output times the matrix that projects it."""
        raise NotImplementedError


class LSTMCell(OfGates, LayerRNNCell):
    """A long short-term memory with input, forget and output gate.

    `use_peepholes` lets the gates see the memory, `num_proj` is the size to which a matrix projects the
    output, `cell_clip` and `proj_clip` bound memory and projected output. `forget_bias` is added to the
    forget gate in each step. Without `state_is_tuple` the state is memory and output in one tensor.

    >>> import staticgraph as sg
    >>> cell = sg.nn.rnn_cell.LSTMCell(8, num_proj=3)
    >>> output, state = cell(sg.zeros([2, 5]), cell.zero_state(2, sg.float32))
    >>> output.shape.as_list(), state.c.shape.as_list(), cell.weights[0].name
    ([2, 3], [2, 8], 'lstm_cell/kernel:0')
    """

    _peepholes = "fio"  # the gates in the order in which their peepholes are made

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: Any = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._diagonals: dict[str, Any] = {}
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation_of(activation) or tanh

    def build(self, input_shape: TensorShape) -> None:
        units, features = self._num_units, known_size(input_shape, -1, self.label)
        made = {"initializer": self._initializer}
        self._kernel = self.add_weight("kernel", [features + self.output_size, 4 * units], **made)
        self._bias = self.add_weight("bias", [4 * units], initializer=Zeros())
        if self._use_peepholes:
            self._diagonals = {g: self.add_weight(f"w_{g}_diag", [units], **made) for g in self._peepholes}
        if self._num_proj is not None:
            self._proj_kernel = self.add_weight("projection/kernel", [units, self._num_proj], **made)
        self.built = True

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        _, before = self._parts(state)
        gates = bias_add(matmul(concat([inputs, before], 1), self._kernel), self._bias)
        return self._after(gates, state)

    def projected(self, inputs: Tensor) -> tuple[Tensor, Step]:
        features = known_size(inputs.shape, -1, self.label)
        of_output = self._kernel[features:]

        def step(row: Tensor, state: Any) -> tuple[Tensor, Any]:
            return self._after(row + matmul(self._parts(state)[1], of_output), state)

        return rows_times(inputs, self._kernel[:features], self._bias), step

    def _parts(self, state: Any) -> tuple[Tensor, Tensor]:
        """Memory and output in a state."""
        if not self._state_is_tuple:
            sizes = self._num_units, self.output_size
            if (found := state.shape[-1].value if state.shape.ndims else None) not in (None, sum(sizes)):
                text = f"{self.label}: the state has {found} columns, and {sizes[0]} + {sizes[1]} are needed"
                raise misuse(ValueError, text, made=[(state.name, state.op.where)])
            return part_of(state, [0, 0], [-1, sizes[0]]), part_of(state, [0, sizes[0]], [-1, sizes[1]])
        try:
            c, h = state
        except (TypeError, ValueError):
            text = f"{self.label}: the state must be a pair of memory and output, not {state!r}"
            hint = "state_is_tuple=False takes one tensor with both side by side"
            raise misuse(ValueError, text, hint) from None
        return c, h

    def _after(self, gates: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Output and state after a step, from what goes into the gates."""
        h, c = self._advanced(split(gates, 4, 1), self._parts(state)[0], self._diagonals)
        return h, LSTMStateTuple(c, h) if self._state_is_tuple else concat([c, h], 1)

    def _projection(self, h: Tensor) -> Tensor:
        return matmul(h, self._proj_kernel)


class BasicLSTMCell(LSTMCell):
    """A long short-term memory without peepholes, projection or clipping.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 20, 8])
    >>> outputs, state = sg.nn.dynamic_rnn(sg.nn.rnn_cell.BasicLSTMCell(32), x, dtype=sg.float32)
    >>> outputs.shape.as_list(), [v.name for v in sg.trainable_variables()][0]
    ([None, 20, 32], 'rnn/basic_lstm_cell/kernel:0')
    """

    __init__ = with_defaults(
        LSTMCell,
        "use_peepholes cell_clip initializer num_proj proj_clip num_unit_shards num_proj_shards",
    )
