"""Coverage of the names of TensorFlow 1 that scripts need.

    python tools/surface/coverage_of_names.py scripts.json names.csv
    python tools/surface/coverage_of_names.py scripts.json --missing

`.json`: {"scripts": [{"id": ..., "names": ["nn.relu", ...]}, ...]}, what each script needs; a script
is covered where none of them is missing. `.csv`: a row for each name, with the columns `name` ("tf.nn.relu"),
`files` and `call_sites`. `--missing` lists what is missing, the most used first.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from staticgraph.tf1.compat.areas import TREE
from staticgraph.tf1.compat.namespace import MISSING


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage by one file: parts of a whole in percent, by what is counted, and uses by missing name."""

    percent: dict[str, float]
    missing: Counter[str]


@cache
def supported(name: str) -> bool:
    """Return True if `staticgraph.compat.tf1` has a name, dotted and without `tf`."""
    return TREE.lookup(name) is not MISSING


def of_scripts(path: Path) -> Coverage:
    """The part of a list of scripts that need supported names only."""
    needs = [set(each["names"]) for each in json.loads(path.read_text())["scripts"] if "names" in each]
    missing = [{name for name in names if not supported(name)} for names in needs]
    covered = sum(not names for names in missing)
    percent = {"scripts": _percent(covered, len(needs))}
    return Coverage(percent, Counter(name for names in missing for name in names))


def of_names(path: Path) -> Coverage:
    """The parts of names, and of their uses in a table, that are supported."""
    with path.open(newline="") as file:
        rows = [
            (row["name"].removeprefix("tf."), int(row["files"]), int(row["call_sites"]))
            for row in csv.DictReader(file)
        ]
    found = [row for row in rows if supported(row[0])]
    percent = {
        "names": _percent(len(found), len(rows)),
        "uses": _percent(sum(calls for *_, calls in found), sum(calls for *_, calls in rows)),
    }
    return Coverage(percent, Counter({name: files for name, files, _ in rows if not supported(name)}))


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 100.0


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path, help="lists of scripts (.json) or of names (.csv)")
    parser.add_argument("--missing", action="store_true", help="list what is missing")
    arguments = parser.parse_args()
    for path in arguments.files:
        coverage = of_scripts(path) if path.suffix == ".json" else of_names(path)
        parts = [f"{part:.1f} % of {what}" for what, part in coverage.percent.items()]
        print(f"{path.name}: {', '.join(parts)}")
        if arguments.missing:
            print("".join(f"{uses:6}  tf.{name}\n" for name, uses in coverage.missing.most_common()), end="")


if __name__ == "__main__":
    main()
