"""Runs every op on operands and attributes of every other size: `python tools/fuzz/operands.py`.

Each use differs from a sample of the registry in one place (`tests/audit/variants.py`). It is refused with an
error, or gives what the op means, between pages that nobody may touch and on memory full of a NaN that no
computation makes. Uses run in child processes, with sizes known while the graph is built, and unknown.

    python tools/fuzz/operands.py --record FILE              all of it, from where the record ends
    python tools/fuzz/operands.py --every 100                one in so many
    python tools/fuzz/operands.py --turns 20                 sessions with open sizes, each of several runs
    python tools/fuzz/operands.py --device standin --every 50    on the simulator of a GPU
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Audit one op after the other, each in a process of its own."""
    options = _options()
    from tests.ops.harness import TESTED

    record: dict[str, Any] = {}
    if options.record is not None and options.record.exists():
        record = json.loads(options.record.read_text())
    names = [op.name for op in TESTED if not options.ops or op.name in options.ops]
    for number, name in enumerate(names):
        if name not in record:
            record[name] = _in_a_child(name, number, options)
            if options.record is not None:
                options.record.write_text(json.dumps(record, indent=1) + "\n")
    counts: Counter[str] = Counter()
    for found in record.values():
        counts.update(found["counts"])
    faults = [fault for found in record.values() for fault in found["faults"]]
    if faults:
        print(*faults, sep="\n")
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
    print(f"{len(record)} ops: {told}, {len(faults)} faults")
    sys.exit(bool(faults))


def _in_a_child(name: str, number: int, options: argparse.Namespace) -> dict[str, Any]:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        with os.fdopen(write, "w") as told:
            _audit(name, number, options, told)
            told.flush()
            os._exit(0)
    os.close(write)
    counts: Counter[str] = Counter()
    faults, at = [], ""
    with os.fdopen(read) as told:
        for line in told:
            kind, _, text = line.rstrip("\n").partition(" ")
            if kind == "at":
                at = text
            elif kind == "fault:":
                faults.append(f"{at}: {text}")
            else:
                counts[kind.rstrip(":")] += 1
    _, status = os.waitpid(child, 0)
    if status:
        faults.append(f"{at}: the process ended with {status}")
    return {"counts": counts, "faults": faults}


def _audit(name: str, number: int, options: argparse.Namespace, told: Any) -> None:
    from random import Random

    from tests.audit import guarded
    from tests.audit.trial import judged
    from tests.audit.variants import attributes, drawn, samples, sizes
    from tests.ops.harness import TESTED

    guarded.install(at_end=number % 3 != 2)
    op, chance = next(op for op in TESTED if op.name == name), Random(f"{name}{options.seed or ''}")
    if options.turns:
        _turns(op, chance, options.turns, told)
        return
    variants = [v for use in samples(op) for v in (*sizes(use), *attributes(use))]
    variants += [drawn(chance.choice(samples(op)), chance) for _ in range(len(variants) // 4)]
    chosen = [v for v in variants if chance.randrange(options.every) == 0]
    for variant in chosen or variants[:1]:
        _at(variant, told)
        told.write(" ".join(judged(variant, chance.random() < 0.5, options.device).split()) + "\n")


def _turns(op: Any, chance: Any, count: int, told: Any) -> None:
    """Audit sessions of several runs, whose graphs leave sizes open."""
    from tests.audit.turns import in_turn
    from tests.audit.variants import attributes, samples

    for _ in range(count):
        use = chance.choice(samples(op))
        if (others := list(attributes(use))) and chance.random() < 0.35:
            use = chance.choice(others)
        for each, run in in_turn(use, chance):
            _at(each, told)
            told.write(" ".join(run().split()) + "\n")


def _at(use: Any, told: Any) -> None:
    """Tell what is tried next, in case that the process ends with it."""
    shapes = [a.shape for a in use.arrays]
    told.write(f"at {use.op.name} {shapes} {use.sample.attrs!r}".replace("\n", " ").strip() + "\n")
    told.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("ops", nargs="*", help="names of ops; all of them where none is given")
    parser.add_argument("--every", type=int, default=1, help="one use in so many, drawn evenly")
    parser.add_argument("--turns", type=int, default=0, help="sessions with open sizes for each op")
    parser.add_argument("--seed", type=int, default=0, help="of the random choices")
    parser.add_argument("--device", default="cpu", help="cpu, gpu or standin")
    parser.add_argument("--record", type=Path, help="a file that tells what was found; go on from it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
