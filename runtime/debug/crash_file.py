"""A run that failed, in a file: all that is needed to do it again, and the error that it ended with.

    manifest.json         fetches, feeds, the error, counters of random ops, switches, versions
    graph.json            the operations that the run needs
    weights.safetensors   the variables as they were before the run
    feeds.safetensors     what was fed, by the name of the tensor

Like every saved graph it is data. What a file cannot hold, such as a queue or a function of Python's, is a
placeholder in it, which is fed what the run had got from it. What had not run yet is left out, with all that
depends on it; in its place the file computes what it would have been given.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import InvalidFileError, NotFoundError, OpError
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.shapes import TensorType, compatible
from staticgraph.compiler.graph.tensor import Operation, Tensor, needed, outermost, whole, with_inner
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.lazy_names import extension
from staticgraph.runtime.failures.crash_dump import KeptRun
from staticgraph.runtime.files import container, graph_file, graph_json
from staticgraph.runtime.files.arrays import safetensors
from staticgraph.runtime.files.arrays.safetensors import Stored
from staticgraph.runtime.files.attributes import Kinds, check, decode_strings, encode, fields, items, parse
from staticgraph.runtime.files.container import read_mapped
from staticgraph.runtime.files.graph_file import GRAPH, WEIGHTS
from staticgraph.runtime.files.values import owned
from staticgraph.runtime.session import Session
from staticgraph.runtime.state.memory import from_storage, to_storage
from staticgraph.runtime.state.variables import VariableStore

KIND, FEEDS = "failure", "feeds.safetensors"
_BODY: Kinds = {
    "run": (dict,),
    "error": (dict,),
    "counters": (dict,),
    "switches": (dict,),
    "versions": (dict,),
}
_RUN: Kinds = {"fetches": (list,), "targets": (list,), "texts": (dict,), "left_out": (list,)}
_ERROR: Kinds = {"class": (str,), "message": (str,), "operation": (str, type(None))}


@dataclass(frozen=True, slots=True)
class FailedRun:
    """The inputs of a run: fetched tensors, further operations (`targets`), and the fed values."""

    fetches: tuple[Tensor, ...]
    targets: tuple[Operation, ...]
    feeds: Mapping[Tensor, np.ndarray]
    left_out: tuple[str, ...] = ()  # operations that no file can hold, and that had not run


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed run from a file. `error` is the name of its class, `operation` the one at fault, if known."""

    run: FailedRun
    session: Session
    error: str
    message: str
    operation: str | None
    switches: Mapping[str, str]
    versions: Mapping[str, str]


@extension("write_crash_dump")
def write_crash_dump(
    path: Path,
    run: KeptRun,
    arrays: Sequence[np.ndarray],
    computed: Mapping[Tensor, np.ndarray],
    store: VariableStore,
    error: Exception,
    switches: Mapping[str, str],
) -> None:
    """Write the file of a run of a session. See `CrashWriter`."""
    feeds = dict(zip(run.feeds, arrays, strict=True))
    failed = FailedRun(tuple(run.fetches.tensors), tuple(run.fetches.targets), feeds)
    write(path, failed, computed, store, error, switches)


def write(
    path: str | os.PathLike[str],
    run: FailedRun,
    computed: Mapping[Tensor, np.ndarray],
    store: VariableStore,
    error: BaseException,
    switches: Mapping[str, str],
) -> None:
    """Write the file. `computed`: what had been made in Python when the run failed. SaveError if that is
    not possible.
    """
    held = _without_python(run, computed)
    roots = [*(outermost(t) for t in (*held.fetches, *held.feeds)), *held.targets]
    operations, stand_ins = _saved(roots)
    valued = {op for op in operations if op in store}
    message = error.message if isinstance(error, OpError) else str(error)
    at_fault = getattr(error, "op", None)
    fed = held.feeds.items()
    numbers = {t.name: (t.dtype, to_storage(a, t.dtype)) for t, a in fed if t.dtype is not string}
    body = {
        "run": {
            "fetches": [t.name for t in held.fetches],
            "targets": [op.name for op in held.targets],
            "texts": {t.name: _text(a) for t, a in fed if t.dtype is string},
            "left_out": list(held.left_out),
        },
        "error": {
            "class": type(error).__name__,
            "message": message,
            "operation": at_fault.name if isinstance(at_fault, Operation) else None,
        },
        "counters": graph_file.counters(operations, store, resume=True),
        "switches": dict(switches),
        "versions": _versions(),
    }
    members = graph_file.members(operations, valued, store, stand_ins)
    container.write(path, KIND, body, {**members, FEEDS: safetensors.write(numbers)})


