"""Summary of a file, read without building its graph or loading its values."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, field
from typing import Any

from staticgraph.compiler.graph.errors import counted
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.files import container
from staticgraph.runtime.files.arrays import safetensors
from staticgraph.runtime.files.arrays.safetensors import Stored
from staticgraph.runtime.files.attributes import Kinds, check, fields, items, parse, type_of
from staticgraph.runtime.files.code import GPU_TARGETS
from staticgraph.runtime.files.graph_file import BODY, GRAPH, KERNELS, WEIGHTS
from staticgraph.runtime.reports.table import printable, table, wrapped

_PORT: Kinds = {"tensor": (str,), "dtype": (str,), "shape": (list, type(None))}
_CHECKPOINT = ".index"  # the suffix of checkpoints
_MOST_LISTED = 12  # kinds of operations in the printed form
_WIDTH = 100  # of its lines, where they need not fit a terminal


@dataclass(frozen=True, slots=True)
class FunctionSummary:
    """One signature: types by name, "dict", "list", "one" or "none" for what a call returns, what it runs."""

    inputs: dict[str, str]
    outputs: dict[str, str]
    returns: str
    step: str | None


@dataclass(frozen=True, slots=True)
class VariableSummary:
    """A variable: its type, the bytes of its value, and whether it has one and is trained."""

    type: str
    bytes: int
    has_value: bool = True
    trainable: bool = False


@dataclass(frozen=True, slots=True)
class KernelsSummary:
    """Machine code for one target: for which signatures, and which shapes of inputs."""

    bytes: int
    features: str
    programs: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of a file by `staticgraph.inspect`. Print it, or take `as_dict()`.

    Attributes:
        path: The file.
        kind: "graph", "checkpoint", or the name of another project's format.
        format: The version of the format, if it has one.
        producer: The program that wrote the file.
        bytes: The size of the file.
        signatures: The functions, by name.
        variables: The variables, by name. Files of arrays have nothing else.
        constants: The bytes of large constants.
        operations: The number of operations of each op.
        counters: The positions at which random operations continue.
        kernels: The machine code, by target.
        details: Further facts.
    """

    path: str
    kind: str
    format: int | None
    producer: str
    bytes: int
    signatures: dict[str, FunctionSummary] = field(default_factory=dict)
    variables: dict[str, VariableSummary] = field(default_factory=dict)
    constants: int = 0
    operations: dict[str, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    kernels: dict[str, KernelsSummary] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, texts and numbers, as for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int | None = None) -> str:
        """The printed form: tables, whose lines are cut to fit into `width` if that is given."""
        format = "" if self.format is None else f", format {self.format}"
        by = f", by {self.producer}" if self.producer else ""
        head = wrapped(f"{self.path}: {self.kind}{format}, {_size(self.bytes)}{by}", width, "  ")
        for line in self._counts():
            head += wrapped(f"  {line}", width or _WIDTH, "    ")
        parts = ["\n".join(head)]
        if self.signatures:
            rows = [row for name, function in self.signatures.items() for row in _ports(name, function)]
            parts.append(table(("signature", "", "name", "type"), rows, (0, 1, 2, 3), width))
        if self.variables:
            rows = [_value(name, variable) for name, variable in self.variables.items()]
            parts.append(table(("variable", "type", "size", ""), rows, (0, 1, 3), width, (2,)))
        if self.kernels:
            rows = [row for target, code in self.kernels.items() for row in _programs(target, code)]
            head_row = ("machine code for", "size", "signature", "inputs")
            parts.append(table(head_row, rows, (0, 2, 3), width, (1,)))
        return "\n".join(printable(line) for line in "\n\n".join(parts).splitlines())

    def _counts(self) -> Iterator[str]:
        if self.variables:
            size = sum(v.bytes for v in self.variables.values())
            yield counted(len(self.variables), "variable") + (f", {_size(size)}" if size else "")
        if self.constants:
            yield f"constants, {_size(self.constants)}"
        if self.operations:
            ranked = sorted(self.operations.items(), key=lambda each: (-each[1], each[0]))
            listed = [f"{op} {count}" for op, count in ranked[:_MOST_LISTED]]
            more = ["..."] if len(ranked) > _MOST_LISTED else []
            yield f"{counted(sum(self.operations.values()), 'operation')}: {', '.join(listed + more)}"
        if self.counters:
            yield f"{counted(len(self.counters), 'random stream')}, continued where it was saved"
        for name, value in self.details.items():
            yield f"{name}: {value}"


