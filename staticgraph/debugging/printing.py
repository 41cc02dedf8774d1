"""`Print` and `print`: tensors shown while the graph runs."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.building import nest
from staticgraph.building.framework import graph_of
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.sizes import get_static_value
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.control.effects import Countdown
from staticgraph.compiler.ops.text.summaries import both_ends
from staticgraph.control_flow.assertions import SUMMARIZE, listed, showing
from staticgraph.debugging.types import is_tensor
from staticgraph.sparse.tensor import SparseTensor


def Print(
    input_: Any,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """`input_`; where it is used, `data` is shown on the standard error stream.

    A line has `message`, then each text and tensor of the list `data` in brackets: of a tensor the first
    `summarize` elements, 3 by default, all if it is negative. With `first_n`, only the first so many lines
    are written.

    >>> x = sg.constant([1, 2, 3, 4])
    >>> y = sg.Print(x, [sg.shape(x), x], "x: ") * 2
    >>> with sg.Session() as sess:
    ...     sess.run(y)  # writes: x: [4][1 2 3...]
    array([2, 4, 6, 8], dtype=int32)
    """
    most = SUMMARIZE if summarize is None else summarize
    first = None if first_n is None or first_n < 0 else Countdown(first_n)
    with graph_of([input_, *listed("Print", data)]).as_default():
        shown, tensors = showing(data, most)
        return ops.print_values(
            convert_to_tensor(input_, name="input"),
            tensors,
            text=message or "",
            shown=shown,
            first=first,
            summarize=most,
            name=name or "Print",
        )


def print(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int = SUMMARIZE,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> Operation:
    """An operation that writes a line: texts, tensors, and structures of these, with `sep` between them.

    Of each axis of a tensor the first and last `summarize` elements are shown, all with -1. `output_stream`
    is `sys.stderr`, the default, `sys.stdout`, a level of `logging`, a function that takes the text, or
    `"file://"` and the path of a file that the line is added to; ValueError for anything else. Inside a loop
    or branch it writes a line in each round; strings that are not constant it cannot show there.

    >>> import sys
    >>> line = sg.print("x =", sg.range(10), {"rows": sg.constant(2)}, output_stream=sys.stdout)
    >>> with sg.Session() as sess:
    ...     sess.run(line)
    x = [0 1 2 ... 7 8 9] {'rows': 2}
    """
    stream = _stream(output_stream)
    shown: list[str | None] = []
    tensors: list[Tensor] = []
    with graph_of(nest.flatten(inputs)).as_default():
        for number, item in enumerate(inputs):
            text, found = _template(item, summarize)
            shown += [sep, *text] if number else text
            tensors += found
        return ops.print_line(
            tensors,
            shown=tuple(text for text in shown if text != ""),
            summarize=summarize,
            stream=stream,
            end=end,
            name=name or "PrintV2",
        )


_STANDARD = {"stdout": ("stdout", "__stdout__"), "stderr": ("stderr", "__stderr__")}


def _stream(given: Any) -> str | Callable[[str], Any]:
    if given is None:
        return "stderr"
    for name, attributes in _STANDARD.items():
        if any(given is getattr(sys, attribute) for attribute in attributes):
            return name
    if isinstance(given, str) and given.startswith("file://"):
        return given
    if isinstance(given, int):
        import logging  # takes as long as all other modules of Python's

        return functools.partial(logging.log, given)
    if callable(given):
        return given
    text = f"print(output_stream): {given!r} is no stream"
    raise misuse(ValueError, text, "sys.stdout, sys.stderr, 'file://' and a path, or a function")


def _template(item: Any, summarize: int) -> tuple[list[str | None], list[Tensor]]:
    """An argument of `print` as texts, with None in the place of each tensor, and the tensors."""
    if isinstance(item, str):
        return [item], []
    import pprint

    holes: list[_Hole] = []

    def hole(leaf: Any) -> Any:
        if not is_tensor(leaf):
            return leaf
        holes.append(_Hole(leaf, len(holes)))
        return holes[-1]

    parts = re.split("\0(\\d+)\0", pprint.pformat(nest.map_structure(hole, item)))
    shown: list[str | None] = [parts[0]]
    tensors: list[Tensor] = []
    for number, text in zip(parts[1::2], parts[2::2], strict=True):
        texts, found = holes[int(number)].shown(summarize)
        shown += [*texts, text]
        tensors += found
    return shown, tensors


class _Hole:
    """The place of a tensor in a structure that is printed."""

    def __init__(self, tensor: Any, number: int) -> None:
        self.tensor = tensor
        self._number = number

    def __repr__(self) -> str:
        return f"\0{self._number}\0"

    def shown(self, summarize: int) -> tuple[list[str | None], list[Tensor]]:
        """Texts, with None in the place of each tensor, and the tensors."""
        if isinstance(self.tensor, SparseTensor):
            x = self.tensor
            texts = ["SparseTensor(indices=", None, ", values=", None, ", shape=", None, ")"]
            return texts, [x.indices, x.values, x.dense_shape]
        tensor = convert_to_tensor(self.tensor)
        known = get_static_value(tensor) if tensor.dtype is string and tensor.shape.ndims else None
        return ([None], [tensor]) if known is None else ([both_ends(known, summarize)], [])
