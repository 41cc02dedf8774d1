"""A saved graph: the operations that its signatures need, values of variables, counters of random ops.

    manifest.json         signatures, counters, checksums
    graph.json            operations and variables            (graph_json)
    weights.safetensors   values of variables by name, and large constants as `operation:attribute`
    kernels/<target>      machine code, for those who trust the file    (kernels)

Sizes that were unknown when the graph was built are unknown in the file: a loaded graph is compiled for what
it is fed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, string
from staticgraph.compiler.graph.errors import InvalidFileError, SaveError, misuse
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.graph import Graph, session_stack
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.operators import Operators
from staticgraph.compiler.graph.recording.calls import snapshot
from staticgraph.compiler.graph.shapes import TensorShape, TensorType, compatible
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.files import container, graph_json
from staticgraph.runtime.files.arrays import safetensors
from staticgraph.runtime.files.arrays.safetensors import Stored
from staticgraph.runtime.files.attributes import (
    Kinds,
    check,
    decode_strings,
    encode,
    encode_type,
    fields,
    type_of,
)
from staticgraph.runtime.files.container import cut_short
from staticgraph.runtime.files.signature import STRUCTURES, BoundFunction, InputShapes, operations_of
from staticgraph.runtime.files.values import collect, owned, shared
from staticgraph.runtime.session import Session
from staticgraph.runtime.state.memory import from_storage, to_storage
from staticgraph.runtime.state.variables import VariableStore


class RestoredVariable(Operators):
    """Stands in a loaded graph where the `Variable` stood. It has no initializer, it has a value."""

    def __init__(self, op: Operation, trainable: bool, read: Tensor | None) -> None:
        self.op = op
        self.trainable = trainable
        self._read = read if read is not None else self.handle

    @property
    def handle(self) -> Tensor:
        """The output of the variable's operation: what operations that assign take as their first input."""
        return self.op.outputs[0]

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def recorder(self) -> Graph:
        return self.op.graph

    @property
    def name(self) -> str:
        return self.handle.name

    @property
    def dtype(self) -> DType:
        return self.handle.dtype

    @property
    def type(self) -> TensorType:
        return self.handle.type

    @property
    def shape(self) -> TensorShape:
        return self.handle.shape

    def get_shape(self) -> TensorShape:
        return self.shape

    def to_tensor(self) -> Tensor:
        """Return the tensor that operations take in place of this variable."""
        return self._read

    def value(self) -> Tensor:
        """Return the value that the variable has here, as a tensor."""
        return self.read_value()

    def read_value(self) -> Tensor:
        """Return the value that the variable has here, as a tensor."""
        value: Tensor = snapshot(self.handle)
        return value

    def eval(self, session: Any = None) -> Any:
        """The value in `session`, or in the default session, as an array."""
        return self._read.eval(session=session)

    def __repr__(self) -> str:
        return f"<sg.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, from a file>"


GRAPH, WEIGHTS, KERNELS = "graph.json", "weights.safetensors", "kernels/"
BODY: Kinds = {"signatures": (dict,), "counters": (dict,)}


@dataclass(frozen=True, slots=True)
class SavedGraph:
    """Content of a file. `resume`: True if random ops without a seed continue where they were, too."""

    signatures: dict[str, BoundFunction]
    session: Session
    resume: bool = False

    @property
    def graph(self) -> Graph:
        return self.session.graph


Adopt = Callable[[Mapping[str, bytes], Mapping[str, BoundFunction], Session], None]


def write(
    path: str | os.PathLike[str],
    signatures: Mapping[str, BoundFunction],
    session: Session | None,
    resume: bool,
    kernels: Sequence[str],
    shapes: InputShapes | Sequence[InputShapes],
) -> None:
    """Save what `signatures` name, with the values of variables in `session`, and with machine code for the
    targets `kernels`, for inputs of these `shapes`; see `staticgraph.saved.saving.save`.
    """
    operations = operations_of(signatures.values())
    code = _compiled(signatures, kernels, shapes) if kernels else {}
    initialized = {op for s in signatures.values() for op in _initialized(s)}
    with session.held() if session is not None else nullcontext(VariableStore()) as store:
        valued = {op for op in operations if op in store or op not in initialized}
        body = {
            "signatures": {name: _signature_record(s) for name, s in signatures.items()},
            "counters": counters(operations, store, resume),
        }
        container.write(path, "graph", body, {**members(operations, valued, store), **code})


def members(
    operations: Sequence[Operation],
    valued: Collection[Operation],
    store: VariableStore,
    given: Collection[Operation] = (),
) -> dict[str, list[Any]]:
    """The members for these operations, and for the values of those variables that are among `valued`.

    `given`: operations whose outputs are fed.
    """
    variables = [op for op in operations if op.definition.name == "variable"]
    present = {op.name: op for op in variables if op in valued}
    tensors = collect(present, store)
    texts = {name: tensors.pop(name)[1] for name, op in present.items() if op.outputs[0].dtype is string}
    records = [_variable_record(op, op.name in present, texts.get(op.name)) for op in variables]
    graph, constants = graph_json.write(operations, records, given)
    tensors |= {key: (c.dtype, to_storage(c.array, c.dtype)) for key, c in constants.items()}
    return {GRAPH: [graph], WEIGHTS: safetensors.write(tensors)}


