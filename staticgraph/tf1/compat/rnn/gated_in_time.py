"""`tf.contrib.rnn.PhasedLSTMCell`: a long short-term memory that oscillations open and close."""

from __future__ import annotations

import math
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.nn.rnn_cell import LSTMStateTuple
from staticgraph.nn.rnn_cell.lstm import OfMemory
from staticgraph.tf1.compat.rnn.recurrent_linear import linear


class PhasedLSTMCell(OfMemory):
    """A long short-term memory whose units change while their oscillation is open (Neil et al. 2016).

    Its inputs are a pair: the times [batch, 1], and the inputs [batch, features].

    Args:
        num_units: The number of units.
        use_peepholes: If True, gates see the memory.
        leak: How much a closed unit lets through.
        ratio_on: The part of a period in which a unit is open, at the beginning.
        trainable_ratio_on: If that part is trained.
        period_init_min: The least period at the beginning.
        period_init_max: The greatest one.
        reuse: If the cell uses variables that are there.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: float = 0.001,
        ratio_on: float = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: float = 1.0,
        period_init_max: float = 1000.0,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes, self._leak = num_units, use_peepholes, leak
        self._ratio_on, self._trainable_ratio_on = ratio_on, trainable_ratio_on
        self._bounds = math.log(period_init_min), math.log(period_init_max)

    def call(self, inputs: Any, state: Any) -> tuple[sg.Tensor, LSTMStateTuple]:
        (time, x), (before, h) = inputs, state
        peeped = [before] if self._use_peepholes else []
        with sg.variable_scope("mask_gates"):
            i, f = sg.split(sg.sigmoid(linear([x, h, *peeped], 2 * self._num_units)), 2, 1)
        with sg.variable_scope("new_input"):
            candidate = sg.tanh(linear([x, h], self._num_units))
        c = before * f + i * candidate
        with sg.variable_scope("output_gate"):
            o = sg.sigmoid(linear([x, h, *([c] if self._use_peepholes else [])], self._num_units))
        k = self._openness(time)
        c, h = k * c + (1 - k) * before, k * (sg.tanh(c) * o) + (1 - k) * h
        return h, LSTMStateTuple(c, h)

    def _openness(self, time: sg.Tensor) -> sg.Tensor:
        """Return how open each unit is at a time: it opens, closes, and leaks for the rest of its period."""
        size = [self._num_units]
        count_more(time.graph, 4)
        period = sg.get_variable("period", size, initializer=self._periods)
        start = sg.random_uniform_initializer(0.0, period.initial_value)
        phase = sg.get_variable("phase", size, initializer=start)
        ratio_on = sg.get_variable(
            "ratio_on",
            size,
            initializer=sg.constant_initializer(self._ratio_on),
            trainable=self._trainable_ratio_on,
        )
        period, phase = (sg.cast(each, time.dtype) for each in (period, phase))
        shifted = time - phase
        within = sg.stop_gradient(sg.mod(shifted, period) - shifted) + shifted
        cycle = sg.cast(within / period, sg.float32)
        opening = 2 * cycle / ratio_on
        k = sg.where(cycle < ratio_on, 2 - opening, self._leak * cycle)
        count_more(time.graph, -2)
        return sg.where(cycle < 0.5 * ratio_on, opening, k)

    def _periods(self, shape: Any, dtype: Any = sg.float32, partition_info: Any = None) -> sg.Tensor:
        return sg.exp(sg.random_uniform(shape, *self._bounds, dtype))
