"""Times this project against its peers: the same work, the same machine, in turns.

    python tools/benchmark.py --list                        the rows and workloads that can be run here
    python tools/benchmark.py --quick                       all of them, for a first impression
    python tools/benchmark.py --rows staticgraph,JAX --work lenet,mlp
    python tools/benchmark.py --peers DIR --save docs/benchmark
    python tools/benchmark.py --avx2 ...                    nobody uses AVX-512, as on a machine without it

Peers are those importable here and those with a virtual environment in the folder
given by --peers (DIR/torch, DIR/jax, DIR/tensorflow, DIR/numpy, DIR/pytensor, DIR/onnx;
they need nothing of ours). Run it on a machine that does nothing else. --save writes the raw
results, the report and a bar chart as .json, .md and .svg after each kind of work, so a run may be stopped;
a second run with other rows or work adds to them.

    python tools/benchmark.py --group sizes                 sizes that change from step to step; first steps
    python tools/benchmark.py --group growth                how the cost of a first run grows with the graph

    python tools/benchmark.py --group numerics              linear algebra and other functions, one by one
    python tools/benchmark.py --group nets                  twelve nets; larger ones with --device gpu
    python tools/benchmark.py --group pipelines             input pipelines beside those of TensorFlow 1.15

The group of sizes has peers of its own (--list tells); TensorFlow 1.15 is DIR/tensorflow1. Growth is compared
with TensorFlow.

    python tools/benchmark.py --readme                      runs nothing: docs/benchmark.json into the README
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from measure import growth

from benchmarks import floors, narrow, readme, report
from benchmarks.calm import Watch
from benchmarks.contest import contest
from benchmarks.first import first_steps
from benchmarks.nets import group as nets
from benchmarks.numerics import group as numerics
from benchmarks.peers import Row, installed
from benchmarks.pipelines import group as pipelines
from benchmarks.progress import Progress
from benchmarks.sizes import group as sizes
from benchmarks.sizes.stories import STORIES
from benchmarks.workloads import WORKLOADS
from staticgraph.applications.cli.machine import cores, processor
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.state.system_memory import memory


def machine() -> dict[str, Any]:
    """Facts about this machine that may be told: no names, no paths."""
    there, _ = memory() or (0, None)
    return {
        "cpu": processor() or platform.machine(),
        "cores": cores()[0],
        "memory": f"{there / 2**30:.0f} GiB",
        "system": platform.system(),
        "python": platform.python_version(),
    }


def chosen(text: str | None, known: list[str], what: str) -> list[str]:
    """The names in a comma-separated list; all if there is none."""
    names = text.split(",") if text else known
    if unknown := sorted(set(names) - set(known)):
        raise SystemExit(f"no such {what}: {', '.join(unknown)}; there are {', '.join(known)}")
    return [name for name in known if name in names]


def measured(rows: list[Row], work: list[str], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Findings of a run after each workload, and at its end."""
    bar = Progress(len(work) + 1 + bool(options.first))
    bar.show("limits of the machine")
    limits = floors.measure(options.threads)
    results: dict[str, Any] = {
        **about(options),
        "quick": options.quick,
        "avx2": options.avx2,
        "rounds": options.rounds,
        "seconds": options.seconds,
        "limits": asdict(limits),
        "notes": [narrow.NOTE] if options.avx2 else [],
        "versions": {},
        "work": {},
    }
    bar.advance()
    watch = Watch(options.threads, limits)
    for name in work:
        takes_part = [row for row in rows if row.does(name)]
        found = contest(
            takes_part,
            name,
            options.threads,
            options.rounds,
            options.seconds,
            options.patience,
            bar.show,
            watch,
        )
        for row, facts in found.items():
            results["versions"].setdefault(row, facts.pop("version", row))
        results["work"][name] = found
        results["limits"] = asdict(watch.limits)
        results["visits"] = {"made": watch.visits, "again": watch.again}
        bar.advance()
        yield results
    if options.first:
        results["first"] = first_steps(
            rows, options.threads, 1 if options.quick else 3, options.patience, bar.show
        )
        bar.advance()
        yield results
    bar.end()


def about(options: argparse.Namespace) -> dict[str, Any]:
    """When, where and how."""
    return {"date": datetime.date.today().isoformat(), "machine": machine(), "threads": options.threads}


def sizes_group(options: argparse.Namespace) -> None:
    """Run the group of sizes; with --save, write its results and report after each part."""
    available = sizes.installed(options.peers)
    names = chosen(options.rows, [row.name for row in available], "row")
    rows = [row for row in available if row.name in names]
    known = [*STORIES, *sizes.FIRST, *(f"open_{name}" for name in sizes.README)]
    work = chosen(options.work, known, "workload")
    if options.list:
        print("\n".join((*(row.name for row in rows), "", *work)))
        return
    results = {**about(options), "rounds": options.rounds, "quick": options.quick}
    for _ in sizes.measured(rows, work, results, options.seconds, options.patience):
        if options.save:
            write_file(options.save.with_suffix(".json"), [json.dumps(results, indent=1).encode() + b"\n"])
            write_file(options.save.with_suffix(".md"), [sizes.markdown(results).encode()])
    print(sizes.markdown(results))


def in_turns_group(options: argparse.Namespace, group: Any, available: list[Row], known: list[str]) -> None:
    """Run a group whose rows take turns; with --save, write its results and report after each work."""
    names = chosen(options.rows, [row.name for row in available], "row")
    rows = [row for row in available if row.name in names]
    work = chosen(options.work, known, "workload")
    if options.list:
        print("\n".join((*(row.name for row in rows), "", *work)))
        return
    results = {**about(options), "rounds": options.rounds, "quick": options.quick, "size": options.device}
    bar = Progress(len(work))
    for _ in group.measured(rows, work, results, options.seconds, options.patience, bar.show):
        bar.advance()
        if options.save:
            write_file(options.save.with_suffix(".json"), [json.dumps(results, indent=1).encode() + b"\n"])
            write_file(options.save.with_suffix(".md"), [group.markdown(results).encode()])
    bar.end()
    print(group.markdown(results))


