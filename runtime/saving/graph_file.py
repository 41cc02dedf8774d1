"""A saved graph: the operations that outputs and step need, values of variables, counters of random ops.

    manifest.json         signature, counters, checksums
    graph.json            operations and variables            (graph_json)
    weights.safetensors   values of variables by name, and large constants as `operation:attribute`

Sizes that were unknown when the graph was built are unknown in the file: a loaded graph is compiled for what
it is fed.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

from staticgraph.compiler.graph.errors import InvalidFileError, SaveError, layout
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.graph import Graph, session_stack
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import TensorType, compatible
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.runtime.memory import from_storage, to_storage
from staticgraph.runtime.saving import container, graph_json, safetensors
from staticgraph.runtime.saving.attributes import encode_type, type_of
from staticgraph.runtime.saving.restored_variable import RestoredVariable
from staticgraph.runtime.saving.safetensors import Stored
from staticgraph.runtime.saving.signature import STRUCTURES, Signature
from staticgraph.runtime.saving.strict_json import check, fields
from staticgraph.runtime.saving.values import collect, owned
from staticgraph.runtime.session import Session
from staticgraph.runtime.variables import VariableStore

_GRAPH, _WEIGHTS = "graph.json", "weights.safetensors"


def write(path: str | os.PathLike[str], signature: Signature, session: Session | None) -> None:
    """Save what `signature` names, with the values of variables in `session`."""
    operations = signature.operations
    variables = [op for op in operations if op.definition.name == "variable"]
    drawn = [op for op in operations if _continues(op)]
    session = session or _default_session(signature.graph, variables)
    graph, constants = graph_json.write(operations, [_variable_record(op) for op in variables])
    with session.held() if session is not None else nullcontext(VariableStore()) as store:
        tensors = collect({op.name: op for op in variables}, store)
        tensors |= {key: (c.dtype, to_storage(c.array, c.dtype)) for key, c in constants.items()}
        body = {
            "signature": _signature_record(signature),
            "counters": {op.name: int(store.random_state(op)[0]) for op in drawn},
        }
        container.write(path, "graph", body, {_GRAPH: [graph], _WEIGHTS: safetensors.write(tensors)})


def read(path: str | os.PathLike[str]) -> tuple[Signature, Session]:
    """The signature in a new graph, and a session with the values. InvalidFileError, NotFoundError."""
    kinds = {"signature": (dict,), "counters": (dict,)}
    return container.read(path, "graph", kinds, (_GRAPH, _WEIGHTS), _restored)


def _default_session(graph: Graph, variables: list[Operation]) -> Session | None:
    """The default session, where there is one for this graph; values of variables cannot be had without."""
    for session in reversed(session_stack()):
        if session.graph is graph:
            return session
    if variables:
        names = ", ".join(op.name for op in variables[:3]) + (", ..." if len(variables) > 3 else "")
        hint = "pass session=, or save inside `with sg.Session():`"
        raise SaveError(
            layout(f"the values of {names} are in a session, and none is open", user_frame(), hint=hint)
        )
    return None


def _continues(op: Operation) -> bool:
    """Whether a random op goes on where it was: without any seed it is to differ from process to process."""
    return op.definition.effect is Effect.RANDOM and bool(op.attrs.get("seed") or op.attrs.get("seed2"))


def _variable_record(op: Operation) -> dict[str, Any]:
    variable = op.graph.variables.get(op.name)
    keys = [
        k
        for k in op.graph.get_all_collection_keys()
        if any(v is variable for v in op.graph.get_collection(k))
    ]
    return {
        "name": op.name,
        "trainable": bool(getattr(variable, "trainable", False)),
        "collections": sorted(keys) if variable is not None else [],
    }


def _signature_record(signature: Signature) -> dict[str, Any]:
    def port(tensor: Tensor) -> dict[str, Any]:
        dtype, shape = encode_type(tensor.type)
        return {"tensor": tensor.name, "dtype": dtype, "shape": shape}

    return {
        "inputs": {name: port(t) for name, t in signature.inputs.items()},
        "outputs": {name: port(t) for name, t in signature.outputs.items()},
        "structure": signature.structure,
        "step": None if signature.step is None else signature.step.name,
    }


def _restored(manifest: dict[str, Any], members: dict[str, memoryview]) -> tuple[Signature, Session]:
    weights = safetensors.read(members[_WEIGHTS], _WEIGHTS)

    def constant(key: str) -> Literal:
        if key not in weights:
            raise InvalidFileError(f"{_WEIGHTS} has no {key!r}")
        dtype, array = weights.pop(key)
        return Literal(from_storage(array, dtype).tobytes(), dtype, array.shape)

    graph, records = graph_json.read(members[_GRAPH], constant)
    session = Session(graph=graph)
    _restore_variables(graph, records, weights, session.variables)
    _restore_counters(graph, manifest["counters"], session.variables)
    return _restored_signature(graph, manifest["signature"]), session


def _restore_variables(
    graph: Graph, records: list[dict[str, Any]], weights: dict[str, Stored], store: VariableStore
) -> None:
    operations = {op.name: op for op in graph.get_operations() if op.definition.name == "variable"}
    reads = {op.inputs[0].op: op.outputs[0] for op in reversed(graph.get_operations()) if _reads(op)}
    if [r["name"] for r in records] != list(operations) or weights.keys() != operations.keys():
        raise InvalidFileError("its variables, their values and their operations are not the same")
    for record, op in zip(records, operations.values(), strict=True):
        variable = RestoredVariable(op, record["trainable"], reads.get(op))
        graph.variables[op.name] = variable
        graph.add_to_collections(record["collections"], variable)
        dtype, array = weights[op.name]
        if dtype is not op.outputs[0].dtype or not compatible(array.shape, op.outputs[0].type.shape):
            found = TensorType(dtype, array.shape)
            raise InvalidFileError(
                f"the value of {op.name!r} is {found}, and the variable {op.outputs[0].type}"
            )
        store.commit(op, owned(weights[op.name]))


def _reads(op: Operation) -> bool:
    return op.definition.name == "read_variable" and op.region is None


def _restore_counters(graph: Graph, counters: dict[str, Any], store: VariableStore) -> None:
    for name, value in counters.items():
        op = graph_json.operation(graph, name)
        if not _continues(op) or not 0 <= check(value, f"the counter of {name!r}", int) < 2**64:
            raise InvalidFileError(f"{name!r} cannot have the counter {value}")
        store.random_state(op)[0] = value


def _restored_signature(graph: Graph, record: Any) -> Signature:
    kinds = {"inputs": (dict,), "outputs": (dict,), "structure": (str,), "step": (str, type(None))}
    record = fields(record, "its signature", kinds)

    def ports(kind: str) -> dict[str, Tensor]:
        found = {}
        for name, port in record[kind].items():
            port = fields(
                port,
                f"{name!r} of its {kind}",
                {"tensor": (str,), "dtype": (str,), "shape": (list, type(None))},
            )
            found[name] = tensor = graph_json.tensor(graph, port["tensor"])
            if tensor.type != type_of([port["dtype"], port["shape"]], f"{name!r} of its {kind}"):
                raise InvalidFileError(f"{name!r} of its {kind} is of another type than {tensor.name}")
        return found

    if record["structure"] not in STRUCTURES or (
        record["structure"] == "one" and len(record["outputs"]) != 1
    ):
        raise InvalidFileError(
            f"{record['structure']!r} is not how its {len(record['outputs'])} outputs can be returned"
        )
    step = None if record["step"] is None else graph_json.operation(graph, record["step"])
    return Signature(graph, ports("inputs"), ports("outputs"), record["structure"], step)
