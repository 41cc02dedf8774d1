"""TensorFlow's names that a script uses, and those that are not supported, found without running it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.tf1.compat.areas import TREE
from staticgraph.tf1.compat.namespace import MISSING
from staticgraph.tf1.drop_in.finder import path_of


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

    def as_data(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {**asdict(self.use), "nearest": self.nearest}

    def __str__(self) -> str:
        close = "; nearest: " + ", ".join(self.nearest) if self.nearest else ""
        return f"{self.use.file}:{self.use.line}: tf.{self.use.name} is not supported yet{close}"


@dataclass(frozen=True, slots=True)
class Absent:
    """An import of a package that is not installed."""

    file: str
    line: int
    package: str

    def as_data(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: the package {self.package} is not installed"


def check(script: str) -> list[Missing | Absent]:
    """Return the names that are not supported in a script and the modules beside it that it imports.

    They come in the order of lines, and each name once per file. After them come packages that it imports and
    that are not installed.

    Raises:
        SyntaxError: A file is not Python 3.
    """
    found: list[Missing | Absent] = []
    told: set[tuple[str, str]] = set()
    packages: dict[str, Absent] = {}
    for path, names in _files(Path(script), set()):
        for line, name in sorted(names.found):
            of_python = name.rpartition(".")[2].startswith("__")
            if not of_python and TREE.lookup(name) is MISSING and (str(path), name) not in told:
                told.add((str(path), name))
                close = tuple(f"tf.{other}" for other in TREE.nearest(name))
                found.append(Missing(Use(str(path), line, name), close))
        for module, line in names.imported.items():
            package = module.partition(".")[0]
            if not _is_there(package, path.parent):
                packages.setdefault(package, Absent(str(path), line, package))
    return [*found, *packages.values()]


def _files(script: Path, seen: set[Path]) -> Iterator[tuple[Path, _Names]]:
    """The script and the modules beside it that it imports, with what is in them."""
    seen.add(script)
    names = _Names(ast.parse(script.read_text(encoding="utf-8", errors="replace"), str(script)))
    yield script, names
    for module in names.imported:
        path = script.parent.joinpath(*module.split("."))
        for beside in (path.with_suffix(".py"), path / "__init__.py"):
            if beside.is_file() and beside not in seen:
                yield from _files(beside, seen)


def _is_there(package: str, folder: Path) -> bool:
    """Return True if `import package` in a script of that folder finds something; nothing is imported."""
    if package in sys.builtin_module_names or package in sys.stdlib_module_names or package == "horovod":
        return True
    beside = folder / package
    return beside.is_dir() or beside.with_suffix(".py").is_file() or find_spec(package) is not None


class _Names(ast.NodeVisitor):
    """Collects dotted names of TensorFlow: imported, or read through what was imported or assigned."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: set[tuple[int, str]] = set()
        self.imported: dict[str, int] = {}  # other modules, and the line of the first import
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
        path = path_of(module)
        if path is None:
            self.imported.setdefault(module, line)
            return
        top = module.partition(".")[0]
        self._stands_for[alias or top] = path if alias else path_of(top) or ""
        if path:
            self.found.add((line, path))

    def _import_from(self, origin: str, alias: ast.alias, line: int) -> None:
        path = path_of(origin)
        if path is None:
            self.imported.setdefault(origin, line)
            self.imported.setdefault(f"{origin}.{alias.name}", line)
        elif alias.name != "*":
            name = f"{path}.{alias.name}" if path else alias.name
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
