"""Operations, tensors and regions of the user's graph, in TF1's manner, and walks over them.

A region holds operations that are carried out as a part of another one, such as the body of a loop. They are
operations of the graph like all others, with names and lines. They may use tensors of their own region and of
those around it; nothing outside may use theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import RuleError, ShapeError, misuse
from staticgraph.compiler.graph.opdef import METHODS, Effect, OpDef
from staticgraph.compiler.graph.operators import Symbolic
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.shapes import TensorShape, TensorType, as_shape, merge
from staticgraph.compiler.support.lazy_names import EXTENSIONS

if TYPE_CHECKING:
    from staticgraph.compiler.graph.operators import TensorLike


class Operation:
    """A node of a `Graph`: an op used on tensors, with a name and the user's line."""

    __slots__ = (
        "graph",
        "definition",
        "name",
        "tensors",
        "operands",
        "attrs",
        "controls",
        "outputs",
        "device",
        "where",
        "id",
        "region",
        "gradient",
        "on_host",
        "__weakref__",
    )

    def __init__(
        self,
        graph: Any,
        definition: OpDef,
        name: str,
        tensors: tuple[Tensor, ...],
        operands: dict[str, Tensor],
        attrs: dict[str, Any],
        types: tuple[TensorType, ...],
        controls: tuple[Operation, ...],
        device: str,
        where: Provenance | None,
        id: int,
        region: Region | None = None,
        gradient: str | None = None,
    ) -> None:
        self.graph = graph  # the `Graph`, whose module imports this one
        self.definition = definition
        self.name = name
        self.tensors = tensors  # those of its parameters that are tensors, in the op's order
        self.operands = operands  # operands given as tensors, by parameter
        self.attrs = attrs  # attributes, and operands left at None
        self.controls = controls  # what it waits for
        self.device = device
        self.where = where
        self.id = id  # position in the graph's order of construction
        self.region = region  # the body of a loop or the branch that it is a part of, else None
        self.on_host: bool | None = None  # if it is done in Python for what it is itself, once that was asked
        self.gradient = gradient  # the name of the registered gradient that replaces its own
        self.outputs = tuple([Tensor(self, i, t) for i, t in enumerate(types)])

    @property
    def type(self) -> str:
        """TensorFlow's name of the op, such as `MatMul`."""
        return self.definition.tf

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The inputs that TensorFlow's op has, in its order: also axes, shapes and the like.

        What a program left out, such as `perm`, is a constant if it is known.
        """
        return EXTENSIONS["inputs"](self)

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that this one waits for, a new list."""
        return list(self.controls)

    def colocation_groups(self) -> list[bytes]:
        """The groups of operations that shall be on one device, by default one of this operation alone."""
        return list(self.graph.colocated.get(self) or [f"loc:@{self.name}".encode()])

    @property
    def node_def(self) -> Any:
        """This operation as TensorFlow's message, a `NodeDef`."""
        return EXTENSIONS["node_def"](self)

    @property
    def all_inputs(self) -> tuple[Tensor, ...]:
        """Tensor inputs, then operands."""
        return (*self.tensors, *self.operands.values())

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """The user's line as (file, line, function, text)."""
        w = self.where
        return [] if w is None else [(w.file, w.line, w.function, w.text)]

    def get_attr(self, name: str) -> Any:
        """Return an attribute, as TensorFlow has it: strings as bytes, types as DTypes, shapes as messages.

        Args:
            name: The attribute's name, TensorFlow's or our own.

        Raises:
            ValueError: If the operation has no attribute of that name.
        """
        found = EXTENSIONS["attribute"](self, name)
        if found is None:
            if name not in self.attrs:
                raise misuse(ValueError, f"operation {self.name} ({self.type}) has no attribute {name!r}")
            return self.attrs[name]
        return found[0]

    def values(self) -> tuple[Tensor, ...]:
        return self.outputs

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run this operation in `session`, or in the default session."""
        self.graph.session_for(session).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<sg.Operation '{self.name}' type={self.type}>"

    def __str__(self) -> str:
        inputs = ", ".join(t.name for t in self.all_inputs)
        outputs = ", ".join(f"{t.name}: {t.type}" for t in self.outputs)
        return f"{self.name} = {self.type}({inputs}) -> {outputs or 'nothing'}"


_OPERATORS = """
    abs add and eq floordiv ge getitem gt invert le lt matmul mod mul ne neg or pow radd rand rfloordiv
    rmatmul rmod rmul ror rpow rsub rtruediv rxor sub truediv xor
