"""Type stubs: what editors and type checkers see of names that are imported when they are first used.

python tools/type_stubs.py        writes the files in STUBS
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

import staticgraph as sg
from staticgraph.compiler.graph.opdef import OPS, REQUIRED, OpDef, Param, Role
from staticgraph.compiler.ops.index import OPS_OF
from staticgraph.formats.tf.messages.message import Message
from tests.ops.harness import Build, dtype_choices, uses

ROOT = Path(__file__).resolve().parent.parent
PUBLIC = ROOT / "staticgraph" / "__init__.pyi"

_HEAD = '"""{} Made by tools/type_stubs.py."""\n\n'
_TYPES = {"Any", "bool", "float", "int", "str"}  # kinds of attributes that a user's program may name


def public_stub() -> str:
    """The stub of the package: each public name with the module that has it."""
    homes = {name: ("staticgraph", name) for name in ("compiler", "runtime")}
    homes |= dict(_eager()) | _homes(sg)
    missing = {*vars(sg)["__all__"]} - {*homes}
    assert not missing, missing
    return _imports("Public names.", homes) + "\n__version__: str\n"


def package_stub(file: Path) -> str:
    """The stub of a module or package that calls `lazy_names`."""
    path = file.relative_to(ROOT).with_suffix("")
    package = import_module(".".join(path.parent.parts if path.name == "__init__" else path.parts))
    return _imports(package.__doc__ or "", _homes(package))


def _homes(package: ModuleType) -> dict[str, tuple[str, str]]:
    """The module of each name of a package of `lazy_names`, and the name there."""
    found = inspect.getclosurevars(vars(package)["__getattr__"]).nonlocals["homes"]
    modules = {name: home.rpartition(".") for name, (home, inner) in found.items() if not inner}
    return found | {name: (package, module) for name, (package, _, module) in modules.items()}


def messages_stub(file: Path) -> str:
    """The stub of a module of the messages that a `.proto` file declares."""
    module = import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
    own = [made for made in vars(module).values() if getattr(made, "__module__", "") == module.__name__]
    names = {name: value for name, value in vars(module).items() if name.isupper()}
    head = f"import typing\n\nfrom {Message.__module__} import Message\n\n"
    constants = "".join(f"{name}: {type(value).__name__}\n" for name, value in names.items())
    classes = "".join("\n".join([*_message(made), ""]) for made in own)
    return _HEAD.format(module.__doc__) + head + constants + classes


def _message(made: type[Message]) -> Iterator[str]:
    """The lines of a class with its messages, enums and fields."""
    assert made.__base__
    yield f"class {made.__name__}({made.__base__.__name__}):"
    yield f'    """{made.__doc__}"""'
    for name, value in vars(made).items():
        if isinstance(value, type):
            yield from (f"    {line}" for line in _message(value))
        elif name[0] != "_" and name not in vars(Message):
            yield f"    {name}: typing.Any"


def _imports(doc: str, homes: Mapping[str, tuple[str, str]]) -> str:
    listed: dict[str, list[str]] = {}
    for name, (module, inner) in sorted(homes.items()):
        listed.setdefault(module, []).append(f"    {inner} as {name if name == inner else '_' + name},\n")
    imports = "".join(f"from {module} import (\n{''.join(listed[module])})\n" for module in sorted(listed))
    # To a type checker, `import a as b` in a stub makes no public name.
    renamed = "".join(f"{name} = _{name}\n" for name, (_, inner) in sorted(homes.items()) if name != inner)
    return _HEAD.format(doc) + imports + (f"\n{renamed}" if renamed else "")


def _eager() -> Iterator[tuple[str, tuple[str, str]]]:
    """Names that the package imports at once: the name, the module and the name there."""
    for statement in ast.parse(PUBLIC.with_suffix(".py").read_text()).body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                module = __import__(statement.module, fromlist=["*"])
                for inner in module.__all__ if alias.name == "*" else [alias.name]:
                    name = alias.asname or inner
                    if name[0] != "_":
                        yield name, (statement.module, inner)


def ops_stub() -> str:
    """The stub of all ops as functions on tensors of a user's graph."""
    functions = "".join(_function(OPS[name]) for listed in OPS_OF.values() for name in listed.split())
    return (
        _HEAD.format("Every op, as a function on tensors of a graph.")
        + "from collections.abc import Sequence\nfrom typing import Any\n\n"
        + "from staticgraph.compiler.graph.operators import TensorLike\n"
        + "from staticgraph.compiler.graph.tensor import Operation, Tensor\n"
        + "\n"
        + functions
    )


