"""Hash what the compiler makes, to show that a change of its source leaves the code alone.

    python tools/same_code.py FILE                   record the hashes in FILE
    python tools/same_code.py FILE                   compare with FILE, if it exists; status 1: some differ
    python tools/same_code.py FILE --only op,row     entries whose names begin so
    python tools/same_code.py FILE --scripts DIR     also what the scripts of TensorFlow 1 in a folder compile

There is an entry for the LLVM text, the CUDA text and the program of every op of the registry, of every step
of the benchmark's rows and of the examples, and for the file that `sg.save` makes of each row's graph.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

os.environ |= {"SG_CACHE_DIR": "", "SG_DEVICE": "cpu"}
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import staticgraph as sg
from benchmarks import staticgraph_row
from benchmarks.workloads import WORKLOADS
from staticgraph.compiler import compile as compiler
from staticgraph.compiler.capture.guards import Answers, with_answers_of_now
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.compile import Compiled
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.gpu.compile_open import compile_gpu_open
from staticgraph.compiler.graph.size_contexts import Undecided, current_answer
from staticgraph.compiler.graph.sizes import NOMINALS
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.lower.program import Program
from staticgraph.runtime.cpu import compile as compiling
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.tf1.drop_in.runner import run_script
from tests.ops.harness import TESTED, Build, dtype_choices, uses

Entries = dict[str, str]
Compile = Callable[[], tuple[Compiled, list[str]]]
SMALL = {"dag_10000", "dag_100000"}  # rows that would take minutes
EXAMPLES = ("two_layer_net.py", "serve_saved.py")


def main() -> int:
    """Record or compare."""
    options = _options()
    before: Entries = json.loads(options.file.read_text()) if options.file.exists() else {}
    now: Entries = {}
    for name, make in _work(options.scripts):
        if name.startswith(tuple(options.only.split(","))):
            print(f"\r{name:60}", end="", file=sys.stderr, flush=True)
            now |= {f"{name}: {kind}": _digest(parts) for kind, parts in make()}
    print(f"\r{'':60}\r", end="", file=sys.stderr)
    if not before:
        options.file.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n")
        print(f"{len(now)} hashes recorded")
        return 0
    differ = sorted(name for name in now if before.get(name) != now[name])
    gone = sorted(name for name in before if name not in now and not options.only)
    print(*differ, *(f"{name}: no longer there" for name in gone), sep="\n")
    print(f"{len(now)} hashes, {len(differ) + len(gone)} of them differ")
    return int(bool(differ or gone))


def _work(scripts: Path | None) -> Iterator[tuple[str, Callable[[], Iterator[tuple[str, Iterable[str]]]]]]:
    for op in TESTED:
        yield f"op {op.name}", partial(_of_op, op)
    for row in WORKLOADS:
        yield f"row {row}", partial(_of_row, row)
    found = [ROOT / "examples" / name for name in EXAMPLES]
    for path in [*found, *(sorted(scripts.glob("*.py")) if scripts else ())]:
        yield f"script {path.name}", partial(_of_script, path)


def _of_op(op: Any) -> Iterator[tuple[str, Iterable[str]]]:
    """All samples of an op, as one step."""
    build = Build()
    made = [value for use in uses(op, next(dtype_choices(op))) for value in build.add(use)[1]]
    yield from _of_steps([partial(_compiled, Step(build.function(made), (), (), (), (), len(made), ()))])


def _of_row(name: str) -> Iterator[tuple[str, Iterable[str]]]:
    work, saved = WORKLOADS[name], []

    def runner(fetches: Any, feeds: Any, batches: Any) -> Any:
        run = staticgraph_runner(fetches, feeds, batches)
        tensors = [
            t for t in (fetches if isinstance(fetches, list) else [fetches]) if isinstance(t, sg.Tensor)
        ]
        path = Path(tempfile.mkdtemp()) / "net.sg"
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            sg.save(path, {f"y{n}": t for n, t in enumerate(tensors)}, session=session)
        saved.append(hashlib.sha256(path.read_bytes()).hexdigest())
        return run

    staticgraph_runner = staticgraph_row.runner
    staticgraph_row.runner = runner
    try:
        with sg.Graph().as_default(), _recorded() as steps:
            data = work.data(small=name in SMALL)
            run = getattr(staticgraph_row, work.make.__name__)(data)
            run()
            run()
    finally:
        staticgraph_row.runner = staticgraph_runner
    yield from _of_steps(steps)
    if saved:
        yield "file", saved


def _of_script(path: Path) -> Iterator[tuple[str, Iterable[str]]]:
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, _recorded() as steps, redirect_stdout(sys.stderr):
        os.chdir(folder)
        try:
            run_script(str(path), [])
        finally:
            os.chdir(here)
    yield from _of_steps(steps)


def _of_steps(steps: list[Compile]) -> Iterator[tuple[str, Iterable[str]]]:
    made = [compiled() for compiled in steps]
    yield "llvm", [code.text for each, _ in made for code in each.codes]
    yield "program", [text for each, _ in made for text in _told(each.program)]
    yield "cuda", [text for _, cuda in made for text in cuda]


def _compiled(step: Step) -> tuple[Compiled, list[str]]:
    """A step for the processor, and its texts for a GPU: with open sizes, for those of the run at hand."""
    made = compiler.compile(step, cpu_jit.host())
    if not made.program.opens:
        return made, [f.text for f in compile_gpu(step).functions]
    answers = current_answer()
    values = answers.values if isinstance(answers, Answers) else NOMINALS
    try:
        opened = compile_gpu_open(step)
    except Undecided as undecided:  # on a GPU, the step is compiled with more sizes known
        return made, [f"undecided: {undecided}"]
    return made, [f.text for f in opened.at(values, GpuTarget()).functions]


def _told(value: Any) -> Iterator[str]:
    """A program as text: its instructions with the places that they work on, and its constants."""
    match value:
        case Program():
            yield f"{len(value.arguments)} {value.results} {sorted(value.in_place)} {value.arena}"
            for offset, piece in value.constants.pieces:
                yield f"{offset} {hashlib.sha256(piece).hexdigest()}"
            yield from (text for each in value.instructions for text in _told(each))
        case _ if dataclasses.is_dataclass(value) or hasattr(type(value), "__dataclass_fields__"):
            yield type(value).__name__
            for name in type(value).__dataclass_fields__:
                if name not in ("node", "nodes", "work", "function", "attrs"):  # the text of kernels tells
                    yield from _told(getattr(value, name))
        case tuple():
            yield from (text for each in value for text in _told(each))
        case _:
            yield repr(value)


@contextmanager
def _recorded() -> Iterator[list[Compile]]:
    """Functions that compile again the steps that are compiled for the processor meanwhile."""
    steps: list[Compile] = []
    real = compiling.compile

    def compile(step: Step, *rest: Any, **named: Any) -> Any:
        steps.append(with_answers_of_now(partial(_compiled, step)))
        return real(step, *rest, **named)

    compiling.compile = compile
    try:
        yield steps
    finally:
        compiling.compile = real


def _digest(parts: Iterable[str]) -> str:
    made = hashlib.sha256()
    for part in parts:
        made.update(part.encode())
    return made.hexdigest()[:20]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="keeps the hashes")
    parser.add_argument("--only", default="", help="beginnings of names, with commas between")
    parser.add_argument("--scripts", type=Path, help="a folder of scripts that say `import tensorflow as tf`")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
