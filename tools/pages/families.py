"""Which file of `compiler/ops/` an op is from: each is a family, and a page of the manual."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import ModuleType

from staticgraph.compiler import ops
from staticgraph.compiler.graph.opdef import OPS, OpDef

PACKAGE = ops.__name__ + "."
SECTIONS = {
    "Numbers, element by element": "arithmetic division exponential trigonometric special incomplete rounding"
    " comparison logic bitwise casting complex_numbers",
    "Sums and order": "reduce scan sorting searching segment",
    "Shapes and places": "creation movement assembly slicing indexing gathering scatter rows selection"
    " diagonal identities",
    "Matrices": "linalg summation lapack orthogonal decompositions matrix_functions matrix_roots fourier",
    "Nets": "activation normalization loss convolution_layers convolution pooling max_pool_gradient",
    "Images": "resize cropping space morphology",
    "Random numbers": "random stateless",
    "Variables and control flow": "state control_flow arrays structural effects host",
    "Strings and sequences": (
        "strings string_parts string_hashes decoding distances ctc sparse set_operations"
    ),
}  # the files of compiler/ops by subject
FIELDS = ("body", "expand", "statements", "pieces", "element", "reference", "grad", "static", "type")


def families() -> dict[ModuleType, list[OpDef]]:
    """The ops by the module that defines them, in the order of both.

    >>> {module.__name__.rpartition(".")[2]: len(ops) for module, ops in families().items()}["trigonometric"]
    13
    """
    found: dict[ModuleType, list[OpDef]] = {}
    modules = [each for each in vars(ops).values() if isinstance(each, ModuleType)]
    homes = {id(op): module for module in modules for op in _declared(module)}
    for op in OPS.values():
        found.setdefault(homes.get(id(op)) or _by_fields(op, modules), []).append(op)
    return dict(sorted(found.items(), key=lambda item: title(item[0])))


def sections() -> dict[str, list[ModuleType]]:
    """The families by subject; those that no subject names, and those outside of the compiler, come last."""
    by_file = {each.__name__.removeprefix(PACKAGE): each for each in families()}
    found = {about: [by_file.pop(file) for file in files.split()] for about, files in SECTIONS.items()}
    return found | {"Files, queues, tables and others": list(by_file.values())}


def title(module: ModuleType) -> str:
    """Return the subject of a module: the first clause of its docstring.

    >>> title(ops.reduce)
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
