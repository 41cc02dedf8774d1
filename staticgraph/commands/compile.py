"""`python -m staticgraph compile net.sg -o net`: a saved graph as an object file for C."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "compile",
        help="compile a saved graph to an object file for C",
        description="Compile a saved graph to NAME.o and NAME.h, and an example that uses them to main.c.",
    )
    add = parser.add_argument
    add("file", type=Path, help="a graph that sg.save wrote")
    add("-o", dest="output", type=Path, metavar="NAME", help="path without ending (default: that of FILE)")
    add("--target", metavar="TRIPLE", help="such as aarch64-linux-gnu (default: this machine)")
    add("--cpu", help="a name of LLVM's, or native (default: native; with --target, any of the kind)")
    add("--features", default="", help="of the processor in addition, such as +avx2,-fma")
    add("--function", action="append", metavar="NAME", help="only this one of the file's; may be repeated")
    add("--batch", type=int, metavar="N", help="the first size of inputs where it is open")
    add("--shape", action="append", default=[], type=_shape, metavar="INPUT=N,N", help="may be repeated")
    add("--weights", action="store_true", help="put the weights into a file NAME.weights")
    add("--threads", type=int, default=1, metavar="N", help="that can work on one call (default: 1)")
    parser.set_defaults(command=compile)


def compile(options: argparse.Namespace) -> int:
    """Write the files; the status to exit with: 0, or 1 if something failed."""
    # The other commands need no compiler.
    from staticgraph.compiler.graph.errors import OpError
    from staticgraph.runtime.ahead.build import build
    from staticgraph.runtime.ahead.steps import Shapes
    from staticgraph.runtime.devices.target import target_of
    from staticgraph.runtime.saving.loaded import load

    output = options.output or options.file.with_suffix("")
    try:
        target = target_of(options.target, options.cpu, options.features)
        shapes = Shapes(dict(options.shape), options.batch)
        net = load(options.file)
        how = (options.function, options.weights, options.threads)
        written = build(net, output.name, target, shapes, *how).write(output)
    except OpError as error:
        print(error, file=sys.stderr)
        return 1
    for path in written:
        print(f"{path.stat().st_size:>12,} {path}")
    return 0


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    """`x=8,28` as the name and the sizes."""
    name, sign, sizes = text.rpartition("=")
    numbers = [size.strip() for size in sizes.split(",") if size.strip()]
    if not sign or not name or not all(size.isdecimal() for size in numbers):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=8,28,28,1")
    return name, tuple(map(int, numbers))
