"""Errors of Python's own classes tell the user's line: `misuse` makes them, so that tracebacks are cut to it."""

import ast
import builtins

from tests.test_lazy_names import ROOT


def test_no_error_of_python_has_a_layout_without_being_cut():
    """`layout` tells the line; only `misuse` says so to what cuts tracebacks, for scripts and notebooks."""
    found = []
    for folder in ("staticgraph", "compiler", "runtime"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            if "layout(" not in text:
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call) and any(_is_call_of(each, "layout") for each in node.args):
                    if isinstance(getattr(builtins, getattr(node.func, "id", ""), None), type):
                        found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == []


def _is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == name
