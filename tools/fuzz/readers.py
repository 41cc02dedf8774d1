"""Searches for files on which a reader fails: `python tools/fuzz/readers.py READER --runs 1000000`.

atheris (`pip install atheris`) changes the seeds, watches which lines that reaches, and goes on from what
reaches new ones. The search stops with the file where the reader raises what is none of its errors, takes
over two seconds, or more memory than four times the file and 64 MB. `READER` is one of
`tests/fuzz_readers/readers.py`; `all` takes one after the other.

    python tools/fuzz/readers.py all --record tools/results/fuzz_readers.json

goes on with searches that take hours: by turns, those with the fewest runs first, each turn with random
choices of its own, until each reader has had its runs. The record tells how many there were; --corpus keeps
what was found on the way.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.fuzz_readers.watch import MEMORY  # noqa: E402

_PARTS = ("graph_def", "io", "messages", "onnx", "runtime.files", "saved_model", "train")  # are watched


_TURN = 100_000  # runs between two entries of a record, at most


def main() -> None:
    """Search for files that one reader, or each of them, fails on."""
    options = _options()
    if options.folder is not None:
        _search(options)
        return
    from tests.fuzz_readers.readers import READERS

    names = options.reader.split(",")
    if unknown := set(names) - {*READERS, "all"}:
        sys.exit(f"there is no reader {min(unknown)!r}; there are {', '.join(READERS)}")
    names = [*READERS] if "all" in names else names
    if options.record is not None:
        _go_on(names, options)
        return
    for name in names:
        _searched(name, options.runs, options.seed, options)


def _go_on(names: list[str], options: argparse.Namespace) -> None:
    """Search by turns, several at once, until the record has the runs of all these readers."""
    from staticgraph.runtime.disk.atomic import write_file

    record = _recorded(options.record)
    left = {name for name in names if _runs(record, name) < options.runs}

    def turn() -> bool:
        name = min(left, key=lambda name: (_runs(record, name), name), default=None)
        if name is None:
            return False
        left.discard(name)  # no other turn takes it meanwhile
        before = _runs(record, name)
        count = min(_TURN, options.runs - before)
        try:
            _searched(name, count, options.seed + before, options)
        except SystemExit as fault:
            print(f"a fault, after which no turn begins: {fault}", flush=True)
            left.clear()
            raise
        runs = before + count
        record[name] = {"runs": runs, "faults": 0, "until": str(datetime.date.today())}
        text = json.dumps(record, indent=1, sort_keys=True) + "\n"
        write_file(options.record, [text.encode()])
        print(f"{name}: {runs:,} runs, no fault", flush=True)
        if runs < options.runs:
            left.add(name)
        return True

    def turns() -> None:
        while turn():
            pass

    with ThreadPoolExecutor(options.jobs) as pool:
        for each in [pool.submit(turns) for _ in range(options.jobs)]:
            each.result()


def _runs(record: dict[str, Any], name: str) -> int:
    runs: int = record.get(name, {}).get("runs", 0)
    return runs


def _recorded(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def _searched(name: str, runs: int, seed: int, options: argparse.Namespace) -> None:
    """One search, in a process of its own. Where it finds something, this one ends with it."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:  # the search ends without cleaning up
        told = [f"--runs={runs}", f"--seed={seed}", f"--longest={options.longest}", f"--folder={folder}"]
        if options.corpus is not None:
            told.append(f"--corpus={options.corpus / name}")
        quiet = subprocess.PIPE if options.record is not None else None
        run = subprocess.run([sys.executable, __file__, name, *told], stdout=quiet, stderr=quiet, text=True)
        if run.returncode:
            sys.exit(f"{name}, seed {seed}: {(run.stderr or '')[-4000:]}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("reader", help="names in tests/fuzz_readers/readers.py, or all")
    parser.add_argument("--runs", type=int, default=1_000_000, help="how many files are tried")
    parser.add_argument("--longest", type=int, default=1 << 14, help="bytes of a file")
    parser.add_argument("--seed", type=int, default=1, help="of the random choices")
    parser.add_argument("--corpus", type=Path, help="a folder for the files that reach new lines")
    parser.add_argument(
        "--record", type=Path, help="a file that tells how many runs there were; go on from it"
    )
    parser.add_argument("--jobs", type=int, default=1, help="searches at once, of those with a record")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)  # for the process that searches
    return parser.parse_args()


def _search(options: argparse.Namespace) -> None:
    try:
        import atheris
    except ImportError:
        sys.exit("the search needs atheris: pip install atheris")
    with atheris.instrument_imports(include=[f"staticgraph.{part}" for part in _PARTS]):
        from tests.fuzz_readers.readers import READERS
        from tests.fuzz_readers.watch import watched
    reader = READERS[options.reader]
    corpus, folder = options.corpus or options.folder / "corpus", options.folder / "files"
    corpus.mkdir(parents=True, exist_ok=True)
    folder.mkdir()
    for number, seed in enumerate(reader.seeds()):
        (corpus / f"seed{number}").write_bytes(seed)

    def attempt(data: bytes) -> None:
        with watched(len(data)):
            reader.attempt(data, folder)

    told = [f"-runs={options.runs}", f"-max_len={options.longest}", f"-seed={options.seed}"]
    atheris.Setup([sys.argv[0], *told, "-timeout=60", "-print_final_stats=1", str(corpus)], attempt)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
