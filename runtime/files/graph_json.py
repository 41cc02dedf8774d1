"""Operations of a user's graph as JSON, one line each, and back.

    {"name":"mul","op":"multiply","inputs":["x:0","mul/y:0"],"outputs":[["float32",[null]]],"where":["net.py",3,"main"]}

Operations come in the order of construction and name only earlier ones, so a
file cannot hold a cycle. Reading looks ops up by name in the registry,
decodes attributes from a closed set of types, and asks the type rules again.

Loops and branches have regions, and a region comes after those around it:

    "regions": [null, null, 1]                        what region each region lies in
    {"name": "while/add", "region": 1, ...}           an operation inside
    "body": {"region": [1, ["while/Identity:0"], ["while/add:0"]]}     number, params, results

Anybody may have written a file, so no operation in it may reach out of the graph: running it calls no Python,
and neither reads nor writes files. Names of files are tensors, so a graph that may read files could send home
whatever its user can read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import PurePath
from typing import Any

from staticgraph.compiler.graph.errors import GraphError, InvalidFileError, SaveError, layout
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import OPS, Effect, OpDef, Role
from staticgraph.compiler.graph.provenance import Provenance, user_frame
from staticgraph.compiler.graph.recording.restore import Recorded, restorable_name, restore
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, held_regions, may_use
from staticgraph.compiler.ops.structural import changed_variables, variable_of
from staticgraph.runtime.files.attributes import (
    check,
    decode,
    dump,
    encode,
    encode_type,
    fields,
    items,
    parse,
    type_of,
)

_REQUIRED = {"name": (str,), "op": (str,), "outputs": (list,)}
_OPTIONAL = {
    "inputs": (list,),
    "operands": (dict,),
    "attrs": (dict,),
    "after": (list,),
    "device": (str,),
    "where": (list,),
    "region": (int,),
    "gradient": (str,),
}


def write(
    operations: Iterable[Operation], variables: Iterable[dict[str, Any]], given: Collection[Operation] = ()
) -> tuple[bytes, dict[str, Literal]]:
    """The text of a graph, and the arrays that are too large for it, by key.

    `given`: operations whose outputs are fed; the file has placeholders for them. SaveError for another one
    that cannot be told in JSON.
    """
    operations = list(operations)
    large: dict[str, Literal] = {}
    regions = RegionWriter(op for op in operations if op not in given)
    taken = {op.name for op in operations}
    head = f'"regions":{dump(regions.parents)},' if regions.parents else ""
    records: list[dict[str, Any]] = []
    for op in operations:
        records += _stand_in(op, taken) if op in given else [_encode(op, large, regions)]
    lines = ",\n".join(map(dump, records))
    tail = ",\n".join(map(dump, variables))
    return f'{{{head}"operations":[\n{lines}\n],"variables":[\n{tail}\n]}}\n'.encode(), large


def unsaveable(op: Operation) -> bool:
    """Return True if no file can hold an operation: it reaches out of the graph, or has a Python object."""
    if refusal(op.definition, op.attrs):
        return True
    try:
        for value in op.attrs.values():
            encode(value, lambda _: "", lambda _: [])
    except TypeError:
        return True
    return False


def _stand_in(op: Operation, taken: set[str]) -> list[dict[str, Any]]:
    """Placeholders for what an operation gives, under the same names. Adds the new names to `taken`."""
    outputs = [encode_type(t.type) for t in op.outputs]
    place = {"device": op.device, "where": _told(op.where)}
    place = {key: value for key, value in place.items() if value}
    if len(outputs) == 1:
        return [{"name": op.name, **_placeholder(outputs[0]), **place}]
    names = []
    for number in range(len(outputs)):
        name = f"{op.name}_given_{number}"
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    records = [{"name": n, **_placeholder(o), **place} for n, o in zip(names, outputs, strict=True)]
    if not outputs:
        return [{"name": op.name, "op": "no_op", "outputs": [], **place}]
    inputs = [f"{name}:0" for name in names]
    return [*records, {"name": op.name, "op": "identity_n", "inputs": inputs, "outputs": outputs, **place}]


def _placeholder(output: list[Any]) -> dict[str, Any]:
    dtype, shape = output
    return {
        "op": "placeholder",
        "attrs": {"dtype": {"dtype": dtype}, "shape": shape},
        "outputs": [output],
    }


def _told(where: Provenance | None) -> list[Any]:
    return [] if where is None else [PurePath(where.file).name, where.line, where.function]


def _encode(op: Operation, large: dict[str, Literal], regions: RegionWriter) -> dict[str, Any]:
    if not restorable_name(op.name):
        raise SaveError(layout(f"cannot save {op.name!r}: no file can hold this name", op.where))
    inside = {} if op.region is None else {"region": regions.number(op.region)}
    record = {
        "name": op.name,
        "op": op.definition.name,
        "inputs": [t.name for t in op.tensors],
        "operands": {name: t.name for name, t in op.operands.items()},
        "attrs": {name: _attribute(op, name, value, large, regions) for name, value in op.attrs.items()},
        "after": [control.name for control in op.controls],
        "device": op.device,
        "where": _told(op.where),
        "outputs": [encode_type(t.type) for t in op.outputs],
        "gradient": op.gradient,
    }
    if why := refusal(op.definition, op.attrs):
        raise _refused(op, why)
    return {key: value for key, value in record.items() if value or key in _REQUIRED} | inside


def _attribute(op: Operation, name: str, value: Any, large: dict[str, Literal], regions: RegionWriter) -> Any:
    def store(literal: Literal) -> str:
        key = f"{op.name}:{name}"  # no variable has a colon in its name
        large[key] = literal
        return key

    try:
        return encode(value, store, regions.attribute)
    except TypeError as error:
        raise _refused(op, f"its {name} is of type {error}") from None


def _refused(op: Operation, why: str) -> SaveError:
    text = f"cannot save {op.name} ({op.type}): {why}, which a file cannot hold"
    hint = "save outputs that do not need this operation"
    return SaveError(layout(text, user_frame(), [(op.name, op.where)], hint), op)


def read(data: memoryview, fetch: Callable[[str], Literal]) -> tuple[Graph, list[dict[str, Any]]]:
    """The graph that `write` was given, and what it was told of variables. `fetch` gives the large arrays."""
    parts = {"operations": (list,), "variables": (list,)}
    text = fields(parse(data, "its graph"), "its graph", parts, {"regions": (list,)})
    graph, regions = Graph(), RegionReader(text["regions"] or [])
    for record in text["operations"]:
        _restore(graph, record, fetch, regions)
    regions.finish()
    kinds = {"name": (str,), "trainable": (bool,), "collections": (list,)}
    variables = [
        fields(v, "an entry of its variables", kinds, {"empty": (bool,), "text": (dict,)})
        for v in text["variables"]
    ]
    for variable in variables:
        items(variable["collections"], f"the collections of {variable['name']!r}", str)
    return graph, variables


def _restore(graph: Graph, record: Any, fetch: Callable[[str], Literal], regions: RegionReader) -> None:
    record = fields(record, "an operation", _REQUIRED, _OPTIONAL)
    name, op = record["name"], OPS.get(record["op"])
    if op is None:
        raise InvalidFileError(f"operation {name!r} is a {record['op']!r}, which this version does not know")
    attrs = {
        attr: decode(value, f"{attr!r} of {name!r}", fetch, partial(_region, graph, regions, attr, name))
        for attr, value in (record["attrs"] or {}).items()
    }
    if why := refusal(op, attrs):
        raise InvalidFileError(f"{name!r} cannot be in a file: {why}")
    operands = (record["operands"] or {}).items()
    recorded = Recorded(
        op,
        name,
        tuple(tensor(graph, t) for t in record["inputs"] or ()),
        {param: tensor(graph, t) for param, t in operands},
        attrs,
        tuple(operation(graph, c) for c in record["after"] or ()),
        _printable(record["device"] or "", f"the device of {name!r}"),
        _where(record["where"], name),
        tuple(type_of(t, f"an output of {name!r}") for t in record["outputs"]),
        regions.around(record["region"], name),
        record["gradient"],
    )
    try:
        made = restore(graph, recorded)
    except GraphError as error:
        raise InvalidFileError(str(error)) from None
    _check_variables(made)
    regions.made(made)


def _region(graph: Graph, regions: RegionReader, attr: str, name: str, value: Any) -> Region:
    return regions.attribute(value, f"{attr!r} of {name!r}", partial(tensor, graph))


def _check_variables(op: Operation) -> None:
    """Check that an operation that reads or writes a variable is given one. Raises InvalidFileError."""
    effect = op.definition.effect
    if effect not in (Effect.READ, Effect.WRITE):
        return
    takes_many = op.definition.params[0].role is Role.TENSORS
    for tensor in op.tensors if takes_many else changed_variables(op) or op.tensors[:1]:
        if variable_of(tensor, through_writes=effect is Effect.WRITE) is None:
            raise InvalidFileError(f"{op.name!r} needs a variable, and {tensor.name} is none")


def _where(value: Any, name: str) -> Provenance | None:
    if not value:
        return None
    what = f"the place of {name!r}"
    if [type(v) for v in value] != [str, int, str]:
        raise InvalidFileError(f"{what} is not a file, a line and a function")
    file, line, function = value
    return Provenance(_printable(file, what), _printable(function, what), None, 0, line)


def _printable(text: str, what: str) -> str:
    if not text.isprintable():
        raise InvalidFileError(f"{what} has characters that cannot be shown")
    return text


def operation(graph: Graph, name: Any) -> Operation:
    """The operation of this name. InvalidFileError if there is none."""
    if not graph.has_operation(check(name, "the name of an operation", str)):
        raise InvalidFileError(f"it has no operation {name!r} before the place where that is used")
    return graph.get_operation_by_name(name)


def tensor(graph: Graph, name: Any) -> Tensor:
    """The tensor `operation:index`. InvalidFileError if there is none."""
    owner, _, index = check(name, "the name of a tensor", str).rpartition(":")
    outputs = operation(graph, owner).outputs
    if not (index.isascii() and index.isdigit() and len(index) < 9 and int(index) < len(outputs)):
        raise InvalidFileError(f"it has no tensor {name!r}")
    return outputs[int(index)]


_DEEPEST = 100  # regions around an operation


class RegionWriter:
    """The regions of operations that are saved."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._numbers: dict[Region, int] = {}
        for op in operations:
            for region in (*([op.region] if op.region is not None else ()), *held_regions(op)):
                for each in reversed(region.around):
                    self._numbers.setdefault(each, len(self._numbers))

    @property
    def parents(self) -> list[int | None]:
        """The number of the region that each one lies in."""
        return [self.number(region.parent) for region in self._numbers]

    def number(self, region: Region | None) -> int | None:
        """The number of a region."""
        return None if region is None else self._numbers[region]

    def attribute(self, region: Region) -> list[Any]:
        """Return the attribute of an operation for one of its regions: its number, params and results."""
        params, results = ([t.name for t in tensors] for tensors in (region.params, region.results))
        return [self._numbers[region], params, results]


