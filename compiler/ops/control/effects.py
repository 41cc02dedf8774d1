"""Ops that a user sees at work: assertions, prints, and checks for NaN.

They are done in the order of the graph's construction, inside of loops and branches too. A compiled step
calls back into Python for them, and only where there is something to do: an assertion that holds costs a
test.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING, int32
from staticgraph.compiler.graph.errors import InvalidArgumentError, require
from staticgraph.compiler.graph.interpret import perform
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.shapes import TensorType, compatible
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.ops.kinds import structural
from staticgraph.compiler.ops.text.summaries import both_ends, first_elements

Shown = tuple[str | None, ...]  # texts, and None if the next tensor is shown


def described(shown: Shown, data: Sequence[np.ndarray], summarize: int) -> list[str]:
    """Texts and tensors as strings, each in brackets by its caller.

    >>> described(("x =", None), [np.arange(5)], 3)
    ['x =', '0 1 2...']
    """
    arrays = iter(data)
    return [first_elements(next(arrays), summarize) if text is None else text for text in shown]


def _assertion(condition: np.ndarray, *data: np.ndarray, shown: Shown, summarize: int) -> tuple[()]:
    if not condition.all():
        parts = "".join(f" [{part}]" for part in described(shown, data, summarize))
        raise InvalidArgumentError(f"assertion failed:{parts}")
    return ()


@structural(
    tf="Assert", type=lambda condition, *data, shown, summarize: (), numpy=_assertion, effect=Effect.EFFECT,
    differentiable=False, vars={"condition": "bool", "data": "*"},
)
def assert_true(condition: Any, *data: Any, shown: Shown, summarize: int = 3) -> Any:
    """Nothing if all of `condition` is True, else an error that shows `data`.

    It says the parts of `shown`, with the first `summarize` elements of each tensor.
    """


def _print(
    input: np.ndarray, *data: np.ndarray, text: str, shown: Shown, first: Any, summarize: int
) -> np.ndarray:
    if first is None or first.next():
        parts = described(shown or (None,) * len(data), data, summarize)
        print(text + "".join(f"[{part}]" for part in parts), file=sys.stderr)
    return input


@structural(
    tf="Print", type=lambda input, *data, **_: input, numpy=_print, effect=Effect.EFFECT, vars={"data": "*"},
    grad=lambda g, y, input, *data, **_: (g, *(None for _ in data)), grad_takes=(), grad_any_rank=True,
)
def print_values(
    input: Any, *data: Any, text: str = "", shown: Shown = (), first: Any = None, summarize: int = 3
) -> Any:
    """`input`; shows `data` on the standard error stream.

    After `text` come the parts of `shown`, with the first `summarize` elements of each tensor. With `first`,
    a countdown, only while it runs.
    """


class Countdown:
    """Says yes so many times."""

    def __init__(self, count: int) -> None:
        self._left = count

    def next(self) -> bool:
        self._left -= 1
        return self._left >= 0


def _print_line(*data: np.ndarray, shown: Shown, summarize: int, stream: Any, end: str) -> tuple[()]:
    # A string alone has no quotes.
    show = first_elements if shown == (None,) and not data[0].ndim else both_ends
    arrays = iter(data)
    text = "".join(show(next(arrays), summarize) if part is None else part for part in shown)
    match stream:
        case "stdout":
            print(text, end=end, file=sys.stdout)
        case "stderr":
            print(text, end=end, file=sys.stderr)
        case str():
            with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:
                file.write(text + end)
        case _:
            stream(text)
    return ()


@structural(
    tf="PrintV2", type=lambda *data, **_: (), numpy=_print_line, effect=Effect.EFFECT, differentiable=False,
    vars={"data": "*"},
)
def print_line(*data: Any, shown: Shown, summarize: int = 3, stream: Any = "stderr", end: str = "\n") -> Any:
    """Nothing; writes a line that shows `data` to a stream.

    The line has the parts of `shown`, with the first and last `summarize` elements of each axis of a tensor,
    and `end`. The `stream` is `"stdout"`, `"stderr"`, `"file://"` and the path of a file that becomes longer,
    or a function that takes the text.
    """


def _numerics(tensor: np.ndarray, message: str) -> np.ndarray:
    values = tensor.astype(np.float64) if tensor.dtype.kind == "V" else tensor
    kinds = (("Inf", np.isinf(values).any()), ("NaN", np.isnan(values).any()))
    if found := " and ".join(what for what, is_there in kinds if is_there):
        raise InvalidArgumentError(f"{message} : Tensor had {found} values")
    return tensor


@structural(
    tf="CheckNumerics", type=lambda tensor, message: tensor, numpy=_numerics, effect=Effect.EFFECT,
    dtypes=FLOATING, grad=lambda g, y, tensor, message: (g,), grad_takes=(), grad_any_rank=True,
)
def check_numerics(tensor: Any, *, message: str) -> Any:
    """`tensor`; an error with `message` where it has elements that are NaN or infinite."""


# In a Function: an effect takes the number that orders it after the one before, and gives the next one.


def _effect_type(order: TensorType, *inputs: TensorType, operation: Operation) -> TensorType:
    require(compatible(order.shape, ()), "the order of effects is one number")
    return TensorType(int32, ())


def _effect_meaning(order: np.ndarray, *inputs: np.ndarray, operation: Operation) -> np.ndarray:
    perform(operation, dict(zip(operation.tensors, inputs, strict=True)).__getitem__)
    return np.add(order, 1, dtype=np.int32)


@structural(
    type=_effect_type, numpy=_effect_meaning, effect=Effect.MARK, differentiable=False,
    vars={"order": "int32", "inputs": "*"}, internal=True,
)
def effect(order: Any, *inputs: Any, operation: Operation) -> Any:
    """Perform `operation` on `inputs` for its effect, and return the number that orders the next effect."""
