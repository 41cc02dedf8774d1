"""The public names of the package: in which modules they are, and which of several is told about."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.opdef import OpDef
from staticgraph.namespaces.public_paths import HOMES
from surface.walk import find, public

RECORDED = Path(__file__).resolve().parent.parent / "surface" / "tensorflow_1_15.json"
ROOT = "."


@dataclass(frozen=True, slots=True)
class Name:
    """One public name: the module's path from `sg` on, and what it stands for."""

    module: str
    name: str
    value: Any

    @property
    def full(self) -> str:
        return f"{full_path(self.module)}.{self.name}"


def full_path(module: str) -> str:
    """`sg` for the package itself, `sg.nn` for a module."""
    return "sg" if module == ROOT else f"sg.{module}"


def modules() -> dict[str, ModuleType]:
    """The public modules by their paths: those that TensorFlow has too, then our own.

    >>> list(modules())[:2], "onnx" in modules()
    (['.', 'bitwise'], True)
    """
    theirs = json.loads(RECORDED.read_text(encoding="utf-8"))["modules"]
    every = dict.fromkeys([*sorted(theirs), *(name for name in dir(sg) if _is_ours(name))])
    found = {}
    for path in every:
        try:
            module = find(sg, path)
        except AttributeError:
            continue
        if isinstance(module, ModuleType):
            found[path] = module
    return found


def _is_ours(name: str) -> bool:
    """Return True if a module is listed as public by the package itself."""
    return name in HOMES


def names(modules: dict[str, ModuleType]) -> list[Name]:
    """Everything that can be called, under each of its names, in order of the modules."""
    return [
        Name(path, name, value)
        for path, module in modules.items()
        for name in dict.fromkeys(getattr(module, "__all__", None) or public(module))
        if _told(value := getattr(module, name))
    ]


def first_names(every: list[Name]) -> dict[int, Name]:
    """The name to tell about by the identity of a value: the one that most scripts use, else the first."""
    uses = json.loads(RECORDED.read_text(encoding="utf-8"))["uses"]
    chosen: dict[int, Name] = {}
    for name in every:
        known = chosen.setdefault(id(name.value), name)
        if uses.get(name.full.removeprefix("sg."), 0) > uses.get(known.full.removeprefix("sg."), 0):
            chosen[id(name.value)] = name
    return chosen


def _told(value: Any) -> bool:
    """Return True if the manual tells about a value: functions, classes and ops of our own."""
    if isinstance(value, OpDef):
        return True
    home = getattr(value, "__module__", None) or ""
    return (inspect.isclass(value) or callable(value)) and home.startswith("staticgraph")
