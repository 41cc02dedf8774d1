"""The manual's page about switches, made from the table in runtime/switches.py.

python tools/pages/switches_page.py        writes docs/switches.md
"""

from __future__ import annotations

from pathlib import Path

from staticgraph.runtime.switches import SWITCHES, Switch

PAGE = Path(__file__).resolve().parents[2] / "docs" / "switches.md"

_TEXT = """\
# Switches

What can be chosen from outside of a program, or for a part of it. Each switch is

* a variable of the environment: `SG_MATH=fast python train.py`,
* an argument of `sg.options`: `with sg.options(math="fast"): ...`,
* and, if sessions may differ in it, a keyword of `Session`: `sg.Session(math="fast")`.

The innermost choice counts. A session keeps what was in force when it was made; the switches that are not
keywords of it are for the whole process. A variable that makes no sense is a warning and otherwise ignored; a
keyword or argument is an error.

{table}

```pycon
>>> import staticgraph as sg
>>> with sg.options(math="fast", memory_limit=2**30):
...     session = sg.Session(memory_limit=2**20)
>>> session.settings.math, session.settings.memory_limit
('fast', 1048576)

```

## The cache of compiled code

The folder `cache_dir` holds machine code, which is executed. So it is used only if it is a folder (no link to
one) that belongs to you and gives no rights to others: `chmod 700`. Otherwise one warning says so, and every
process compiles for itself. A folder that is not there yet is made with these rights. The rights of the
folders around it do not matter, unlike those around the keys of OpenSSH, since files are opened relative to
the folder that was checked.

Each entry is authenticated with a secret key of yours, the file `.staticgraph-key` in the folder, which only
you can read. An entry that was changed or comes from elsewhere is compiled again. The cache is bounded to 256
MiB: the entries that have not been used for the longest time are removed, and no file that the cache has not
made. On Windows, where rights are access lists, the default folder is inside of your own, and only links and
entries without your key are refused.
"""


def page() -> str:
    """The whole page.

    >>> page().splitlines()[0]
    '# Switches'
    """
    head = ("variable", "`sg.options`", "`Session`", "takes", "default", "what it does")
    lines = [head, ("---",) * len(head), *map(_row, SWITCHES.values())]
    return _TEXT.format(table="\n".join(f"| {' | '.join(line)} |" for line in lines))


def _row(switch: Switch) -> tuple[str, ...]:
    keyword = "yes" if switch.of_session else ""
    return (f"`{switch.variable}`", f"`{switch.name}`", keyword, switch.takes, switch.default, switch.meaning)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
