"""`python -m staticgraph convert model.onnx model.sg`: a graph in another format."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from staticgraph.applications.cli import terminal
from staticgraph.applications.cli.parsing import examples

if TYPE_CHECKING:
    from staticgraph.applications.cli.parsing import Commands


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "convert",
        help="write a graph in another format",
        description="Write the graph in FILE, with its weights, to OUT, in the format of OUT's ending: .sg "
        "(ours, with all functions and training steps), .onnx, .pb or .pbtxt (TensorFlow's frozen graph), or "
        "none (the folder of a SavedModel).\n"
        "FILE is a graph of sg.save, a model of ONNX or Keras, a SavedModel, a frozen graph, a "
        "meta graph beside its checkpoint, or events that hold a graph.",
        epilog=examples(
            ("resnet.onnx resnet.sg", "a model of ONNX as a file that runs fast"),
            ("model.h5 model.onnx", "a model of Keras for ONNX Runtime"),
            ("net.sg saved", "a SavedModel in the folder saved, with all functions"),
        ),
    )
    parser.add_argument("file", help="the graph")
    parser.add_argument("out", type=Path, help="what is written")
    parser.add_argument("--signature", metavar="NAME", help="only this function (default: all, or the first)")
    parser.set_defaults(command=convert)


def convert(options: argparse.Namespace) -> int:
    """Write the graph, and tell what is in the file."""
    from staticgraph.applications.cli.opening import all_opened, opened  # the other commands need no files
    from staticgraph.formats.convert import write_converted

    one = options.signature
    functions = all_opened(options.file) if one is None else [opened(options.file, one)]
    written = write_converted(functions, options.out)
    terminal.out(f"{options.out}: {', '.join(written)}")
    return 0
