"""Searches for files on which a reader fails: `python tools/fuzz_readers.py READER --runs 1000000`.

atheris (`pip install atheris`) changes the seeds, watches which lines that reaches, and goes on from what
reaches new ones. The search stops with the file where the reader raises what is none of its errors, takes
over two seconds, or more memory than four times the file and 64 MB. `READER` is one of
`tests/fuzz_readers/readers.py`; `all` takes one after the other.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
_PARTS = ("graph_def", "io", "messages", "onnx", "runtime.saving", "saved_model", "train")  # are watched


def main() -> None:
    """Search for files that one reader, or each of them, fails on."""
    options = _options()
    if options.folder is not None:
        _search(options)
        return
    from tests.fuzz_readers.readers import READERS
    from tests.fuzz_readers.watch import MEMORY

    if options.reader not in (*READERS, "all"):
        sys.exit(f"there is no reader {options.reader!r}; there are {', '.join(READERS)}")
    for name in READERS if options.reader == "all" else [options.reader]:
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:  # the search ends without cleaning up
            command = [sys.executable, __file__, name, *sys.argv[2:], "--folder", folder]
            if code := subprocess.run(command).returncode:
                sys.exit(code)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("reader", help="a name in tests/fuzz_readers/readers.py, or all")
    parser.add_argument("--runs", type=int, default=1_000_000, help="how many files are tried")
    parser.add_argument("--longest", type=int, default=1 << 14, help="bytes of a file")
    parser.add_argument("--seed", type=int, default=1, help="of the random choices")
    parser.add_argument("--corpus", type=Path, help="a folder for the files that reach new lines")
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
    corpus.mkdir(exist_ok=True)
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
