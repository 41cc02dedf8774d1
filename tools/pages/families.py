"""Families of ops: the files of `compiler/ops/`, each a page of the manual. Its folders are the subjects."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

from staticgraph.compiler import ops
from staticgraph.compiler.graph.opdef import OPS, OpDef

PACKAGE = ops.__name__ + "."
FIELDS = ("body", "expand", "statements", "pieces", "element", "reference", "grad", "static", "type")


def families() -> dict[ModuleType, list[OpDef]]:
    """The ops by the module that defines them, in the order of both.

    >>> {module.__name__.rpartition(".")[2]: len(ops) for module, ops in families().items()}["trigonometric"]
    13
    """
    found: dict[ModuleType, list[OpDef]] = {}
    modules = [import_module(file.name) for file in walk_packages(ops.__path__, PACKAGE)]
    homes = {id(op): module for module in modules for op in _declared(module)}
    for op in OPS.values():
        found.setdefault(homes.get(id(op)) or _by_fields(op, modules), []).append(op)
    return dict(sorted(found.items(), key=lambda item: title(item[0])))


def sections() -> dict[str, list[ModuleType]]:
    """The families by subject. Those of no folder, and those outside of the compiler, come last."""
    found: dict[str, list[ModuleType]] = {}
    others = []
    for module in families():
        subject, _, file = module.__name__.removeprefix(PACKAGE).partition(".")
        if module.__name__.startswith(PACKAGE) and file:
            found.setdefault(title(import_module(PACKAGE + subject)), []).append(module)
        else:
            others.append(module)
    return dict(sorted(found.items())) | {"Files, queues, tables and others": others}


def title(module: ModuleType) -> str:
    """Return the subject of a module: the first clause of its docstring.

    >>> title(import_module(PACKAGE + "reductions.reduce"))
    'Reductions'
    """
    sentence = (inspect.getdoc(module) or module.__name__).split("\n")[0].rstrip(".")
    return sentence.partition(":")[0].partition(". ")[0].partition(", all of")[0]


def _declared(module: ModuleType) -> Iterator[OpDef]:
    """The ops whose decorated function stands in the module's own text."""
    lines = set(inspect.getsource(module).splitlines())
    for name, value in vars(module).items():
        if isinstance(value, OpDef) and any(line.startswith(f"def {name}(") for line in lines):
            yield value


def _by_fields(op: OpDef, modules: list[ModuleType]) -> ModuleType:
    """The module of an op that a function makes: where its own functions are from."""
    for field in FIELDS:
        home = getattr(getattr(op, field), "__module__", None) or ""
        if home.startswith("staticgraph.") and home != PACKAGE + "kinds":
            return sys.modules[home]
    holders = [module for module in modules if any(value is op for value in vars(module).values())]
    if not holders:
        raise LookupError(f"no file of compiler/ops defines {op.name}")
    return holders[0]