def _function(op: OpDef) -> str:
    params = {param.name: _parameter(param) for param in op.params}
    params.setdefault("name", "name: str | None = None")
    return f"def {op.name}({', '.join(params.values())}) -> {_result(op)}: ...\n"


def _parameter(param: Param) -> str:
    kind = {Role.TENSOR: "TensorLike", Role.TENSORS: "Sequence[TensorLike]"}.get(param.role, "Any")
    if param.role is Role.ATTR and param.kind in _TYPES:
        kind = param.kind
    if param.default is REQUIRED:
        return f"{param.name}: {kind}"
    optional = " | None" if param.default is None and kind != "Any" else ""
    return f"{param.name}: {kind}{optional} = ..."


def _result(op: OpDef) -> str:
    """The annotation of a call's result: as many tensors as the type rule says, or as a sample shows."""
    said = str(getattr(op.type, "__annotations__", {}).get("return", ""))
    if "..." in said:
        return "Any"  # a tuple, but of one alone the tensor itself
    if said.startswith(("TensorType", "tuple[")):
        return said.replace("TensorType", "Tensor")
    if op.samples is None:
        return "Any"
    _, results = Build().add(uses(op, next(dtype_choices(op)))[0])
    return _of(len(results))


def _of(count: int) -> str:
    if count == 1:
        return "Tensor"
    return f"tuple[{', '.join(['Tensor'] * count)}]" if count else "Operation"


def layers_stub() -> str:
    """The stub of `sg.layers`, whose functions are made of their classes."""
    imports, functions = ["from typing import Any\n\n"], []
    for name in vars(sg.layers)["__all__"]:
        made = getattr(sg.layers, name)
        if isinstance(made, type):
            imports.append(f"from {made.__module__} import {name} as {name}\n")
        else:
            functions.append(_called(name, inspect.signature(made)))
    imports.append("from staticgraph.compiler.graph.operators import TensorLike\n")
    imports.append("from staticgraph.compiler.graph.tensor import Tensor\n\n")
    return _HEAD.format("Layers.") + "".join([*imports, *functions])


def _called(name: str, signature: inspect.Signature) -> str:
    """A function of a layer: of `inputs`, and what the constructor takes."""
    shown = []
    for parameter in signature.parameters.values():
        kind = parameter.annotation if parameter.annotation in _TYPES else "Any"
        if parameter.name == "inputs":
            kind = "TensorLike"
        default = "" if parameter.default is inspect.Parameter.empty else " = ..."
        shown.append(f"{parameter.name}: {kind}{default}")
    return f"def {name}({', '.join(shown)}) -> Tensor: ...\n"


_LAZY = [file for file in (ROOT / "staticgraph").rglob("*.py") if "\nlazy_names(\n" in file.read_text()]
_DECLARED = [file for file in (ROOT / "staticgraph").rglob("*.py") if "\ndeclare(" in file.read_text()]
STUBS: dict[Path, Callable[[], str]] = {
    **{file.with_suffix(".pyi"): partial(package_stub, file) for file in _LAZY},
    **{file.with_suffix(".pyi"): partial(messages_stub, file) for file in _DECLARED},
    PUBLIC: public_stub,
    ROOT / "staticgraph" / "layers" / "__init__.pyi": layers_stub,
    ROOT / "compiler" / "ops" / "__init__.pyi": ops_stub,
}


def main() -> None:
    """Write the files."""
    for file, text in STUBS.items():
        file.write_text(text())


if __name__ == "__main__":
    main()
