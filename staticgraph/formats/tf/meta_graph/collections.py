"""Collections of a graph as messages: names of nodes, texts, numbers, and variables with all their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from staticgraph.building.framework import GraphKeys
from staticgraph.compiler.graph.errors import InvalidFileError, headline, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.lazy_names import extension
from staticgraph.formats.tf.log import log
from staticgraph.formats.tf.messages.meta_graph import CollectionDef
from staticgraph.formats.tf.messages.variable import SaveSliceInfoDef, VariableDef
from staticgraph.formats.tf.messages.wire import DecodeError
from staticgraph.state.variables import Variable

_VARIABLES = {
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.METRIC_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.GLOBAL_STEP,
    GraphKeys.EVAL_STEP,
}
_NOT_KEPT = {GraphKeys.SAVERS, GraphKeys.QUEUE_RUNNERS, GraphKeys.COND_CONTEXT, GraphKeys.WHILE_CONTEXT}


class ProtoFunctions(NamedTuple):
    """The class of messages for the items of a collection, and the functions to and from them."""

    proto_type: Any
    to_proto: Callable[..., Any] | None
    from_proto: Callable[..., Any] | None


PROTO_FUNCTIONS: dict[str, ProtoFunctions] = {}  # by keys of collections, as programs register them


def proto_functions(key: str) -> ProtoFunctions:
    """Return what is registered for a collection, Nones if nothing is."""
    return PROTO_FUNCTIONS.get(key, ProtoFunctions(None, None, None))


def fill_collections(into: Any, graph: Graph, keys: Sequence[str] | None = None) -> None:
    """Add the collections of `graph`, or those with `keys`, to the map of a message.

    What cannot be said in a message is left out with a warning, as TensorFlow does.
    """
    for key in graph.get_all_collection_keys() if keys is None else keys:
        # Entries of tables are in checkpoints; in a graph they are the tables, which a program makes again.
        items = [item for item in graph.get_collection(key) if not hasattr(item, "fitting")]
        if not items or key in _NOT_KEPT:
            continue
        try:
            message = _message(key, items)
        except (TypeError, ValueError) as error:
            log.warning("collection %r is not saved: %s", key, error)
        else:
            into[key].CopyFrom(message)


def _message(key: str, items: list[Any]) -> CollectionDef:
    if (to_proto := proto_functions(key).to_proto) is not None:
        messages = [made for item in items if (made := to_proto(item, export_scope=None)) is not None]
        return CollectionDef(bytes_list={"value": [made.SerializeToString() for made in messages]})
    if key in _VARIABLES and all(isinstance(item, Variable) for item in items):
        return CollectionDef(bytes_list={"value": [_serialized(v) for v in items]})
    match items[0]:
        case str() | bytes():
            texts = [item.encode() if isinstance(item, str) else item for item in items]
            return CollectionDef(bytes_list={"value": texts})
        case int():
            return CollectionDef(int64_list={"value": items})
        case float():
            return CollectionDef(float_list={"value": items})
    return CollectionDef(node_list={"value": [_name(item) for item in items]})


def _serialized(variable: Variable) -> bytes:
    told = variable_def(variable)
    assert told is not None  # there is no scope
    return told.SerializeToString()


def _name(item: Any) -> str:
    if not isinstance(item, Tensor | Operation | Variable):
        raise misuse(TypeError, f"a {type(item).__name__} has no name in a graph")
    return item.name


@extension("variable_def")
def variable_def(variable: Variable, export_scope: str | None = None) -> VariableDef | None:
    """The message that stands for a variable.

    Args:
        variable: The variable.
        export_scope: A name scope that is taken off the names.

    Returns:
        The message, or None for a variable outside of the scope.
    """
    scope = f"{export_scope}/" if export_scope else ""
    if not variable.name.startswith(scope):
        return None
    info = variable._save_slice_info
    return VariableDef(
        save_slice_info_def=info and SaveSliceInfoDef(**vars(info)),
        variable_name=variable.name.removeprefix(scope),
        initializer_name=variable.initializer.name.removeprefix(scope),
        snapshot_name=variable.to_tensor().name.removeprefix(scope),
        initial_value_name=variable.initial_value.name.removeprefix(scope),
        trainable=variable.trainable,
    )


def read_collections(collections: Any, graph: Graph, scope: str, has: Callable[[str], bool]) -> None:
    """Add what a message tells to the collections of `graph`, whose names lie in `scope`.

    `has`: whether the node of this name, as the message says it, is in the graph.
    """
    variables: dict[bytes, Variable] = {}
    for key in sorted(collections):
        told = collections[key]
        kind = told.WhichOneof("kind")
        if kind is None or key in _NOT_KEPT:
            continue
        for value in getattr(told, kind).value:
            match kind:
                case "node_list":
                    if has(value):
                        graph.add_to_collection(key, graph.as_graph_element(f"{scope}{value}"))
                case "bytes_list" if key in _VARIABLES:
                    if value not in variables:
                        variables[value] = _variable(value, scope)
                    graph.add_to_collection(key, variables[value])
                case "bytes_list" if (functions := proto_functions(key)).from_proto is not None:
                    message = functions.proto_type()
                    message.ParseFromString(value)
                    item = functions.from_proto(message, import_scope=scope.rstrip("/"))
                    graph.add_to_collection(key, item)
                case "any_list":
                    log.warning("collection %r holds messages of other types: they are left out", key)
                    break
                case _:
                    graph.add_to_collection(key, value)


def _variable(data: bytes, scope: str) -> Variable:
    try:
        told = VariableDef.FromString(data)
        return Variable(variable_def=told, import_scope=scope.rstrip("/"))
    except (DecodeError, KeyError, ValueError) as error:
        why = headline(error)
    raise misuse(InvalidFileError, f"a variable of the meta graph cannot be read: {why}")