def counters(operations: Sequence[Operation], store: VariableStore, resume: bool) -> dict[str, int]:
    """Return the positions of random ops in their streams, by name. Those without a seed need `resume`."""
    drawn = [op for op in operations if op.definition.effect is Effect.RANDOM and (resume or _is_seeded(op))]
    return {op.name: int(store.random_state(op)[0]) for op in drawn}


def _compiled(
    signatures: Mapping[str, BoundFunction],
    kernels: Sequence[str],
    shapes: InputShapes | Sequence[InputShapes],
) -> dict[str, list[Any]]:
    """The members with machine code."""
    from staticgraph.runtime.files.code.aot import compile_for  # imports the compiler

    targets = [kernels] if isinstance(kernels, str) else kernels
    if not isinstance(targets, Sequence) or not all(isinstance(target, str) for target in targets):
        text = f"kernels={kernels!r}: a list of processors is expected"
        raise misuse(TypeError, text, hint='kernels=["native"] is for this one')
    made = compile_for(signatures, targets, [shapes] if isinstance(shapes, Mapping) else shapes)
    return {f"{KERNELS}{target}": pieces for target, pieces in made.items()}


def read(path: str | os.PathLike[str], mapped: bool = False, adopt: Adopt | None = None) -> SavedGraph:
    """Read the file into a new graph and a new session.

    Args:
        path: The file.
        mapped: If True, large values stay in the mapped file.
        adopt: Called with the machine code by target, the signatures and the session.

    Raises:
        NotFoundError: The file does not exist.
        InvalidFileError: The file is invalid.
    """

    def restored(manifest: dict[str, Any], members: dict[str, memoryview]) -> SavedGraph:
        return _restored(manifest, members, mapped, adopt)

    return container.read(path, "graph", BODY, (GRAPH, WEIGHTS), restored, KERNELS, writable=mapped)


def session_of(signatures: Mapping[str, BoundFunction]) -> Session | None:
    """The default session, where there is one for this graph; values of variables cannot be had without."""
    graph = next(iter(signatures.values())).graph
    for session in reversed(session_stack()):
        if session.graph is graph:
            found: Session = session
            return found
    variables = [op for op in operations_of(signatures.values()) if op.definition.name == "variable"]
    if variables:
        names = ", ".join(op.name for op in variables[:3]) + (", ..." if len(variables) > 3 else "")
        hint = "pass session=, or save inside `with sg.Session():`"
        raise misuse(SaveError, f"the values of {names} are in a session, and none is open", hint)
    return None


def _initialized(signature: BoundFunction) -> set[Operation | None]:
    """The variables that a call gives a value without asking for the one before. They may have none yet."""
    if signature.structure != "none":
        return set()
    inside = operations_of([signature])
    assigned = {variable_of(op.tensors[0]) for op in inside if op.definition.name == "assign"}
    reads = (op for op in inside if op.definition.name in ("read_variable", "read_value"))
    return assigned - {variable_of(op.tensors[0]) for op in reads}


def _is_seeded(op: Operation) -> bool:
    """Return True if a random op has a seed, and so continues where it was.

    Without any seed, its numbers are to differ from process to process.
    """
    return bool(op.attrs.get("seed") or op.attrs.get("seed2"))


def _variable_record(op: Operation, present: bool, text: np.ndarray | None) -> dict[str, Any]:
    """Return the JSON record of a variable.

    A variable without a value is marked "empty". The value of a variable of strings is in its record.
    """
    variable = op.graph.variables.get(op.name)
    keys = [
        k
        for k in op.graph.get_all_collection_keys()
        if any(v is variable for v in op.graph.get_collection(k))
    ]
    record = {
        "name": op.name,
        "trainable": bool(getattr(variable, "trainable", False)),
        "collections": sorted(keys) if variable is not None else [],
    }
    if text is not None:
        record["text"] = encode(Literal.of(text, string), lambda _: "")
    return record if present else {**record, "empty": True}


def _signature_record(signature: BoundFunction) -> dict[str, Any]:
    def port(tensor: Tensor) -> dict[str, Any]:
        dtype, shape = encode_type(tensor.type)
        return {"tensor": tensor.name, "dtype": dtype, "shape": shape}

    return {
        "inputs": {name: port(t) for name, t in signature.inputs.items()},
        "outputs": {name: port(t) for name, t in signature.outputs.items()},
        "structure": signature.structure,
        "step": None if signature.step is None else signature.step.name,
    }


