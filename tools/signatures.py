"""Compares our public signatures with those of TensorFlow 1.15: a percentage per module.

    python tools/signatures.py                  the table
    python tools/signatures.py --missing nn     names of sg.nn that are missing or differ, the most used first
    python tools/signatures.py --markdown docs/signatures.md
    python tools/signatures.py --accept         what is reached now is what the tests hold us to

`--package` compares only that one. What TensorFlow offers was recorded once, by `tools/record/signatures.py`.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from surface import floors, report
from surface.score import PACKAGES, Grade, recorded, total, totals, verdicts


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--package", choices=PACKAGES, help="only this one")
    parser.add_argument("--missing", metavar="MODULE", help="what is missing or differs; `.`: the package")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write the report")
    parser.add_argument("--accept", action="store_true", help="raise the figures that the tests ask for")
    arguments = parser.parse_args()

    surface = recorded()
    if arguments.missing and arguments.missing not in surface["modules"]:
        parser.error(f"no module {arguments.missing}; there are {', '.join(surface['modules'])}")
    names = [arguments.package] if arguments.package else PACKAGES
    found = {name: verdicts(importlib.import_module(name), surface) for name in names}
    for name, every in found.items():
        if arguments.missing:
            rows = [one for one in every if one.module == arguments.missing]
            print(report.listing(name, [one for one in rows if one.grade in (Grade.PARTIAL, Grade.MISSING)]))
        else:
            print(report.table(name, {**totals(every), "all": total(every)}))
    if arguments.markdown:
        arguments.markdown.write_text(report.markdown(found))
    if arguments.accept:
        floors.accept(found)


if __name__ == "__main__":
    main()
