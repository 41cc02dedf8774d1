"""Dump of a compile as text files: the graph after each pass, the kernels, their code.

dump/001-loss/00-graph.txt
              01-loops.txt        "(unchanged)" if a pass did nothing
              02-expand.txt  ...
              kernels.txt         each kernel as loops, or as the product that it is
              code.ll             LLVM's text of all functions; of those for a GPU code.cu, in CUDA C
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from staticgraph.compiler.compile import CompiledStep
from staticgraph.compiler.graph.errors import SaveError, layout
from staticgraph.compiler.graph.function import Function, Node
from staticgraph.compiler.graph.printer import function_text
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.row_schedule import place_rows
from staticgraph.compiler.kernel.stmt import Kernel
from staticgraph.compiler.lower.program import Launch, Loops, lines_of

_LONGEST = 40  # letters of a folder's name
_numbers = itertools.count(1)


class Dump:
    """The folder of one compile, made in `folder`. SaveError where that cannot be."""

    def __init__(self, folder: str, what: str) -> None:
        name = re.sub(r"[^\w.-]+", "_", what).strip("_")[:_LONGEST]
        self._folder = Path(folder) / f"{next(_numbers):03}-{name}"
        self._passes = 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            text = f"cannot dump to {folder}: {error.strerror}"
            raise SaveError(layout(text, user_frame(), hint="dump, or SG_DUMP, names a folder")) from None

    def after_pass(self, name: str, before: Function, after: Function) -> None:
        """Write what a pass made of a Function."""
        if not self._passes:
            self._write("00-graph.txt", function_text(before))
        self._passes += 1
        same = after.results == before.results
        text = "(unchanged)\n" if same else function_text(after)
        self._write(f"{self._passes:02}-{name}.txt", text)

    def finish(self, made: CompiledStep, language: str, code: str) -> None:
        """Write what came after the passes; `code` is in the language of files that end so."""
        found = ((i, outer) for i, _, outer in made.walk() if isinstance(i, Launch))
        texts = (
            _kernel(number, launch, None if outer is None else outer.node)
            for number, (launch, outer) in enumerate(found, 1)
        )
        self._write("kernels.txt", "\n".join(texts))
        self._write(f"code.{language}", code)

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text, encoding="utf-8")


def _kernel(number: int, launch: Launch, outer: Node | None) -> str:
    """A kernel as text, under a line that says what it computes."""
    ops = " ".join(node.op.name for node in launch.nodes if node.op.name != "constant")
    lines = ", ".join(where.short for where in lines_of(launch.nodes, outer))
    return f"# {number}: {ops}   {lines}\n{kernel_text(as_kernel(launch.work))}"


def as_kernel(work: Loops | Kernel) -> Kernel:
    """Return the work of a launch as a kernel of loops."""
    if isinstance(work, Kernel):
        return work
    return place_rows("loops", dict(work.buffers), work.rows, work.nests, work.sums)