def _restored(
    manifest: dict[str, Any], members: dict[str, memoryview], mapped: bool, adopt: Adopt | None
) -> SavedGraph:
    session, counted = restored_state(manifest["counters"], members, mapped)
    graph = session.graph
    if not manifest["signatures"]:
        raise InvalidFileError("it has no signatures")
    signatures = {name: _signature(graph, name, record) for name, record in manifest["signatures"].items()}
    if adopt is not None:
        code = {n.removeprefix(KERNELS): bytes(v) for n, v in members.items() if n.startswith(KERNELS)}
        adopt(code, signatures, session)
    return SavedGraph(signatures, session, not all(map(_is_seeded, counted)))


def restored_state(
    counters: dict[str, Any], members: Mapping[str, memoryview], mapped: bool = False
) -> tuple[Session, list[Operation]]:
    """A session with the graph, the variables and the counters; and the random ops that have one."""
    weights = safetensors.read(members[WEIGHTS], WEIGHTS)

    def constant(key: str) -> Literal:
        if key not in weights:
            raise InvalidFileError(f"{WEIGHTS} has no {key!r}")
        dtype, array = weights.pop(key)
        return Literal(from_storage(array, dtype).tobytes(), dtype, array.shape)

    graph, records = graph_json.read(members[GRAPH], constant)
    session = Session(graph=graph)
    _restore_variables(graph, records, weights, session.variables, mapped)
    if mapped:
        session.variables.guard(cut_short(members[WEIGHTS]))
    return session, _restore_counters(graph, counters, session.variables)


def _restore_variables(
    graph: Graph,
    records: list[dict[str, Any]],
    weights: dict[str, Stored],
    store: VariableStore,
    mapped: bool,
) -> None:
    operations = {op.name: op for op in graph.get_operations() if op.definition.name == "variable"}
    reads = {op.tensors[0].op: op.outputs[0] for op in reversed(graph.get_operations()) if _reads(op)}
    for record in records:
        if record["text"] is not None:
            if record["name"] in weights:
                raise InvalidFileError(f"the variable {record['name']!r} has two values")
            told = decode_strings(record["text"], f"the text of {record['name']!r}")
            weights[record["name"]] = string, told
    present = {r["name"] for r in records if not r["empty"]}
    if [r["name"] for r in records] != list(operations) or weights.keys() != present:
        raise InvalidFileError("its variables, their values and their operations are not the same")
    for record, op in zip(records, operations.values(), strict=True):
        variable = RestoredVariable(op, record["trainable"], reads.get(op))
        graph.variables[op.name] = variable
        graph.add_to_collections(record["collections"], variable)
        if op.name not in weights:
            continue
        dtype, array = weights[op.name]
        if dtype is not op.outputs[0].dtype or not compatible(array.shape, op.outputs[0].type.shape):
            found = TensorType(dtype, array.shape)
            raise InvalidFileError(
                f"the value of {op.name!r} is {found}, and the variable {op.outputs[0].type}"
            )
        store.commit(op, shared(weights[op.name]) if mapped else owned(weights[op.name]))


def _reads(op: Operation) -> bool:
    return op.definition.name == "read_variable" and op.region is None


def _restore_counters(graph: Graph, counters: dict[str, Any], store: VariableStore) -> list[Operation]:
    """Set the counters; the operations that they are of."""
    found = []
    for name, value in counters.items():
        op = graph_json.operation(graph, name)
        random = op.definition.effect is Effect.RANDOM
        if not random or not 0 <= check(value, f"the counter of {name!r}", int) < 2**64:
            raise InvalidFileError(f"{name!r} cannot have the counter {value}")
        store.random_state(op)[0] = value
        found.append(op)
    return found


def _signature(graph: Graph, name: str, record: Any) -> BoundFunction:
    what = f"its signature {name!r}"
    kinds = {"inputs": (dict,), "outputs": (dict,), "structure": (str,), "step": (str, type(None))}
    record = fields(record, what, kinds)

    def ports(kind: str) -> dict[str, Tensor]:
        found = {}
        for port_name, port in record[kind].items():
            label = f"{port_name!r} of the {kind} of {what}"
            port = fields(port, label, {"tensor": (str,), "dtype": (str,), "shape": (list, type(None))})
            found[port_name] = tensor = graph_json.tensor(graph, port["tensor"])
            if tensor.type != type_of([port["dtype"], port["shape"]], label):
                raise InvalidFileError(f"{label} is of another type than {tensor.name}")
            if tensor.op.region is not None:
                raise InvalidFileError(f"{label} is a part of a loop or branch")
        return found

    structure, count = record["structure"], len(record["outputs"])
    fits = {"one": count == 1, "none": count == 0 and record["step"] is not None}.get(structure, count > 0)
    if structure not in STRUCTURES or not fits:
        raise InvalidFileError(f"{structure!r} is not how the {count} outputs of {what} can be returned")
    if not name.isprintable() or not name:
        raise InvalidFileError(f"{name!r} is not a name for a signature")
    step = None if record["step"] is None else graph_json.operation(graph, record["step"])
    if step is not None and step.region is not None:
        raise InvalidFileError(f"the step of {what} is a part of a loop or branch")
    return BoundFunction(graph, ports("inputs"), ports("outputs"), structure, step)