class RegionReader:
    """The regions of operations that are restored, in order of construction."""

    def __init__(self, parents: Any) -> None:
        self._regions: list[Region] = []
        self._told: set[Region] = set()  # those whose params and results are known
        self._params: dict[Region, list[Tensor]] = {}
        for number, parent in enumerate(items(parents, "its regions", int, type(None))):
            region = Region(None if parent is None else self._numbered(parent, f"region {number}"))
            if len(region.around) > _DEEPEST:
                raise InvalidFileError("its loops and branches are nested too deeply")
            self._regions.append(region)

    def _numbered(self, number: int, what: str) -> Region:
        if not 0 <= number < len(self._regions):
            raise InvalidFileError(f"{what} is in region {number}, which is not before it")
        return self._regions[number]

    def around(self, number: int | None, name: str) -> Region | None:
        """The region that the operation `name` is in."""
        if number is None:
            return None
        region = self._numbered(number, f"{name!r}")
        if region.owner is not None:
            raise InvalidFileError(f"{name!r} comes after {region.owner.name!r}, which it is a part of")
        return region

    def attribute(self, value: Any, what: str, tensor: Callable[[Any], Tensor]) -> Region:
        """The region that an attribute tells of."""
        if len(check(value, what, list)) != 3:
            raise InvalidFileError(f"{what} is not a number, params and results")
        region = self._numbered(check(value[0], what, int), what)
        if region in self._told:
            raise InvalidFileError(f"{what} is a region that is a part of another operation too")
        self._told.add(region)
        region.params = tuple(tensor(t) for t in items(value[1], what, str))
        region.results = tuple(tensor(t) for t in items(value[2], what, str))
        if list(region.params) != self._params.get(region, []):
            raise InvalidFileError(f"the params of {what} are not the region_parameter operations in it")
        for result in region.results:
            if not may_use(region, result.op.region):
                raise InvalidFileError(f"{what} cannot give {result.name}, which is a part of another region")
        return region

    def made(self, op: Operation) -> None:
        """Check an operation that was restored, and what it says of regions."""
        if op.definition.name == "region_parameter":
            if op.region is None:
                raise InvalidFileError(f"{op.name!r} is a param and in no region")
            self._params.setdefault(op.region, []).append(op.outputs[0])
        for region in held_regions(op):
            if region.parent is not op.region:
                raise InvalidFileError(f"{op.name!r} and its region are not in the same region")
            tensors, controls = region.captures()
            if not set(tensors) <= set(op.tensors) or not set(controls) <= set(op.controls):
                raise InvalidFileError(f"{op.name!r} does not have what its region captures")
            region.owner = op

    def finish(self) -> None:
        """Check that each region is a part of an operation."""
        for number, region in enumerate(self._regions):
            if region.owner is None:
                raise InvalidFileError(f"region {number} is not a part of an operation")


# What attributes may be where otherwise they are Python's, or the paths of other files.
_PLAIN: dict[tuple[str, str], tuple[Any, ...]] = {
    ("print_line", "stream"): ("stdout", "stderr"),
    ("print_values", "first"): (None,),
    ("py_func_stateless", "func"): (),
}


def refusal(op: OpDef, attrs: Mapping[str, Any]) -> str | None:
    """Return a reason that no file can hold an operation, None if one can.

    >>> from staticgraph.compiler.graph.opdef import OPS
    >>> refusal(OPS["print_line"], {"stream": "/home/me/.profile"})
    "its stream is '/home/me/.profile'"
    >>> refusal(OPS["print_line"], {"stream": "stdout"})
    """
    if op.internal:
        return f"{op.name} is an op of the compiler's"
    for name, value in attrs.items():
        if value not in _PLAIN.get((op.name, name), (value,)):
            return f"its {name} is {value!r}"
    if op.effect is Effect.HOST:
        return f"{op.name} reaches out of the graph"
    return None
