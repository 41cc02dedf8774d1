"""Compares every derivative with differences.

    python tools/accuracy/derivatives.py --record derivatives.json

It takes all differentiable ops of the registry, at their samples and at the points that samples avoid, by all
inputs together and by each alone, the public functions of the golden cases at such points, and those that
a walk over the public modules finds. Both orders of derivatives are compared in float64. That takes half an
hour on one core. The record says what is done; the same command goes on from there. `--only NAME` takes what
has NAME in its name. What is left out, and why, is in `tests/derivatives/exceptions.py`; a part of the same
runs with the tests.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from staticgraph.compiler.graph.errors import GraphError  # noqa: E402
from staticgraph.runtime.disk.atomic import write_file  # noqa: E402
from tests.derivatives.differences import Outcome, check_public  # noqa: E402
from tests.derivatives.public import Point, golden_points, matrix_points  # noqa: E402
from tests.derivatives.registry import compare  # noqa: E402
from tests.derivatives.walked import walked_points  # noqa: E402
from tests.ops.harness import TESTED  # noqa: E402


def main() -> None:
    """Compare what the record does not have, then tell the sums. The status is 1 if a derivative is wrong."""
    options = _options()
    record = json.loads(options.record.read_text()) if options.record and options.record.exists() else {}
    for name, run in _work():
        if options.only in name and name not in record:
            record[name] = _told(run())
            print(f"{name}: {record[name]}", flush=True)
            if options.record:
                write_file(options.record, [json.dumps(record, indent=1).encode()])
    wrong = [text for told in record.values() for text in told["wrong"]]
    first, second, refused = (
        sum(told[key] for told in record.values()) for key in ("first", "second", "refused")
    )
    print(f"{len(record)} functions: {first} first and {second} second derivatives compared,")
    print(f"{refused} points refused")
    print("\n".join([f"{len(wrong)} wrong", *wrong]))
    sys.exit(bool(wrong))


def _work() -> Iterator[tuple[str, Callable[[], Outcome]]]:
    for op in TESTED:
        if op.differentiable is not False:
            yield f"op {op.name}", partial(compare, op)
    for point in chain(matrix_points(), golden_points(), walked_points()):
        yield point.name, partial(_public, point)


def _public(point: Point) -> Outcome:
    try:
        return check_public(point.function, point.arrays, point.name)
    except (GraphError, ArithmeticError, LookupError, TypeError, ValueError) as error:  # not here
        print(f"{point.name} is not compared: {error}".splitlines()[0])
        return Outcome(refused=1)


def _told(outcome: Outcome) -> dict[str, Any]:
    first, second = outcome.compared[1], outcome.compared[2]
    return {"first": first, "second": second, "refused": outcome.refused, "wrong": outcome.wrong}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", type=Path, help="a JSON file of what is done")
    parser.add_argument("--only", default="", help="a part of the names of what is compared")
    return parser.parse_args()


if __name__ == "__main__":
    main()
