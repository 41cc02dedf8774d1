"""`python -m staticgraph show net.sg`: a page that shows a saved graph and its kernels."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from staticgraph.applications.cli import terminal
from staticgraph.applications.cli.parsing import examples
from staticgraph.compiler.graph.errors import counted

if TYPE_CHECKING:
    from staticgraph.applications.cli.parsing import Commands


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "show",
        help="draw a saved graph and its kernels, as a page for a browser",
        description="Write one HTML file that shows the graph, what each pass of the compiler makes of it, "
        "its kernels and their code. It needs no server and no network.",
        epilog=examples(
            ("net.sg", "writes net.html"),
            ("resnet.onnx", "draws a model of ONNX"),
            ("net.sg --html pages/net.html", "writes it elsewhere"),
        ),
    )
    parser.add_argument("--html", type=Path, metavar="PAGE", help="where to write it (default: beside FILE)")
    parser.add_argument("file", help="a graph: .sg, .onnx, .h5, .pb, .meta, events, a SavedModel")
    parser.set_defaults(command=show)


def show(options: argparse.Namespace) -> int:
    """Write the page, and tell its name."""
    from staticgraph.draw.page.saved import page_of_file  # imports the compiler

    out = options.html or Path(options.file).with_suffix(".html")
    page = page_of_file(options.file, str(out))
    kernels = len(page.data["kernels"])
    terminal.out(f"{out}: {len(page.data['stages'])} stages, {counted(kernels, 'kernel')}")
    return 0
