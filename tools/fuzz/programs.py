"""Compares random programs with the witness of `tests/witness`; can be stopped and resumed.

    python tools/fuzz/programs.py FOLDER                       # goes on until 20,000 programs were compared
    python tools/fuzz/programs.py FOLDER --programs 500 --size 30
    python tools/fuzz/programs.py FOLDER --seed 17             # one program: prints it, and what differs
    python tools/fuzz/programs.py FOLDER --open --programs 300 # with open sizes, each at ten sizes
                                                                 # (tools/results/random_programs_open.json)

Each program runs in a session; one in `--everywhere` also runs as an interpreted step, from a file, through
a GraphDef and as an object for C, and one in `--gpu` on the simulator of a CUDA driver. FOLDER keeps the
progress, and a small script for each program that differs. The exit status is 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("SG_DEVICE", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.witness.check import Difference, check
from tests.witness.generator import Generator
from tests.witness.open_sizes import OpenGenerator, check_open
from tests.witness.programs import Program, described
from tests.witness.shrink import shrunk

Check = Callable[[Program, tuple[str, ...]], Any]
ELSEWHERE = ("interpreter", "file", "graph_def", "object")


def main() -> int:
    """Compare programs until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="keeps progress and failures")
    parser.add_argument("--programs", type=int, default=20_000, help="how many there are to be in all")
    parser.add_argument("--first", type=int, default=100_000, help="the first seed")
    parser.add_argument("--size", type=int, default=14, help="about how many statements a program has")
    parser.add_argument("--everywhere", type=int, default=10, help="one in so many runs in all places")
    parser.add_argument("--gpu", type=int, default=0, help="one in so many runs on the simulator; 0: none")
    parser.add_argument("--deep", action="store_true", help="also what TensorFlow 1 cannot do")
    parser.add_argument("--open", action="store_true", help="leave sizes open, and run each at ten sizes")
    parser.add_argument("--seed", type=int, help="compare this program only")
    asked = parser.parse_args()
    if asked.seed is not None:
        return one(asked, asked.seed)
    asked.folder.mkdir(parents=True, exist_ok=True)
    state = (
        asked.folder / f"progress_{asked.first}_{asked.size}{'_deep' * asked.deep}{'_open' * asked.open}.json"
    )
    start: dict[str, Any] = {"done": 0, "different": [], "compiles": {}, "reasons": {}}
    progress = json.loads(state.read_text()) if state.exists() else start
    checked = _CheckedOpen(progress) if asked.open else check
    while progress["done"] < asked.programs:
        seed = asked.first + progress["done"]
        program = program_of(asked, seed)
        if isinstance(checked, _CheckedOpen):
            checked.program = program
        found = difference(program, places_of(asked, seed), checked)
        if found is not None:
            progress["different"].append(seed)
            (asked.folder / f"{seed}.txt").write_text(found)
            print(f"{seed}: {found}", flush=True)
        progress["done"] += 1
        if progress["done"] % 20 == 0 or progress["done"] == asked.programs or found is not None:
            part = state.with_suffix(".part")
            part.write_text(json.dumps(progress))
            part.replace(state)
    print(f"{progress['done']} programs, {len(progress['different'])} differences: {progress['different']}")
    if asked.open:
        print(f"programs by how often they were compiled: {progress['compiles']}")
        for reason, count in sorted(progress["reasons"].items(), key=lambda each: -each[1]):
            print(f"{count:5} times: {reason}")
    return int(bool(progress["different"]))


class _CheckedOpen:
    """Checks programs with open sizes; counts the compiles of `program` and why, in `progress`."""

    def __init__(self, progress: dict[str, Any]) -> None:
        self.progress = progress
        self.program: Program | None = None  # the others are smaller ones that differ, too

    def __call__(self, program: Program, places: tuple[str, ...]) -> None:
        why = check_open(program)
        if program is not self.program:
            return
        made, reasons = self.progress["compiles"], self.progress["reasons"]
        made[str(len(why))] = made.get(str(len(why)), 0) + 1
        for text in {_numbers_out(each) for each in why[2:]}:
            reasons[text] = reasons.get(text, 0) + 1


def _numbers_out(reason: str) -> str:
    """The guard or the question that a reason names, alike for all tensors and numbers."""
    found = re.search(r"the guard .*|the step depends on .*", reason)
    return re.sub(r"\b[xnt]?\d+\b", "#", found.group() if found else reason)


def program_of(asked: argparse.Namespace, seed: int) -> Program:
    """The program of a seed."""
    kind = OpenGenerator if asked.open else Generator
    return kind(seed, asked.size, asked.deep).program()


def places_of(asked: argparse.Namespace, seed: int) -> tuple[str, ...]:
    """The places besides the session where the program of a seed runs."""
    elsewhere = ELSEWHERE if asked.everywhere and seed % asked.everywhere == 0 else ()
    return elsewhere + (("gpu",) if asked.gpu and seed % asked.gpu == 0 else ())


def difference(program: Program, places: tuple[str, ...], check: Check = check) -> str | None:
    """The difference, with a small program that shows it; None if there is none."""
    try:
        check(program, places)
    except Difference:
        small = shrunk(program, lambda candidate: _differs(candidate, places, check))
        return described(small, _text(small, places, check))
    except Exception as error:
        kind = type(error)
        small = shrunk(program, lambda candidate: _raises(candidate, places, kind, check))
        return described(small, f"{kind.__name__}: {error}")
    return None


def _differs(program: Program, places: tuple[str, ...], check: Check) -> bool:
    try:
        check(program, places)
    except Difference:
        return True
    except Exception:  # of a program that is none any more
        return False
    return False


def _raises(program: Program, places: tuple[str, ...], kind: type[Exception], check: Check) -> bool:
    try:
        check(program, places)
    except Exception as error:
        return type(error) is kind
    return False


def _text(program: Program, places: tuple[str, ...], check: Check) -> str:
    try:
        check(program, places)
    except Difference as found:
        return str(found)
    return "the difference comes and goes"


def one(asked: argparse.Namespace, seed: int) -> int:
    """Compare one program, print it, and print what differs."""
    program = program_of(asked, seed)
    print(program.script())
    checked = _CheckedOpen({"compiles": {}, "reasons": {}}) if asked.open else check
    found = difference(program, places_of(asked, seed), checked)
    print(found or "no difference")
    return int(found is not None)


if __name__ == "__main__":
    sys.exit(main())