"""


class Tensor(Symbolic):
    """One output of an operation: a value that exists when the graph runs."""

    __slots__ = ("op", "value_index", "type", "__weakref__")

    # Programs give them to classes that stand for a tensor.
    OVERLOADABLE_OPERATORS = frozenset(f"__{name}__" for name in _OPERATORS.split())

    def __init__(self, op: Operation, value_index: int, type: TensorType) -> None:
        self.op = op
        self.value_index = value_index
        self.type = type

    @property
    def graph(self) -> Any:
        return self.op.graph

    @property
    def recorder(self) -> Any:
        """Graph in which ops on this tensor are recorded."""
        return self.op.graph

    @property
    def name(self) -> str:
        """`operation:index`."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape, with unknown sizes where they depend on what is fed."""
        return TensorShape(self.type.shape)

    def get_shape(self) -> TensorShape:
        return self.shape

    @property
    def device(self) -> str:
        return self.op.device

    def set_shape(self, shape: Any) -> None:
        """Tell what is known of the shape; ShapeError if it contradicts what is known already."""
        try:
            merged = merge(self.type.shape, as_shape(shape), "the known shape and the given one:")
        except RuleError as error:
            made = [(self.name, self.op.where)]
            raise misuse(ShapeError, f"{self.name}: {error.what}", error.hint, made=made) from None
        self.type = TensorType(self.type.dtype, merged)

    def consumers(self) -> list[Operation]:
        """The operations that have this tensor as an input."""
        return [op for op in self.graph.get_operations() if any(t is self for t in op.all_inputs)]

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value of this tensor in `session`, or in the default session."""
        return self.graph.session_for(session).run(self, feed_dict)

    def __iter__(self) -> Iterator[Tensor]:
        shape = self.type.shape
        if not shape or shape[0] is None:
            text = f"{self.name} has shape {self.shape}: only a tensor of known length can be iterated"
            raise misuse(TypeError, text, "map_fn and while_loop go over rows in the graph; a list takes [x]")
        return iter([METHODS["getitem"](self, i) for i in range(shape[0])])

    def __len__(self) -> int:
        hint = "use x.shape[0], or shape(x)[0] in the graph"
        raise misuse(TypeError, f"{self.name} has no length while the graph is built", hint)

    def __bool__(self) -> bool:
        hint = "cond, where and logical_and decide in the graph; `is not None` asks whether it exists"
        raise misuse(TypeError, f"{self.name} has no truth value while the graph is built", hint)

    if TYPE_CHECKING:  # what `Operators` finds in `opdef.METHODS`, as editors shall see it

        def _binary(self, other: TensorLike) -> Tensor: ...
        def _unary(self) -> Tensor: ...
        def _reduction(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor: ...
        def _along(self, axis: int | None = None) -> Tensor: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _binary
        __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _binary
        __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _binary
        __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __lt__ = __le__ = __gt__ = __ge__ = _binary
        __neg__ = __abs__ = __invert__ = copy = flatten = ravel = round = trace = _unary
        sum = prod = max = min = mean = any = all = std = var = _reduction
        argmax = argmin = argsort = cumprod = cumsum = sort = squeeze = _along
        dot = matmul = _binary

        @property
        def T(self) -> Tensor: ...
        def __getitem__(self, key: Any) -> Tensor: ...
        def astype(self, dtype: DType | str | type) -> Tensor: ...
        def clip(self, min: TensorLike, max: TensorLike) -> Tensor: ...
        def reshape(self, *shape: Any) -> Tensor: ...
        def swapaxes(self, axis1: int, axis2: int) -> Tensor: ...
        def take(self, indices: TensorLike, axis: int | None = None) -> Tensor: ...
        def transpose(self, *perm: Any) -> Tensor: ...

    def __repr__(self) -> str:
        return f"<sg.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        shape = "" if self.type.shape is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'


def may_use(region: Region | None, other: Region | None) -> bool:
    """Return True if operations of `region` may use tensors of `other`.

    None stands for the part of a graph outside of all regions.
    """
    return other is None or other is region or (region is not None and other in region.around)


class Region:
    """A part of a graph: `params` -> `results`.

    Params are outputs of `region_parameter` operations; a branch has none. `owner` is the operation that the
    region is a part of, known when that is made. `hosted` tells whether there is something in it that only
    Python does, once that was asked.
    """

    __slots__ = ("parent", "params", "results", "owner", "hosted")

    def __init__(self, parent: Region | None) -> None:
        self.parent = parent
        self.params: tuple[Tensor, ...] = ()
        self.results: tuple[Tensor, ...] = ()
        self.owner: Operation | None = None
        self.hosted: bool | None = None

    @property
    def around(self) -> list[Region]:
        """The region itself, and those that it lies in, innermost first."""
        found: list[Region] = []
        region: Region | None = self
        while region is not None:
            found.append(region)
            region = region.parent
        return found

    def operations(self, roots: tuple[Operation, ...] = (), results: bool = True) -> list[Operation]:
        """Return the operations of this region, not of those inside it, that its results and `roots` need;
        without `results`, that only `roots` need.
        """
        return sorted(self._walk(roots, results)[0], key=lambda op: op.id)

    def captures(self) -> tuple[list[Tensor], list[Operation]]:
        """Return what the results need from outside: tensors, and operations that must run before."""
        inside, tensors, controls = self._walk(())
        outer = [t for t in self.results if t.op not in inside]
        return list(dict.fromkeys([*tensors, *outer])), controls

    def _walk(
        self, roots: tuple[Operation, ...], results: bool = True
    ) -> tuple[set[Operation], list[Tensor], list[Operation]]:
        given = (t.op for t in self.results) if results else ()
        stack = [op for op in (*given, *roots) if op.region is self]
        inside: set[Operation] = set()
        tensors: dict[Tensor, None] = {}
        controls: dict[Operation, None] = {}
        while stack:
            op = stack.pop()
            if op in inside:
                continue
            inside.add(op)
            for tensor in op.all_inputs:
                if tensor.op.region is self:
                    stack.append(tensor.op)
                else:
                    tensors[tensor] = None
            for control in op.controls:
                if control.region is self:
                    stack.append(control)
                else:
                    controls[control] = None
        return inside, list(tensors), list(controls)


def ancestors(roots: Iterable[Operation], cut: Collection[Tensor] = ()) -> set[Operation]:
    """`roots` and all operations that run before them, control dependencies included.

    What only a tensor of `cut` needs is left out.
    """
    seen: set[Operation] = set()
    stack = list(roots)
    while stack:
        op = stack.pop()
        if op not in seen:
            seen.add(op)
            stack += [t.op for t in op.all_inputs if t not in cut]
            stack += op.controls
    return seen


def needed(roots: Iterable[Operation], cut: Collection[Tensor] = ()) -> list[Operation]:
    """`ancestors` in order of construction, which is an order in which they can run."""
    return sorted(ancestors(roots, cut), key=lambda op: op.id)


class _Originals(dict[Operation, Operation]):
    """The original of each backward operation of a graph."""


def originals(graph: Any) -> Mapping[Operation, Operation]:
    """Return the operations that `gradients` made backward ones for, by these, as long as the program runs.

    Both come from one line of the user's program, so an error at the line asks which of them is meant.
    """
    found: Mapping[Operation, Operation] = graph.attached.get(_Originals, {})
    return found


def note_original(backward: Sequence[Operation], original: Operation) -> None:
    """Note which operation the backward ones were made for."""
    original.graph.attached.setdefault(_Originals, _Originals()).update(dict.fromkeys(backward, original))


# The regions that are carried out as a part of an operation, by the name of its definition.
WITH_REGIONS: dict[str, Callable[[dict[str, Any]], tuple[Region, ...]]] = {
    "while_region": lambda attrs: (attrs["cond"], attrs["body"]),
    "branch_region": lambda attrs: tuple(attrs["branches"]),
}

_ACTS = (Effect.WRITE, Effect.RANDOM, Effect.EFFECT)


def regions_of(op: Operation) -> tuple[Region, ...]:
    """Return the regions that are carried out as a part of an operation."""
    regions = WITH_REGIONS.get(op.definition.name)
    return () if regions is None else regions(op.attrs)


def held_regions(op: Operation) -> tuple[Region, ...]:
    """Return all regions that belong to an operation, also those that only its gradient carries out."""
    if op.definition.name == "custom_gradient" and op.attrs["derivative"] is not None:
        return (op.attrs["derivative"],)
    return regions_of(op)


def with_inner(operations: Iterable[Operation]) -> list[Operation]:
    """Return `operations`, and those in their regions at any depth."""
    found = []
    for op in operations:
        found.append(op)
        if op.definition.name in WITH_REGIONS:
            for region in regions_of(op):
                found += with_inner(region.operations())
    return found


def acting(operations: Iterable[Operation], known: dict[Operation, list[Operation]]) -> list[Operation]:
    """Return what changes state or checks its inputs of `operations` and all in their regions, at any depth.

    `known` has those in the regions of an operation: with it, nested loops are looked at once, not once for
    each loop around them.
    """
    found = []
    for op in operations:
        if op.definition.effect in _ACTS or op.definition.requires is not None:
            found.append(op)
        if op.definition.name in WITH_REGIONS:
            if op not in known:
                inner = (each for region in regions_of(op) for each in region.operations())
                known[op] = acting(inner, known)
            found += known[op]
    return found


def whole(operations: Iterable[Operation]) -> list[Operation]:
    """Return `operations` and all in their regions, even unused params, in order of construction."""
    return sorted(_all_inside(operations), key=lambda op: op.id)


def _all_inside(operations: Iterable[Operation]) -> set[Operation]:
    found = set(operations)
    for op in list(found):
        for region in held_regions(op):
            found |= _all_inside(region.operations(tuple(p.op for p in region.params)))
    return found


def around(tensor: Tensor, region: Region | None) -> Operation | None:
    """Return the operation of `region` that computes `tensor` or contains it; None if it is outside."""
    op: Operation | None = tensor.op
    while op is not None and op.region is not region:
        op = None if op.region is None else op.region.owner
    return op


def outermost(tensor: Tensor, region: Region | None = None) -> Operation:
    """Return the operation outside of all regions, or in `region`, that computes or contains `tensor`.

    A tensor from outside of `region` is computed by its own operation.
    """
    op = around(tensor, region)
    return tensor.op if op is None else op


def is_loop(op: Operation) -> bool:
    """Return True if an operation is a loop."""
    return op.definition.name == "while_region"


def is_branch(op: Operation) -> bool:
    """Return True if an operation is a branch."""
    return op.definition.name == "branch_region"


def is_rounds(tensor: Tensor) -> bool:
    """Return True if `tensor` is the trip count of a loop."""
    return is_loop(tensor.op) and tensor is tensor.op.outputs[-1]
