"""`training_step`: an op that gives a variable and its slots new values, as an optimizer's formula says.

A formula gets a cell for the variable and for each slot, and the op's other inputs as they are. A cell is the
place of an update: a whole variable here. For a gradient of a few rows, optimizers give the same formula
cells that are rows of variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from staticgraph.compiler.graph.dtypes import FLOATING
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import Kind, OpDef, ops
from staticgraph.compiler.graph.shapes import TensorType, merge, shape_text
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.control.state import WRITES
from staticgraph.compiler.ops.kinds import define

FORMULAS: dict[str, Callable[..., None]] = {}  # by the name of the op, of those that are imported


class Cell:
    """A place with a value, and with the value that it is going to have, which is `new`.

    It keeps its value if a formula sets no other.
    """

    def __init__(self, value: Any) -> None:
        self.value = self.new = value

    def set(self, value: Any) -> Any:
        """Take `value` for the new value; returns it."""
        self.new = value
        return value

    def subtract(self, delta: Any) -> None:
        """Take the value less `delta` for the new value."""
        self.set(self.value - delta)

    def average(self, sample: Any, decay: Any) -> Any:
        """Take `sample` into a moving average; returns the new average."""
        return self.set(self.value + (sample - self.value) * (1.0 - decay))

    def add(self, sample: Any, decay: Any) -> Any:
        """Take `sample` into a total in which earlier ones count `decay` as much; returns the new total."""
        return self.set(self.value * decay + sample)

    def descend(self, mean: Any, squares: Any, rate: Any, epsilon: Any) -> None:
        """Take the value after a step along `mean` over the root of `squares` for the new value."""
        self.subtract(mean * rate / (ops.sqrt(squares) + epsilon))


class ValueCell(Cell):
    """A place with a value of the compiler: parts of formulas are one operation each (`elements.py`)."""

    def average(self, sample: Any, decay: Any) -> Any:
        """Take `sample` into a moving average; returns the new average."""
        return self.set(ops.moving_average(self.value, sample, 1.0 - decay))

    def add(self, sample: Any, decay: Any) -> Any:
        """Take `sample` into a total in which earlier ones count `decay` as much; returns the new total."""
        return self.set(ops.decaying_total(self.value, sample, decay))

    def descend(self, mean: Any, squares: Any, rate: Any, epsilon: Any) -> None:
        """Take the value after a step along `mean` over the root of `squares` for the new value."""
        self.set(ops.scaled_descent(self.value, mean, squares, rate, epsilon))


def training_step(
    *,
    tf: str,
    variables: int,
    numpy: Callable[..., Any],
    samples: Any,
    vars: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., None]], OpDef]:
    """Decorator: make an op of a formula, whose parameters are those of the op.

    Args:
        tf: TensorFlow's type.
        variables: The number of the first parameters that are variables: the variable, then its slots.
        numpy: The new values of these, by NumPy.
        samples: Inputs for tests.
        vars: The dtypes of parameters that have another one than the variable.
    """

    def declare(formula: Callable[..., None]) -> OpDef:
        code = formula.__code__
        names = code.co_varnames[: code.co_argcount]

        def type(*types: TensorType, **attrs: Any) -> tuple[TensorType, ...]:
            shape = types[0].shape
            for place, (name, given) in enumerate(zip(names, types, strict=True)):
                if place < variables or name == "grad":
                    shape = merge(shape, given.shape, f"the variable and {name}:") if place else shape
                elif given.rank not in (None, 0):
                    text = f"{name} has the shape {shape_text(given.shape)}, and must be a number"
                    require(False, text)
            return (TensorType(types[0].dtype, shape),) * variables

        def expand(*values: Any, use_locking: bool = False, **attrs: Any) -> tuple[Any, ...]:
            cells = [ValueCell(value) for value in values[:variables]]
            formula(*cells, *values[variables:], **attrs)
            return tuple(cell.new for cell in cells)

        op = define(
            Kind.COMPOSITE, formula, tf=tf, type=type, reference=numpy, expand=expand, variables=variables,
            samples=samples, vars=vars, dtypes={"T": FLOATING}, **WRITES,
        )
        FORMULAS[op.name] = formula
        return op

    return declare


def fixed(number: Any) -> float | None:
    """Return a number that does not change from run to run, or None."""
    known = number.constant if isinstance(number, Value) else number
    if isinstance(number, Tensor):
        known = static_value(number)
    return None if known is None else float(known)
