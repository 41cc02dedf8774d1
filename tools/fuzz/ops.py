"""Searches for well-formed files that lie and do harm: `python tools/fuzz/ops.py --record FILE`.

Each file is a graph around one op, in one of the formats of graphs, whose message was changed in a few places
(`tests/fuzz_readers/hostile.py`): numbers count ops, formats and changes evenly. It is loaded, and one in
`--every`, if it is taken, is compiled and run, between pages without access and on memory full of a NaN that
nobody computes. A fault is

* a process that ends with a signal, or takes longer than any limit,
* an exception that is none of a reader's or of a run,
* a load of more than two seconds or a gigabyte,
* a byte in a result that nobody has computed.

The record tells what was reached; a search with the same record goes on from there. `--only NUMBER` does one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

_TURN = 1000  # files between two entries of the record
_TURNS = 500  # of a process, which keeps the good files that it changes
_SIDE = 100_000  # files whose memory lies on one side of its pages
_SECONDS = 2.0  # of a load
_LONGEST = 10.0  # of a file altogether: a run may be long, as any program
_AGAIN = 1.0  # until the next alarm: Python drops an exception in a finalizer or in a callback of a weakref
_BYTES = 1 << 30


class Slow(BaseException):
    """The time is over. It is no Exception, which a reader may turn into an error of its own."""


def main() -> None:
    """Search until the record has so many loads."""
    options = _options()
    record: dict[str, Any] = {"next": 0, "counts": {}, "faults": []}
    if options.record.exists():
        record = json.loads(options.record.read_text())
    if options.only is not None:
        print(dict(_turn(range(options.only, options.only + 1), 1, multiprocessing.Value("q"))))
        return
    counts = Counter(record["counts"])
    while counts["loads"] < options.loads:
        for found, after in _in_a_process(record["next"], options.every, options.stride):
            faults = [name for name in found if name.startswith("fault")]
            counts.update({name: count for name, count in found.items() if name not in faults})
            record |= {"next": after, "counts": dict(sorted(counts.items()))}
            record["faults"] += faults
            options.record.write_text(json.dumps(record, indent=1) + "\n")
            print(f"{counts['loads']:,} loads, {counts['runs']:,} runs", *faults, sep="\n", flush=True)
            if counts["loads"] >= options.loads:
                break


def _in_a_process(first: int, every: int, stride: int) -> Iterator[tuple[Counter[str], int]]:
    """Return the outcomes of the next files, a few at a time, and the number to go on from."""
    at = multiprocessing.Value("q", first)
    results, told = multiprocessing.Pipe(False)
    child = multiprocessing.Process(target=_child, args=(first, every, stride, at, told), daemon=True)
    child.start()
    told.close()
    try:
        for _ in range(_TURNS):
            while not results.poll(60 * _LONGEST):  # other programs may have the processors
                if at.value == first:
                    child.kill()
                first = at.value
            yield results.recv()
    except EOFError:
        child.join()
        yield Counter({f"fault {at.value}: the process ended with {child.exitcode}": 1}), at.value + 1
    finally:
        child.kill()


def _child(first: int, every: int, stride: int, at: Synchronized[int], told: Connection) -> None:
    turn = _TURN * stride if stride == 1 else 10 * stride
    for start in range(first, first + _TURNS * turn, turn):
        told.send((_turn(range(start, start + turn, stride), every, at), start + turn))


def _turn(numbers: range, every: int, at: Synchronized[int]) -> Counter[str]:
    """Load the files of these numbers, and run some of them."""
    from tests.audit import guarded
    from tests.fuzz_readers import good_files, hostile

    guarded.install(at_end=numbers.start // _SIDE % 4 != 3)
    good_files.guard[0] = guarded.feed
    resource.setrlimit(resource.RLIMIT_AS, (8 * _BYTES, 8 * _BYTES))
    signal.signal(signal.SIGALRM, _stop)
    counts: Counter[str] = Counter()
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    for place, number in enumerate(numbers):
        at.value = number
        file = hostile.draw(number)
        if file is None:
            counts["no such form"] += 1
            continue
        name = f"fault {number} ({file.op}, {file.format})"
        try:
            _one(number, file, place % every == 0, counts, folder)
        except Slow:
            counts[f"slow {file.op}"] += 1
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            counts[
                f"{name}: {type(error).__name__} {error!s:.200} {Path(frame.filename).name}:{frame.lineno}"
            ] += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    shutil.rmtree(folder)
    return counts


def _one(number: int, file: Any, may_run: bool, counts: Counter[str], folder: Path) -> None:
    from tests.audit.guarded import foreign
    from tests.fuzz_readers import hostile

    counts["loads"] += 1
    counts[f"loads {file.format}"] += 1
    run = _loaded(file, folder, counts, tries=2)
    if run is None:
        return
    counts["taken"] += 1
    if not may_run:
        return
    counts["runs"] += 1
    counts[f"runs {file.format}"] += 1
    try:
        found = run(Random(number))
    except (*hostile.REFUSED, MemoryError):
        counts["runs refused"] += 1
        return
    assert not any(map(foreign, found)), "a result has bytes that nobody has computed"
    counts["runs done"] += 1


def _loaded(file: Any, folder: Path, counts: Counter[str], tries: int) -> Any:
    """Return a run of the graph, None if it is refused. Time lost to other programs does not count."""
    from tests.fuzz_readers import hostile

    begun, most = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_REAL, _LONGEST, _AGAIN)
    run = None
    try:
        run = file.load(folder)
    except hostile.REFUSED as error:
        assert not isinstance(error, hostile.FAULTS), error
        counts["refused"] += 1
    if time.process_time() - begun > _SECONDS:
        assert tries > 1, "a load of more than two seconds"
        return _loaded(file, folder, counts, tries - 1)
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most
    assert taken << 10 < _BYTES, "a load of more than a gigabyte"
    return run


def _stop(*_: Any) -> None:
    raise Slow


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--loads", type=int, default=1_000_000, help="files that are loaded")
    parser.add_argument("--every", type=int, default=5, help="one in so many is run, if it is taken")
    parser.add_argument("--stride", type=int, default=1, help="between the numbers of files")
    parser.add_argument("--record", type=Path, default=Path("fuzz_ops.json"), help="tells what was reached")
    parser.add_argument("--only", type=int, help="the number of one file, loaded and run")
    return parser.parse_args()


if __name__ == "__main__":
    main()
