"""Searches for files whose structure does harm: `python tools/fuzz/structures.py onnx --runs 10000`.

Parts of good messages are repeated, nested, exchanged and made to refer to each other in circles
(`tests/fuzz_readers/splices.py`), and sizes are set to the ends of their range. The search stops at the first
message for which a reader raises what is none of its errors, takes over two seconds or more memory than
`tests/fuzz_readers/watch.py` allows. `FORMAT` is one of `tests/fuzz_readers/structures.py`, or `all`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fuzz_readers.structures import STRUCTURES, search
from tests.fuzz_readers.watch import MEMORY


def main() -> None:
    """Search in the formats that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("format", choices=[*STRUCTURES, "all"])
    parser.add_argument("--runs", type=int, default=1000, help="how many messages of each format are read")
    parser.add_argument("--seed", type=int, default=1, help="of the random choices")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        for name in STRUCTURES if asked.format == "all" else [asked.format]:
            start = time.process_time()
            taken = search(name, asked.seed, asked.runs, Path(folder))
            took = time.process_time() - start
            print(f"{name}: {asked.runs:,} messages, {taken:,} taken, {took:.1f} s", flush=True)


if __name__ == "__main__":
    main()
