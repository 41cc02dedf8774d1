"""The values that operations read of variables, and what a derivative by a variable is taken by.

In a run, a variable has one value after the other: the value from before the run, then those that assignments
give it. An operand that is the variable itself is read at the turn of the op that takes it, and `read_value`
at its own turn.

For differentiation, all of these values are the variable. A derivative by it reaches every read, in loops and
branches too, and nothing flows from a read back into what was assigned. So a read of `value` becomes

    override(reads_of(variable), value)

which is `value`, and passes its cotangent on to the marker `reads_of`. That cotangent is the derivative.
"""

from __future__ import annotations

from collections.abc import Container

from staticgraph.compiler.graph.errors import InvalidArgumentError, layout
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.tensor import Operation


class Reads:
    """The reads of variables in a run that takes derivatives. In other runs, a read is just the value."""

    def __init__(self, differentiated: Container[object], any_derivatives: bool) -> None:
        self._differentiated = differentiated
        self.any_derivatives = any_derivatives
        self._markers: dict[Operation, list[Value]] = {}  # one for each type that a value had

    def read(self, variable: Operation, value: Value, assigned: bool) -> Value:
        """Return `value`, that of a variable, as an operand. `assigned`: this run has computed it."""
        if not self.any_derivatives or not value.dtype.is_differentiable:
            return value
        if variable not in self._differentiated:
            return ops.stop_gradient(value) if assigned else value
        marker = ops.reads_of(variable=variable.name, type=value.type)
        markers = self._markers.setdefault(variable, [])
        if marker not in markers:
            markers.append(marker)
        return ops.override(marker, value)

    def markers(self, variable: Operation) -> list[Value]:
        """Return what to take the derivative by a variable by: nothing if there were no reads so far.

        InvalidArgumentError if it had values of several shapes: then the derivative has no shape.
        """
        markers = self._markers.get(variable, [])
        if len(markers) > 1:
            shapes = " and ".join(str(m.type) for m in markers)
            text = f"{variable.name} is read as {shapes} in this run, so a derivative by it has no shape"
            raise InvalidArgumentError(layout(text, variable.where), variable)
        return markers
