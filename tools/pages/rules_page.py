"""The list of rules that improve results, in the manual's page on accuracy, made from the tables of rules.

python tools/pages/rules_page.py        writes its part of docs/accuracy.md
"""

from __future__ import annotations

from pathlib import Path

from staticgraph.compiler.passes.simplify import every_rule
from staticgraph.compiler.rewrite import IMPROVES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"
BEGIN, END = (
    "<!-- rules that improve results: written by tools/pages/rules_page.py -->\n",
    "<!-- end of the rules -->\n",
)


def table() -> str:
    """The rules as a table, in the order of their names.

    >>> print(table().splitlines()[2])
    | add zero | `add(x, 0)` | `x` |
    """
    rules = sorted((rule for rule in every_rule() if IMPROVES in rule.inexact), key=lambda rule: rule.name)
    rows = [f"| {rule.name} | `{rule.left!r}` | `{rule.right!r}` |" for rule in rules]
    return "\n".join(["| rule | written | computed |", "|---|---|---|", *rows]) + "\n"


def page() -> str:
    """The whole page, with the list as it is now."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
