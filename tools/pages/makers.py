"""Which public functions make an op: read from the source of `staticgraph/`, helpers included."""

from __future__ import annotations

import ast
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

from pages.names import Name
from staticgraph.compiler.graph.opdef import OpDef

MOST = 8  # functions that are listed of one op

Ranked = tuple[int, int, int, Name]  # by what it is, how many ops it makes, and the order of names


def makers(names: list[Name]) -> dict[str, list[Name]]:
    """The functions by the name of an op: the op itself first, then those that do least besides."""
    found: dict[str, list[Ranked]] = defaultdict(list)
    for order, name in enumerate(names):
        is_op = isinstance(name.value, OpDef)
        used = {name.value.name} if is_op else used_by(name.value)
        for op in used:
            rank = 0 if is_op or name.name == op else 2 if inspect.isclass(name.value) else 1
            found[op].append((rank, len(used), order, name))
    return {op: _best(every) for op, every in found.items()}


def _best(every: list[Ranked]) -> list[Name]:
    """The names in order of rank; classes only where no function makes the op."""
    ordered = sorted(every, key=lambda each: each[:3])
    return [name for rank, *_, name in ordered if rank < 2 or ordered[0][0] == 2]


def used_by(value: Any) -> set[str]:
    """The names of the ops that a function or class of Python uses, itself or by others of its file."""
    value = inspect.unwrap(value) if inspect.isfunction(value) else value
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    return set() if module is None else _uses(module).get(getattr(value, "__name__", ""), set())


@cache
def _uses(module: ModuleType) -> dict[str, set[str]]:
    """The ops used by each function and class at the top of a file."""
    tree = ast.parse(inspect.getsource(module))
    bodies = {
        node.name: list(ast.walk(node))
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    uses = {name: {op for node in body for op in _named(node, module)} for name, body in bodies.items()}
    calls = {
        name: {node.id for node in body if isinstance(node, ast.Name)} & bodies.keys() - {name}
        for name, body in bodies.items()
    }
    grown = True
    while grown:
        before = sum(map(len, uses.values()))
        for name in uses:
            uses[name] |= {op for called in calls[name] for op in uses[called]}
        grown = sum(map(len, uses.values())) > before
    return uses


def _named(node: ast.AST, module: ModuleType) -> Iterator[str]:
    """The op that an expression names: `relu`, `ops.relu` or `activation.relu`."""
    match node:
        case ast.Name(id=name):
            value = vars(module).get(name)
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in vars(module):
            value = getattr(vars(module)[owner], name, None)
        case _:
            return
    if isinstance(value, OpDef):
        yield value.name


def listed(functions: list[Name]) -> str:
    """The first of them as text, as code that becomes links."""
    text = ", ".join(f"`{name.full}`" for name in functions[:MOST])
    return f"{text} and {len(functions) - MOST} others" if len(functions) > MOST else text
