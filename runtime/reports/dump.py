"""Dump of a compile as text files: the graph after each stage that changed it, the kernels, their code.

dump/001-loss/00-graph.txt        the step as it was captured, before all passes
              stages.txt          the stages in the order in which they ran, with their files, or "unchanged"
              01-prune.txt        the operations of the user's graph that the fetches need
              08-expand.txt       what a stage made, under its number in `compiler/stages.py`
              25-row_schedule.txt the same for each kernel, if one of them changed
              kernels.txt         each kernel as loops, or as the product that it is
              code.ll             LLVM's text of all functions; of those for a GPU code.cu, in CUDA C
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path
from typing import Any

from staticgraph.compiler.compiled_step import CompiledStep
from staticgraph.compiler.graph.errors import SaveError, misuse
from staticgraph.compiler.graph.function import Node
from staticgraph.compiler.graph.printer import function_text
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.schedule_cpu.row_schedule import place_rows
from staticgraph.compiler.kernel.stmt import Kernel
from staticgraph.compiler.lower.program import Launch, Loops, lines_of
from staticgraph.compiler.stages import NAMES, NUMBERS, unchanged
from staticgraph.runtime.reports.stage_text import stage_text

_LONGEST = 40  # letters of a folder's name
_numbers = itertools.count(1)


class Dump:
    """The folder of one compile, made in `folder`. SaveError if that cannot be."""

    def __init__(self, folder: str, what: str) -> None:
        name = re.sub(r"[^\w.-]+", "_", what).strip("_")[:_LONGEST]
        self._folder = Path(folder) / f"{next(_numbers):03}-{name}"
        self._times: Counter[str] = Counter()
        self._kernels = 1
        self._compiling = False  # True once the capture is over
        self._files: dict[str, str] = {}  # of stages that have changed something
        self._waiting: dict[str, str] = {}  # headings without a text, for a file that is not there yet
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for old in self._folder.glob("[0-9][0-9]-*.txt"):  # of an earlier program
                old.unlink()
        except OSError as error:
            text = f"cannot dump to {folder}: {error.strerror}"
            raise misuse(SaveError, text, "dump, or SG_DUMP, names a folder") from None

    def after_stage(self, name: str, before: Any, after: Any) -> None:
        """Write what a stage made."""
        if not self._compiling and NAMES[name].part != "capture":
            self._compiling = True
            self._write("00-graph.txt", function_text(before))
        self._times[name] += 1
        heading = self._heading(name)
        text = "" if unchanged(before, after) else stage_text(after)
        if not text or (heading and text == stage_text(before)):
            self._waiting[name] = f"{self._waiting.get(name, '')}{heading or '#'} unchanged\n"
        else:
            self._append(name, f"{heading}\n{text}" if heading else text)
        self._write("stages.txt", "".join(map(self._line, self._times)))

    def _heading(self, name: str) -> str:
        """The heading of a text where a stage has several."""
        if NAMES[name].part != "kernel" or name == "build_kernel":
            times = self._times[name]
            return f"# {times}" if times > 1 or name == "build_kernel" else ""
        heading = f"# kernel {self._kernels}"
        self._kernels += name.startswith("print_")
        return heading

    def _append(self, name: str, text: str) -> None:
        file = self._files.setdefault(name, f"{NUMBERS[name]:02}-{name}.txt")
        with (self._folder / file).open("a", encoding="utf-8") as opened:
            opened.write(self._waiting.pop(name, "") + text)

    def _line(self, name: str) -> str:
        stage = NAMES[name]
        file = self._files.get(name, "unchanged")
        return f"{name:24}{file:32}{stage.takes} -> {stage.makes}: {stage.about}\n"

    def finish(self, made: CompiledStep, language: str, code: str) -> None:
        """Write what came after the stages; `code` is in the language of files that end so."""
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