def summary(path: str | os.PathLike[str]) -> Summary:
    """Summarize a saved graph, or a checkpoint (`model-100.index`).

    Raises InvalidFileError or NotFoundError.
    """
    size = os.path.getsize(path) if os.path.isfile(path) else 0

    def graph(manifest: dict[str, Any], members: dict[str, memoryview]) -> Summary:
        return _graph(os.fspath(path), size, manifest, members)

    def checkpoint(manifest: dict[str, Any], members: dict[str, memoryview]) -> Summary:
        weights = safetensors.read(members[WEIGHTS], WEIGHTS)
        told = {name: VariableSummary(str(_type(v)), v[1].nbytes) for name, v in weights.items()}
        return Summary(os.fspath(path), *_head(manifest), size, variables=told)

    if os.fspath(path).endswith(_CHECKPOINT):
        return container.read(path, "checkpoint", {}, (WEIGHTS,), checkpoint)
    return container.read(path, "graph", BODY, (GRAPH, WEIGHTS), graph, KERNELS)


def _graph(path: str, size: int, manifest: dict[str, Any], members: dict[str, memoryview]) -> Summary:
    weights = safetensors.read(members[WEIGHTS], WEIGHTS)
    text = fields(
        parse(members[GRAPH], "its graph"),
        "its graph",
        {"operations": (list,), "variables": (list,)},
        {"regions": (list,)},
    )
    operations = items(text["operations"], "its operations", dict)
    counted = Counter(check(op.get("op"), "the op of an operation", str) for op in operations)
    variables = dict(_variables(items(text["variables"], "its variables", dict), operations, weights))
    constants = sum(array.nbytes for name, (_, array) in weights.items() if name not in variables)
    signatures = {name: _function(name, told) for name, told in manifest["signatures"].items()}
    counters = {n: check(v, f"the counter of {n!r}", int) for n, v in manifest["counters"].items()}
    code = {n.removeprefix(KERNELS): data for n, data in members.items() if n.startswith(KERNELS)}
    return Summary(
        path,
        *_head(manifest),
        size,
        signatures,
        variables,
        constants,
        dict(sorted(counted.items())),
        counters,
        {target: _kernels(target, data) for target, data in code.items()},
    )


def _head(manifest: Mapping[str, Any]) -> tuple[str, int, str]:
    return manifest["kind"], manifest["format"], manifest["producer"]


def _function(name: str, told: Any) -> FunctionSummary:
    what = f"its signature {name!r}"
    kinds = {"inputs": (dict,), "outputs": (dict,), "structure": (str,), "step": (str, type(None))}
    told = fields(told, what, kinds)

    def types(ports: Mapping[str, Any]) -> dict[str, str]:
        checked = {name: fields(port, f"{name!r} of {what}", _PORT) for name, port in ports.items()}
        return {n: str(type_of([p["dtype"], p["shape"]], f"{n!r} of {what}")) for n, p in checked.items()}

    return FunctionSummary(types(told["inputs"]), types(told["outputs"]), told["structure"], told["step"])


def _variables(
    told: Iterable[dict[str, Any]], operations: Iterable[dict[str, Any]], weights: Mapping[str, Stored]
) -> Iterable[tuple[str, VariableSummary]]:
    declared = {op.get("name"): op.get("outputs") for op in operations if op.get("op") == "variable"}
    for record in told:
        name = check(record.get("name"), "the name of a variable", str)
        outputs = items(declared.get(name), f"the outputs of {name!r}", list)
        if name in weights:
            type, size = _type(weights[name]), weights[name][1].nbytes
        else:
            type, size = type_of(outputs[0] if outputs else [], f"the type of {name!r}"), 0
        has_value = record.get("empty") is not True
        yield name, VariableSummary(str(type), size, has_value, record.get("trainable") is True)


def _kernels(target: str, member: memoryview) -> KernelsSummary:
    # Machine code is looked at by what runs it, which takes long to import.
    if target.startswith(GPU_TARGETS):
        from staticgraph.runtime.files.code.gpu import described
    else:
        from staticgraph.runtime.files.code.cpu import described
    return KernelsSummary(len(member), *described(member))


def _type(stored: Stored) -> TensorType:
    return TensorType(stored[0], stored[1].shape)


def _ports(name: str, function: FunctionSummary) -> Iterator[tuple[str, ...]]:
    """The rows of a signature, which name it once."""
    told = [("takes", name, type) for name, type in function.inputs.items()]
    told += [("returns", name, type) for name, type in function.outputs.items()]
    told += [("runs", function.step, "")] if function.step is not None else []
    for number, row in enumerate(told or [("takes", "nothing", "")]):
        yield ("" if number else name, *row)


def _programs(target: str, code: KernelsSummary) -> Iterator[tuple[str, ...]]:
    """The rows of the machine code for a target."""
    for number, program in enumerate(code.programs):
        feeds = ", ".join(f"{name}: {type}" for name, type in program["feeds"].items())
        yield (*(("", "") if number else (target, _size(code.bytes))), program["signature"], feeds)


def _value(name: str, variable: VariableSummary) -> tuple[str, ...]:
    """The row of a variable."""
    trained = ["trained"] if variable.trainable else []
    if not variable.has_value:
        return name, variable.type, "", ", ".join([*trained, "no value here"])
    return name, variable.type, _size(variable.bytes), "".join(trained)


def _size(count: int) -> str:
    """Bytes as people read them."""
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
