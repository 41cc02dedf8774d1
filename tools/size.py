"""Count lines per layer and per file: `python tools/size.py`.

Code, documentation (docstrings and comments) and blank lines are counted apart: only the first is a burden.
"""

import argparse
import ast
import io
import tokenize
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("staticgraph", "runtime", "compiler")
FOLDERS = (*PACKAGES, "tests", "examples", "tools")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef


class Size(NamedTuple):
    """Lines of one file, or of many together."""

    files: int = 0
    code: int = 0
    documentation: int = 0
    blank: int = 0

    @property
    def total(self) -> int:
        """Lines of every kind."""
        return self.code + self.documentation + self.blank

    def plus(self, other: "Size") -> "Size":
        """Both together."""
        return Size(*(a + b for a, b in zip(self, other, strict=True)))


def measure(text: str) -> Size:
    r"""Size of one Python source text.

    >>> measure("'What it is.'\n\nx = 1  # why\n")
    Size(files=1, code=1, documentation=1, blank=1)
    """
    lines = text.splitlines()
    documentation: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            documentation.update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
            documentation.add(token.start[0])
    blank = sum(1 for number, line in enumerate(lines, 1) if not line.strip() and number not in documentation)
    return Size(1, len(lines) - len(documentation) - blank, len(documentation), blank)


def layer(path: Path) -> str:
    """First two folders of a path: `compiler/graph`, `runtime`, `tests/ops`."""
    return "/".join(path.parts[:-1][:2])


def table(rows: dict[str, Size], title: str) -> str:
    """Rows sorted by name, with their sum below."""
    width = max(len(title), *map(len, rows)) + 2
    line = f"{{:<{width}}}{{:>7}}{{:>8}}{{:>7}}{{:>7}}{{:>8}}"
    total = Size()
    for size in rows.values():
        total = total.plus(size)
    cells = [(name, *size, size.total) for name, size in [*sorted(rows.items()), ("all", total)]]
    header = (title, "files", "code", "docs", "blank", "lines")
    return "\n".join(line.format(*row) for row in [header, *cells])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--layers", action="store_true", help="leave out the table of files")
    arguments = parser.parse_args()
    files: dict[str, Size] = {}
    layers: dict[str, Size] = defaultdict(Size)
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            name = path.relative_to(ROOT)
            files[str(name)] = measure(path.read_text())
            layers[layer(name)] = layers[layer(name)].plus(files[str(name)])
    if not arguments.layers:
        print(table(files, "file"), end="\n\n")
    print(table(layers, "layer"))


if __name__ == "__main__":
    main()
