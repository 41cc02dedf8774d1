"""`tensorflow.python.training.moving_averages`: a step of a moving average, by itself."""

from __future__ import annotations

from typing import Any

import staticgraph as sg


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """An operation that moves a variable to `value` by 1 - `decay` of the way.

    With `zero_debias` the average is that of the values so far, as if it had not begun with a zero: two local
    variables, `biased` and `local_step`, are made for it.
    """
    with sg.name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        rate = sg.convert_to_tensor(1.0 - decay, dtype=variable.dtype.base_dtype)
        if not zero_debias:
            return sg.assign_sub(variable, (variable - value) * rate, name=scope)
        with sg.variable_scope(variable.op.name, values=[variable, value, rate]):
            zeros = sg.zeros_initializer()
            biased = sg.get_variable("biased", variable.shape, variable.dtype, zeros, trainable=False)
            steps = sg.get_variable("local_step", [], variable.dtype, zeros, trainable=False)
        moved = sg.assign_sub(biased, (biased - value) * rate)
        counted = sg.assign_add(steps, 1)
        return sg.assign(variable, moved / (1.0 - sg.pow(1.0 - rate, counted)), name=scope)
