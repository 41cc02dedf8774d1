"""Which of TensorFlow's names a script uses and which of them are not supported, found without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.tf1.compat.areas import TREE
from staticgraph.tf1.compat.namespace import MISSING
from staticgraph.tf1.compat.nearest import nearest

_TOP = "tensorflow"


@dataclass(frozen=True, slots=True)
class Use:
    """A name of TensorFlow, dotted and without `tf`, in a line of a script."""

    file: str
    line: int
    name: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A use of a name that is not supported, and the nearest names that are."""

    use: Use
    nearest: tuple[str, ...]

    def __str__(self) -> str:
        close = "; nearest: " + ", ".join(self.nearest) if self.nearest else ""
        return f"{self.use.file}:{self.use.line}: tf.{self.use.name} is not supported yet{close}"


def check(script: str) -> list[Missing]:
    """Return the names that are not supported in a script and the modules beside it that it imports.

    They come in the order of lines, and each name once per file.

    Raises:
        SyntaxError: A file is not Python 3.
    """
    found, told = [], set()
    for use in uses(Path(script)):
        if TREE.lookup(use.name) is MISSING and (use.file, use.name) not in told:
            told.add((use.file, use.name))
            close = tuple(f"tf.{other}" for other in nearest(use.name, TREE.supported()))
            found.append(Missing(use, close))
    return found


def uses(script: Path, seen: set[Path] | None = None) -> Iterator[Use]:
    """The names of TensorFlow in a script, then in the modules beside it that it imports."""
    seen = set() if seen is None else seen
    seen.add(script)
    tree = ast.parse(script.read_text(encoding="utf-8", errors="replace"), str(script))
    finder = _Names(tree)
    yield from (Use(str(script), line, name) for line, name in sorted(finder.found))
    for module in finder.imported:
        path = script.parent.joinpath(*module.split("."))
        for beside in (path.with_suffix(".py"), path / "__init__.py"):
            if beside.is_file() and beside not in seen:
                yield from uses(beside, seen)


class _Names(ast.NodeVisitor):
    """Collects dotted names of TensorFlow: imported, or read through what was imported or assigned."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: set[tuple[int, str]] = set()
        self.imported: list[str] = []
        self._stands_for: dict[str, str] = {}
        self._imports(tree)
        self._assignments(tree)
        self.visit(tree)

    def _imports(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        self._import(alias.name, alias.asname, node.lineno)
                case ast.ImportFrom(level=0, module=str(origin), names=names):
                    for alias in names:
                        self._import_from(origin, alias, node.lineno)

    def _import(self, module: str, alias: str | None, line: int) -> None:
        top, _, rest = module.partition(".")
        if top != _TOP:
            self.imported.append(module)
            return
        self._stands_for[alias or _TOP] = rest if alias else ""
        if rest:
            self.found.add((line, rest))

    def _import_from(self, origin: str, alias: ast.alias, line: int) -> None:
        top, _, rest = origin.partition(".")
        if top != _TOP:
            self.imported += [origin, f"{origin}.{alias.name}"]
        elif alias.name != "*":
            name = f"{rest}.{alias.name}" if rest else alias.name
            self._stands_for[alias.asname or alias.name] = name
            self.found.add((line, name))

    def _assignments(self, tree: ast.Module) -> None:
        """`slim = tf.contrib.slim` gives another name, unless something else is called that too."""
        bound = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and _is_stored(node)]
        bound += [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
        for node in tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute() as value):
                    dotted = self._dotted(value)
                    if dotted is not None and bound.count(name) == 1:
                        self._stands_for[name] = dotted

    def _dotted(self, node: ast.expr) -> str | None:
        match node:
            case ast.Name(id=name):
                return self._stands_for.get(name)
            case ast.Attribute(value=value, attr=attr):
                before = self._dotted(value)
                return None if before is None else f"{before}.{attr}".removeprefix(".")
        return None

    def visit_Attribute(self, node: ast.Attribute) -> None:
        dotted = self._dotted(node) if isinstance(node.ctx, ast.Load) else None
        if dotted is None:
            self.generic_visit(node)
        else:
            self.found.add((node.lineno, dotted))


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)
