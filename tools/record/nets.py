"""Records the results of the benchmark's nets at small sizes by PyTorch and JAX: tests/nets/recorded.json.

python -m tools.record.nets DIR        with the environments of peers in DIR, as for benchmark.py
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tools.record import ROOT, TESTS

sys.path.append(str(ROOT / "tools"))

from benchmarks.contest import launched
from benchmarks.nets.group import installed
from benchmarks.nets.net import CPU, SMALL
from benchmarks.nets.table import NETS
from benchmarks.peers import OURS

RECORDED = TESTS / "nets" / "recorded.json"


def main() -> None:
    """Run every net of every peer, each in its own process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("peers", type=Path)
    rows = [row for row in installed(parser.parse_args().peers, CPU) if row.name != OURS]
    found: dict[str, dict[str, object]] = {}
    for name in NETS:
        for row in rows:
            command = [row.python, "-m", "benchmarks.nets.worker", row.name, name, SMALL, "1"]
            worker = launched(row, command, {})
            facts = worker.answer(120)
            found.setdefault(name, {})[f"{row.name}: {facts['version']}"] = facts["results"]
            worker.end()
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
