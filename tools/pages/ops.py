"""The reference of operations: a page per family, a section per op, all from the registry."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType

from pages.families import families, sections, title
from pages.makers import listed
from pages.markdown import directive, docstring, escaped, examples, facts, fenced
from pages.names import Name
from pages.uses import Shown, shown
from staticgraph.compiler.graph.dtypes import (
    ANY,
    BOOLEAN,
    COMPLEX,
    DTYPES,
    EVERY,
    FLOATING,
    INTEGER,
    NUMERIC,
    REAL,
    DType,
)
from staticgraph.compiler.graph.opdef import OPS, REQUIRED, Effect, Kind, OpDef, Param, Role

FOLDER = "reference/ops"

GROUPS = (
    ("anything", EVERY),
    ("anything but strings", ANY),
    ("numbers", NUMERIC),
    ("real numbers", REAL),
    ("floating numbers", FLOATING),
    ("integers", INTEGER),
    ("complex numbers", COMPLEX),
    ("bool", BOOLEAN),
)

KINDS = {
    Kind.ELEMENTWISE: "element by element; inputs broadcast",
    Kind.MOVEMENT: "each element is some element of the input",
    Kind.REDUCTION: "elements combined along axes",
    Kind.CONTRACTION: "sums of products",
    Kind.SOURCE: "elements computed from their position",
    Kind.ASSEMBLY: "pieces written side by side",
    Kind.ROUTINE: "loops of its own",
    Kind.COMPOSITE: "made of other operations, once shapes are known",
    Kind.STRUCTURAL: "known to the compiler by name",
    Kind.HOST: "computed in Python, between compiled steps",
}

EFFECTS = {
    Effect.RANDOM: "random; its stream goes on from run to run",
    Effect.SOURCE: "its value comes from outside of the run",
    Effect.READ: "reads a variable at its turn",
    Effect.WRITE: "changes a variable at its turn",
    Effect.HOST: "called exactly once per run, in the order of construction",
    Effect.EFFECT: "takes effect in the order of construction",
    Effect.CONTROL: "runs Functions",
    Effect.MARK: "never merged with equal operations",
}

OVERVIEW = """\
# Operations

Everything that a graph can hold: {count} operations, each defined by one function in the compiler, from which
this reference is written. Public functions make them, and a section says which ones do. Attributes are values
that are known when the graph is built; an input that may be either a tensor or a value, such as a shape or an
axis, is an *operand*.

| word | element types |
| --- | --- |
{words}

A section's *types* are uses on which the operation is tested: types of its inputs, its attributes, and types
of its results. *Loops* shows the kernel of the first of these uses by itself, before it is cut for the
processor, and *derivative* what `sg.gradients` makes of it: a Function of the inputs and of a weight for each
result.
"""


def pages(makers: Mapping[str, list[Name]]) -> dict[str, str]:
    """The pages by their paths. `makers`: the public functions by the name of the op that they make."""
    every = families()
    return {f"{FOLDER}/index.md": _overview()} | {
        path_of(module): _family(module, ops, makers) for module, ops in every.items()
    }


def path_of(module: ModuleType) -> str:
    """Return the path of the page of a family."""
    name = module.__name__.removeprefix("staticgraph.").removeprefix("compiler.ops.")
    return f"{FOLDER}/{name.replace('.', '_')}.md"


def label(op: OpDef) -> str:
    """The name by which pages refer to the section of an op."""
    return f"op-{op.name.replace('_', '-')}"


def _overview() -> str:
    words = "\n".join(f"| {word} | {_listed(group)} |" for word, group in GROUPS[2:])
    parts = [OVERVIEW.format(count=len(OPS), words=words)]
    every = families()
    for about, modules in sections().items():
        rows = "\n".join(_row(module, every[module]) for module in modules)
        parts.append(f"## {about}\n\n| family | operations |\n| --- | --- |\n{rows}\n")
        parts.append(directive("toctree", "", "\n".join(_base(module) for module in modules), ["hidden:"]))
    return "\n".join(parts)


def _listed(group: frozenset[DType]) -> str:
    return ", ".join(name for name, dtype in DTYPES.items() if dtype in group)


def _row(module: ModuleType, ops: list[OpDef]) -> str:
    links = ", ".join(f"[`{op.name}`](#{label(op)})" for op in ops)
    return f"| [{escaped(title(module))}]({_base(module)}.md) | {links} |"


def _base(module: ModuleType) -> str:
    return path_of(module).rpartition("/")[2].removesuffix(".md")


def _family(module: ModuleType, ops: list[OpDef], makers: Mapping[str, list[Name]]) -> str:
    parts = [f"# {escaped(title(module))}", _about(module)]
    return "\n\n".join([*filter(None, parts), *(_section(op, makers.get(op.name, [])) for op in ops)]) + "\n"


def _about(module: ModuleType) -> str:
    """Return the module's docstring without its title."""
    text = inspect.getdoc(module) or ""
    return docstring(text.removeprefix(f"{title(module)}.").strip())