def growth_group(options: argparse.Namespace) -> int:
    """Run tools/measure/growth.py, with TensorFlow as the peer if it is there."""
    folder = options.peers and options.peers / "tensorflow" / "bin" / "python"
    peer = ["--peer", str(folder.absolute())] if folder and folder.exists() else []
    return growth.main([*peer, *(options.work.split(",") if options.work else [])])


def joined(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The results of two runs; the newer wins, tells when, where and how, and what it takes the place of."""
    visits = [run["visits"] for run in (old, new) if "visits" in run]
    work = {name: {**old["work"].get(name, {}), **new["work"].get(name, {})} for name in WORKLOADS}
    first = {**old.get("first", {}), **new.get("first", {})}
    for name, again in new.get("first", {}).items():
        rows = {each["row"] for each in again}
        first[name] = again + [each for each in old.get("first", {}).get(name, []) if each["row"] not in rows]
    replaced = {name for name, rows in new["work"].items() if rows.keys() & old["work"].get(name, {}).keys()}
    return {
        **old,
        **new,
        "replaced": [name for name in WORKLOADS if name in {*old.get("replaced", ()), *replaced}],
        "work": {name: rows for name, rows in work.items() if rows},
        "first": first,
        "visits": {part: sum(each[part] for each in visits) for part in ("made", "again")},
        "versions": {**old["versions"], **new["versions"]},
    }


def save(results: dict[str, Any], prefix: Path) -> None:
    """Write the three files."""
    picture = prefix.with_suffix(".svg")
    for path, text in (
        (prefix.with_suffix(".json"), json.dumps(results, indent=1) + "\n"),
        (picture, report.chart(results)),
        (prefix.with_suffix(".md"), report.markdown(results, picture.name)),
    ):
        write_file(path, [text.encode()])


@contextmanager
def ending_with_signals() -> Iterator[None]:
    """Exit when interrupted inside of the `with`, which ends the workers."""
    stops = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(stop, lambda *_: sys.exit("stopped")) for stop in stops]
    try:
        yield
    finally:
        for stop, handler in zip(stops, before, strict=True):
            signal.signal(stop, handler)


def main() -> None:
    """The command line."""
    with ending_with_signals():
        run()


def run() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--group",
        choices=("steps", "sizes", "numerics", "nets", "pipelines", "growth"),
        default="steps",
        help="which benchmark (default: steps)",
    )
    parser.add_argument("--rows", help="names of rows, separated by commas (default: all that are installed)")
    parser.add_argument("--work", help="names of workloads, separated by commas (default: all)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="default: as many as CPUs")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="of the group of nets")
    parser.add_argument("--peers", type=Path, help="folder with a virtual environment per peer")
    parser.add_argument("--avx2", action="store_true", help="let no row use AVX-512")
    parser.add_argument("--quick", action="store_true", help="few rounds: an impression, not a result")
    parser.add_argument("--rounds", type=int, help="visits of each row (default 7, quick 2)")
    parser.add_argument("--seconds", type=float, help="timed seconds per visit (default 0.4, quick 0.1)")
    parser.add_argument("--patience", type=float, default=120, help="seconds a row may take to be ready")
    parser.add_argument("--no-first", dest="first", action="store_false", help="leave out fresh processes")
    parser.add_argument("--save", type=Path, metavar="PREFIX", help="write PREFIX.json, .md and .svg")
    parser.add_argument(
        "--readme", action="store_true", help="show the saved results in README.md, run nothing"
    )
    parser.add_argument("--list", action="store_true", help="show rows and workloads, run nothing")
    options = parser.parse_args()
    if options.threads < 1:
        parser.error("--threads: a step needs at least 1")
    if options.readme:
        readme.update()
        return
    few = 1 if options.group == "sizes" else 2
    options.rounds = options.rounds or (few if options.quick else 3 if options.group == "sizes" else 7)
    options.seconds = options.seconds or (0.1 if options.quick else 0.4)
    if options.group == "growth":
        sys.exit(growth_group(options))
    if options.group == "sizes":
        sizes_group(options)
        return
    if options.group == "numerics":
        in_turns_group(options, numerics, numerics.installed(options.peers), list(numerics.works()))
        return
    if options.group == "nets":
        in_turns_group(options, nets, nets.installed(options.peers, options.device), list(nets.NETS))
        return
    if options.group == "pipelines":
        in_turns_group(options, pipelines, pipelines.installed(options.peers), list(pipelines.WORKS))
        return
    available = installed(options.peers)
    names = chosen(options.rows, [row.name for row in available], "row")
    rows = [row for row in available if row.name in names]
    work = [
        name for name in chosen(options.work, list(WORKLOADS), "workload") if any(r.does(name) for r in rows)
    ]
    if options.list:
        for row in rows:
            print(f"{row.name:16} {', '.join(name for name in work if row.does(name))}")
        return
    if not work:
        parser.error("--rows, --work: none of these rows does any of this work")
    if options.avx2:
        narrow.ask()
    raw = options.save and options.save.with_suffix(".json")
    before = json.loads(raw.read_text()) if raw and raw.exists() else None
    for results in measured(rows, work, options):
        if before:
            results = joined(before, results)
        if options.save:
            save(results, options.save)
    print(report.markdown(results))


if __name__ == "__main__":
    main()
