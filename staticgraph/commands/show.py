"""`python -m staticgraph show net.sg`: what is in a saved graph or a checkpoint."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from staticgraph.compiler.graph.errors import InvalidFileError, NotFoundError, OpError

if TYPE_CHECKING:
    from staticgraph.commands.run import Commands


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "show",
        help="tell what is in a saved graph or a checkpoint",
        description="Tell what is in a saved graph (net.sg) or a checkpoint (model-100.index), and check it.",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--html", metavar="PAGE", help="write a page that shows the graph and its kernels")
    parser.add_argument("file", help="a file that sg.save or train.Saver wrote")
    parser.set_defaults(command=show)


def write_page(file: str, out: str) -> int:
    """Write the page of the graph in the file; the status to exit with: 0, or 1 if that is not possible."""
    from staticgraph.page.saved import page_of_file  # which imports the compiler

    try:
        page_of_file(file, out)
    except OpError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def show(options: argparse.Namespace) -> int:
    """Print what is in the file; the status to exit with: 0, or 1 if it is damaged, 2 if there is none."""
    from staticgraph.saving import inspect  # the other commands need no files

    try:
        found = inspect(options.file)
    except NotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    except InvalidFileError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(found.as_dict(), indent=1) if options.json else found)
    return 0 if options.html is None else write_page(options.file, options.html)