def _section(op: OpDef, functions: list[Name]) -> str:
    use = shown(op)
    parts = [f"({label(op)})=\n## {op.name}", docstring(op.__doc__), facts(_facts(op, functions, use))]
    if not examples(op.__doc__):
        parts.append(_example(functions[:2]))
    if use is not None:
        parts += [_folded("Loops", use.loops), _folded("Derivative", use.derivative)]
    return "\n\n".join(filter(None, parts))


def _example(functions: list[Name]) -> str:
    """The example of the first function that makes an op and has one."""
    for name in functions:
        if found := examples(inspect.getdoc(name.value) or ""):
            return f"An example, that of `{name.full}`:\n\n{found}"
    return ""


def _folded(name: str, code: str) -> str:
    """Code that opens by a click."""
    if not code:
        return ""
    return f'<details class="code"><summary>{name}</summary>\n\n{fenced(code, "text")}\n\n</details>'


def _facts(op: OpDef, functions: list[Name], use: Shown | None) -> Iterator[tuple[str, str]]:
    yield "made by", listed(functions) or "methods of tensors and variables, or the compiler"
    yield "inputs", "; ".join(_input(op, p) for p in op.params if p.role in (Role.TENSOR, Role.TENSORS))
    yield "operands", ", ".join(_value(p) for p in op.params if p.role is Role.OPERAND)
    yield "attributes", ", ".join(_value(p) for p in op.params if p.role is Role.ATTR)
    yield "types", "" if use is None else "<br>".join(f"`{types}`" for types in use.types)
    yield "gradient", gradient(op)
    yield "computed", "; ".join(filter(None, (KINDS[op.kind], EFFECTS.get(op.effect))))
    yield "in TensorFlow", f"`{op.tf}`" if op.tf != op.name else "no such operation"


def _input(op: OpDef, param: Param) -> str:
    listed = "a list of tensors, " if param.role is Role.TENSORS else ""
    optional = "" if param.default is REQUIRED else ", may be left out"
    return f"`{param.name}`: {listed}{_dtypes(op, param.var)}{optional}"


def _dtypes(op: OpDef, var: str) -> str:
    if var == "*":
        return "anything"
    if var in DTYPES:
        return var
    allowed = words(op.dtypes.get(var, ANY))
    letters = {p.var for p in op.params if p.role in (Role.TENSOR, Role.TENSORS)}
    return f"{allowed} (`{var}`)" if len(letters) > 1 and len(var) == 1 else allowed


def words(dtypes: frozenset[DType]) -> str:
    """A set of element types in few words.

    >>> words(FLOATING | BOOLEAN), words(frozenset({DTYPES["int32"], DTYPES["int64"]}))
    ('floating numbers, bool', 'int32, int64')
    """
    left, found = set(dtypes), []
    for name, group in GROUPS:
        if group <= left:
            found.append(name)
            left -= group
    return ", ".join([*found, *(name for name, dtype in DTYPES.items() if dtype in left)])


def _value(param: Param) -> str:
    return f"`{param.name}`" if param.default is REQUIRED else f"`{param.name}={param.default!r}`"


def _names(op: OpDef, positions: Sequence[int]) -> str:
    return ", ".join(f"`{op.params[i].name}`" for i in positions)


def gradient(op: OpDef) -> str:
    """Whether, and how, gradients pass."""
    if op.effect is Effect.RANDOM and op.differentiable is False and not op.no_gradient_known:
        return "none: its numbers depend on nothing"
    if op.differentiable is False:
        return "not known: an error if a derivative goes through it" if op.no_gradient_known else "none"
    if not any(p.role in (Role.TENSOR, Role.TENSORS) for p in op.params):
        return "none: it has no inputs"
    only = op.differentiable
    to = f", to {_names(op, only)}" if isinstance(only, tuple) else ""
    if isinstance(op.no_gradient_known, tuple) and op.no_gradient_known:
        to += f"; that to {_names(op, op.no_gradient_known)} is not known"
    if op.grad is not None:
        return f"a formula of its own{to}"
    if op.kind is Kind.ELEMENTWISE:
        return f"that of its formula{to}"
    if op.expand is not None:
        return f"that of the operations that it is made of{to}"
    return f"by the compiler{to}"
