"""Output of `tools/signatures.py`: tables for a terminal, and a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from surface.explained import reason
from surface.score import Grade, Total, Verdict, total, totals

MOST_USED = 40  # as many missing names are on the page

_INTRODUCTION = """\
# Signatures beside TensorFlow 1.15

How much of TensorFlow 1.15.5's public surface there is, and how its signatures agree. Written by

```sh
python tools/signatures.py --markdown docs/signatures.md
```

Each public name counts once in its module: functions, classes with their constructor, the public members of
classes, constants and modules. Of `contrib` and `distributions` only what scripts use is counted.
A name is

"""

_SCORES = """
The *score* of a module is the mean over its names: 100 % for full and compatible, the share of
parameters that agree for partial, 0 for missing. *Weighted* counts each name by the number of scripts
that use it, in a collection from public repositories; what no script uses does not count there.
"""


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _cells(name: str, of: Total) -> list[str]:
    counts = [str(of.grades[grade]) for grade in Grade]
    return [name, str(of.names), _percent(of.present), *counts, _percent(of.score), _percent(of.weighted)]


HEADER = ["module", "names", "present", *(grade.name.lower() for grade in Grade), "score", "weighted"]


def table(package: str, modules: Mapping[str, Total]) -> str:
    """A row per module, for a terminal. Percentages, and counts of names."""
    rows = [[package, *HEADER[1:]], *(_cells(name, each) for name, each in modules.items())]
    width = max(len(row[0]) for row in rows)
    return "\n".join(row[0].ljust(width) + "".join(cell.rjust(12) for cell in row[1:]) for row in rows) + "\n"


def listing(package: str, verdicts: Iterable[Verdict]) -> str:
    """A line per name, the most used first, with what differs."""
    lines = [f"{one.uses:5}  {package}.{one.path}  {described(one)}" for one in _by_use(verdicts)]
    return "\n".join(lines)


def described(verdict: Verdict) -> str:
    """Describe the differences in words."""
    if verdict.grade is Grade.MISSING:
        return "missing"
    return "; ".join(f"{name}: {text}".removeprefix(": ") for name, text in verdict.differences.items())


def _by_use(verdicts: Iterable[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda one: (-one.uses, one.path))


def markdown(found: Mapping[str, Sequence[Verdict]]) -> str:
    """The page."""
    grades = "\n".join(f"* **{grade.name.lower()}**: {grade.value};" for grade in Grade)
    page = [_INTRODUCTION + grades.removesuffix(";") + ".\n" + _SCORES]
    page += [_section(package, verdicts) for package, verdicts in found.items()]
    return "\n".join(page)


def _section(package: str, verdicts: Sequence[Verdict]) -> str:
    modules = {**totals(verdicts), "**all**": total(verdicts)}
    used = [one for one in _by_use(verdicts) if one.grade is Grade.MISSING and one.uses]
    partial = [one for one in verdicts if one.grade is Grade.PARTIAL]
    parts = [
        f"## {package}\n",
        _rows(HEADER, [_cells(_code(name), each) for name, each in modules.items()]),
    ]
    if partial:
        parts += ["\n### What differs, and why\n"]
        reasons = [[_code(one.path), reason(one.path) or described(one)] for one in partial]
        parts += [_rows(["name", "reason"], reasons)]
    if used:
        parts += [f"\n### The most used of what is missing, {min(MOST_USED, len(used))} of {len(used)}\n"]
        parts += [", ".join(f"`{one.path}` ({one.uses})" for one in used[:MOST_USED])]
    return "\n".join(parts) + "\n"


def _code(name: str) -> str:
    return name if name.startswith("*") else f"`{name}`"


def _rows(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
