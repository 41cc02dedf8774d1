"""`python -m staticgraph train net.toml`: a network and how it is trained, described in one file."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from staticgraph.applications.cli import terminal
from staticgraph.applications.cli.outcome import UsageError
from staticgraph.applications.cli.parsing import examples

if TYPE_CHECKING:
    from staticgraph.applications.cli.parsing import Commands
    from staticgraph.applications.solver.snapshots import Snapshots


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "train",
        help="train a network that a TOML file describes",
        description="Train a network that a TOML file describes, without code: data, layers, loss, optimizer,"
        " snapshots. The trained graph is saved with the functions predict, train and evaluate.\n"
        "Ctrl-C lets the step finish and writes a snapshot; the status is then 130, or 143 for a request to"
        " end. Paths in the file count from its folder.",
        epilog=examples(
            ("examples/digits.toml", "trains, shows the accuracy, writes examples/digits.sg"),
            ("net.toml --check", "only shows the layers with their shapes and weights"),
            ("net.toml --set train.epochs=5 --set layer.conv1.filters=8", "with other values"),
            ("net.toml --resume", "goes on from the newest snapshot, bit for bit as if never stopped"),
        ),
    )
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="the description, such as net.toml")
    change = "change a key; may be repeated"
    add("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE", help=change)
    add("--resume", nargs="?", const="", metavar="SNAPSHOT", help="go on from here (default: the newest)")
    add("--restart", action="store_true", help="remove the snapshots of an earlier training first")
    add("--check", action="store_true", help="only build the network and show its layers")
    add("--json", action="store_true", help="the result as JSON; all else goes to the error stream")
    parser.set_defaults(command=train)


def train(options: argparse.Namespace) -> int:
    """Train; the status to exit with: 0, or after a signal 128 and its number."""
    with redirect_stdout(sys.stderr if options.json else sys.stdout):
        status, found = _trained(options)
    if options.json:
        print(json.dumps(found, indent=1))
    return status


def _trained(options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Build, train and show; the status, and what a program may want to know."""
    # The other commands need no layers and no optimizers.
    from staticgraph.applications.solver import loop, report
    from staticgraph.applications.solver.data import prepare
    from staticgraph.applications.solver.network import build
    from staticgraph.applications.solver.objective import LOSSES
    from staticgraph.applications.solver.reading import read

    described = read(options.file, options.changes)
    start = None if options.check else _start(options, loop.snapshots_of(described))
    data = prepare(described, LOSSES[described.loss.type].answer)
    network = build(described, data)
    terminal.out(f"{report.layers_table(network)}\n{report.data_text(data, network)}")
    if options.check:
        return 0, report.as_dict(data, network)
    result = loop.train(described, data, network, start)
    terminal.out(report.result_text(result))
    return result.status, result.as_dict()


def _start(options: argparse.Namespace, snapshots: Snapshots) -> Path | None:
    """The snapshot to go on from, if any. Those of an earlier training are neither mixed nor lost."""
    if options.resume:
        path = Path(options.resume)
        if not path.is_file():
            raise UsageError(f"{path}: there is no such snapshot")
        return path
    newest = snapshots.newest
    if options.resume is not None:
        if newest is None:
            terminal.out(f"there is no snapshot in {snapshots.folder}: the training begins")
        return newest
    if options.restart:
        snapshots.clear()
    elif newest is not None:
        hint = "--resume goes on from there, --restart removes it and begins anew"
        raise UsageError(f"{newest} is a snapshot of an earlier training\n  hint: {hint}")
    return None
