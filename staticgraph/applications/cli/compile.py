"""`python -m staticgraph compile net.sg -o net`: a saved graph as an object file for C."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from staticgraph.applications.cli import terminal
from staticgraph.applications.cli.parsing import examples, whole_number

if TYPE_CHECKING:
    from staticgraph.applications.cli.parsing import Commands

SHAPE = "the shape of an input, such as image=8,28,28,1; may be repeated"


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "compile",
        help="compile a saved graph to an object file for C",
        description="Compile a saved graph, of any format that is read here, to NAME.o and NAME.h, and an "
        "example that uses them to main.c.",
        epilog=examples(
            ("net.sg", "net.o, net.h and main.c for this machine; open sizes are parameters"),
            ("net.sg --batch 1", "for one row"),
            ("net.sg -o build/net --target aarch64-linux-gnu --batch 1", "for another one"),
        ),
    )
    add = parser.add_argument
    add("file", type=Path, help="a graph: .sg, .onnx, .h5, .pb, .meta, the folder of a SavedModel")
    add("-o", dest="output", type=Path, metavar="NAME", help="path without ending (default: that of FILE)")
    add("--target", metavar="TRIPLE", help="such as aarch64-linux-gnu (default: this machine)")
    add("--cpu", help="a name of LLVM's, or native (default: native; with --target, any of the kind)")
    add("--features", default="", help="of the processor in addition, such as +avx2,-fma")
    add("--function", action="append", metavar="NAME", help="only this one of the file's; may be repeated")
    add("--batch", type=whole_number, metavar="N", help="the first size of inputs (default: any)")
    add("--shape", action="append", default=[], type=shape, metavar="INPUT=N,N", help=SHAPE)
    add("--weights", action="store_true", help="put the weights into a file NAME.weights")
    add("--threads", type=whole_number, default=1, metavar="N", help="that can work on one call (default: 1)")
    add("--json", action="store_true", help="list the files as JSON")
    parser.set_defaults(command=compile)


def compile(options: argparse.Namespace) -> int:
    """Write the files, and list them."""
    # The other commands need no compiler.
    from staticgraph.applications.cli.opening import loaded
    from staticgraph.runtime.aot.build import build
    from staticgraph.runtime.aot.steps import Shapes
    from staticgraph.runtime.cpu.target import target_of

    output = options.output or options.file.with_suffix("")
    target = target_of(options.target, options.cpu, options.features)
    shapes = Shapes(dict(options.shape), options.batch)
    net = loaded(str(options.file))
    how = (options.function, options.weights, options.threads)
    written = build(net, output.name, target, shapes, *how).write(output)
    sizes = {str(path): path.stat().st_size for path in written}
    listed = [f"{size:>12,} {path}" for path, size in sizes.items()]
    terminal.out(json.dumps(sizes, indent=1) if options.json else "\n".join(listed))
    return 0


def shape(text: str) -> tuple[str, tuple[int, ...]]:
    """`x=8,28` as the name and the sizes."""
    name, sign, sizes = text.rpartition("=")
    numbers = [size.strip() for size in sizes.split(",") if size.strip()]
    if not sign or not name or not all(size.isdecimal() for size in numbers):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=8,28,28,1")
    return name, tuple(map(int, numbers))
