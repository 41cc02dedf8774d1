"""`python -m staticgraph watch runs`: curves of trainings in a browser, while they run and later."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from staticgraph.applications.cli import terminal
from staticgraph.applications.cli.outcome import UsageError
from staticgraph.applications.cli.parsing import examples
from staticgraph.compiler.graph.errors import counted

if TYPE_CHECKING:
    from staticgraph.applications.cli.parsing import Commands
    from staticgraph.applications.dashboard.runs import Runs


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "watch",
        help="show curves of trainings in a browser, while they run",
        description="Serve a page about the event files below some folders: curves of several runs compared, "
        "images, histograms, texts, graphs, plans and throughput. A new point is seen at once. Event files "
        "are those of sg.watch, of summaries, and of TensorFlow.\n"
        "The page is for this machine alone, unless --host names another address: then its address has a "
        "random token. Nothing is written.",
        epilog=examples(
            ("", "event files below this folder; Ctrl-C ends it"),
            ("runs/first runs/second", "two runs"),
            ("runs --html curves.html", "the page as one file, to be sent"),
            ("runs --host 0.0.0.0 --port 6007", "for other machines, which need the printed address"),
        ),
    )
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help="folders or event files (default: this folder)"
    )
    parser.add_argument("--port", type=_port, default=6007, help="0 takes a free one (default: 6007)")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: this machine alone)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--html", type=Path, metavar="PAGE", help="write the page to a file instead")
    parser.set_defaults(command=watch)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: 0 to 65535")
    return int(text)


def watch(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C, or write it."""
    from staticgraph.applications.dashboard.runs import Runs
    from staticgraph.applications.dashboard.server import require_extra

    require_extra()
    folders = options.runs or ["."]
    missing = [folder for folder in folders if not os.path.exists(folder)]
    if missing and (options.html or not _may_come(missing)):
        raise UsageError(f"{missing[0]}: no such file or folder")
    runs = Runs(folders)
    return _write(runs, options.html) if options.html else _serve(runs, options)


def _may_come(folders: list[str]) -> bool:
    """Return True if a training may still make these folders: what they would be in is there."""
    return all(os.path.isdir(os.path.dirname(os.path.abspath(folder))) for folder in folders)


def _write(runs: Runs, target: Path) -> int:
    from staticgraph.applications.dashboard.answers import Answers
    from staticgraph.applications.dashboard.page import static_page
    from staticgraph.draw.picture import write

    runs.follow()
    if not runs.runs:
        raise UsageError(f"there are no event files below {', '.join(runs.roots)}")
    write("watch", target, static_page(Answers(runs)).encode())
    terminal.out(f"{target}: {counted(len(runs.runs), 'run')}")
    return 0


def _serve(runs: Runs, options: argparse.Namespace) -> int:
    from staticgraph.applications.dashboard.server import Server

    try:
        server = Server(runs, options.host, options.port)
        server.start()
    except OSError as error:
        where = f"{options.host}:{options.port}"
        text = f"the page cannot be served at {where}: {os.strerror(error.errno or 0)}"
        raise UsageError(f"{text}\n  hint: --port 0 takes a free port") from None
    try:
        terminal.out(f"{server.url}\nCtrl-C ends it")
        sys.stdout.flush()
        if options.open:
            import webbrowser

            webbrowser.open(server.url)
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return 0
    finally:
        server.stop()
