"""`python -m staticgraph inspect net.sg`: what is in a file of a graph or of arrays."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from staticgraph.applications.cli import terminal
from staticgraph.applications.cli.parsing import examples

if TYPE_CHECKING:
    from staticgraph.applications.cli.parsing import Commands


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "inspect",
        help="tell what is in a saved graph, a checkpoint, a model",
        description="Tell what is in a file: functions with their inputs and outputs, variables with their "
        "types and sizes, operations, machine code.\n"
        "Reads graphs that sg.save wrote; runs that failed; checkpoints, ours and TensorFlow's; .npz and "
        ".safetensors; ONNX models; TensorFlow's .pb, .pbtxt and .meta files and SavedModel folders.\n"
        "Nothing of the file is run.",
        epilog=examples(
            ("net.sg", "a saved graph"),
            ("logs/model-1000", "a checkpoint, by its prefix; a folder stands for its latest"),
            ("resnet.onnx --json", "for a script"),
        ),
    )
    parser.add_argument("file", help="a file, a folder, or the prefix of a checkpoint")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(command=inspect)


def inspect(options: argparse.Namespace) -> int:
    """Print what is in the file."""
    from staticgraph.saved.saving import inspect  # the other commands need no files

    found = inspect(options.file)
    terminal.out(json.dumps(found.as_dict(), indent=1) if options.json else found.text(terminal.width()))
    return 0