def read(path: str | os.PathLike[str]) -> Failure:
    """Read the file into a new graph and a new session. Raises InvalidFileError or NotFoundError."""
    return container.read(path, KIND, _BODY, (GRAPH, WEIGHTS, FEEDS), _restored)


def is_failure(path: str | os.PathLike[str]) -> bool:
    """Return True if the file is a crash dump, or was meant to be one."""

    def kind(data: memoryview) -> Any:
        return parse(container.unpack(data)["manifest.json"], "its manifest")["kind"]

    try:
        return bool(read_mapped(path, KIND, kind) == KIND)
    except (InvalidFileError, NotFoundError, LookupError, TypeError):
        return False


def _text(array: np.ndarray) -> Any:
    return encode(Literal.of(array, string), lambda _: "")


def _versions() -> dict[str, str]:
    from importlib import metadata  # takes milliseconds, and only writers need it

    found = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for name in ("numpy", "llvmlite"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


# What a file cannot hold


def _stays_outside(op: Operation) -> bool:
    """Return True if no file can hold an operation, or something in its regions."""
    return op.region is None and any(map(graph_json.unsaveable, with_inner([op])))


def _without_python(run: FailedRun, computed: Mapping[Tensor, np.ndarray]) -> FailedRun:
    """The part of a run that a file can hold. It fetches the inputs of what had not run and stays outside."""
    known = {**run.feeds, **{t: a for t, a in computed.items() if _stays_outside(t.op)}}
    roots = [*(outermost(t) for t in run.fetches if t not in known), *run.targets]
    lost: dict[Operation, None] = {}
    for op in needed(roots, known):
        outside = _stays_outside(op) and not (op.outputs and all(t in known for t in op.outputs))
        if outside or any(t.op in lost and t not in known for t in op.all_inputs):
            lost[op] = None

    def remains(tensor: Tensor) -> bool:
        return tensor in known or outermost(tensor) not in lost

    first = [op for op in lost if _stays_outside(op)]
    taken = (t for op in first for t in op.all_inputs if remains(t) and variable_of(t) is None)
    fetches = dict.fromkeys([*(t for t in run.fetches if remains(t)), *taken])
    targets = tuple(op for op in run.targets if op not in lost)
    return FailedRun(tuple(fetches), targets, known, tuple(op.name for op in first))


def _saved(roots: Iterable[Operation]) -> tuple[list[Operation], set[Operation]]:
    """The operations of the file, and those of them that are placeholders there."""
    seen: set[Operation] = set()
    stand_ins: set[Operation] = set()
    stack = list(roots)
    while stack:
        op = stack.pop()
        if op in seen:
            continue
        seen.add(op)
        if _stays_outside(op):
            stand_ins.add(op)
        else:
            stack += [*(t.op for t in op.all_inputs), *op.controls]
    inside = whole(seen - stand_ins)
    return sorted({*inside, *stand_ins}, key=lambda op: op.id), stand_ins


# Reading


def _restored(manifest: dict[str, Any], members: dict[str, memoryview]) -> Failure:
    session, _ = graph_file.restored_state(manifest["counters"], members)
    graph = session.graph
    told = fields(manifest["run"], "its run", _RUN)
    values: dict[str, Stored] = safetensors.read(members[FEEDS], FEEDS)
    for name, text in told["texts"].items():
        values[name] = string, decode_strings(text, f"the text fed to {name!r}")
    feeds: dict[Tensor, np.ndarray] = {}
    for name, stored in values.items():
        tensor, found = graph_json.tensor(graph, name), TensorType(stored[0], stored[1].shape)
        if found.dtype is not tensor.dtype or not compatible(found.shape, tensor.type.shape):
            raise InvalidFileError(f"{name!r} is {tensor.type} and fed {found}")
        feeds[tensor] = np.asarray(from_storage(owned(stored), stored[0]))
    fetches = tuple(graph_json.tensor(graph, name) for name in items(told["fetches"], "its fetches", str))
    targets = tuple(graph_json.operation(graph, name) for name in items(told["targets"], "its targets", str))
    if any(op.region is not None for op in targets):
        raise InvalidFileError("one of its targets is a part of a loop or branch")
    error = fields(manifest["error"], "its error", _ERROR)
    run = FailedRun(fetches, targets, feeds, tuple(items(told["left_out"], "what it left out", str)))
    return Failure(
        run,
        session,
        error["class"],
        error["message"],
        error["operation"],
        _texts(manifest["switches"], "its switches"),
        _texts(manifest["versions"], "its versions"),
    )


def _texts(value: Any, what: str) -> dict[str, str]:
    for key, text in check(value, what, dict).items():
        check(text, f"{key!r} of {what}", str)
    return dict(value)
