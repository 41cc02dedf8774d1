"""`Variable`: state that lives from run to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.framework import GraphKeys, checked, get_default_graph, graph_of, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.read_only import read_only
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, as_dtype
from staticgraph.compiler.graph.errors import ShapeError, misuse, shown
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.operators import Symbolic
from staticgraph.compiler.graph.provenance import Provenance, user_frame
from staticgraph.compiler.graph.recording.calls import snapshot
from staticgraph.compiler.graph.recording.op_count import count_as_resource, count_more, is_resource
from staticgraph.compiler.graph.shapes import TensorShape, TensorType, as_shape, merge
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.support.lazy_names import EXTENSIONS
from staticgraph.state import replicas
from staticgraph.state.replicas import VariableAggregation, VariableSynchronization


class SaveSliceInfo:
    """The place of a variable in a larger one, under whose name a `Saver` saves it.

    Args:
        full_name: The name of the larger variable.
        full_shape: Its sizes.
        var_offset: Where the part begins along each axis.
        var_shape: The sizes of the part.
        save_slice_info_def: A message that tells all of these instead.
        import_scope: A name scope put before the name in the message.

    >>> import staticgraph as sg
    >>> sg.Variable.SaveSliceInfo("table", [10, 3], [4, 0], [6, 3]).spec
    '10 3 4,6:0,3'
    """

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Sequence[int] | None = None,
        var_offset: Sequence[int] | None = None,
        var_shape: Sequence[int] | None = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if (told := save_slice_info_def) is not None:
            full_name = f"{import_scope}/{told.full_name}" if import_scope else told.full_name
            full_shape, var_offset, var_shape = told.full_shape, told.var_offset, told.var_shape
        self.full_name: str = full_name or ""
        self.full_shape, self.var_offset, self.var_shape = (
            [int(size) for size in given or ()] for given in (full_shape, var_offset, var_shape)
        )

    @property
    def part(self) -> Part:
        """The place as files have it."""
        from staticgraph.runtime.files.values import Part  # few variables are parts

        return Part.of(self.full_shape, self.var_offset, self.var_shape)

    @property
    def spec(self) -> str:
        """The place as text: the full sizes, then a begin and a length for each axis."""
        return self.part.spec


_SaveSliceInfo = SaveSliceInfo
CREATORS = "variable creators"  # key in `Graph.attached`: the functions of the open `variable_creator_scope`s

# To type checkers a variable is a tensor: it has the operators and methods, and goes where tensors go.
if TYPE_CHECKING:
    from staticgraph.runtime.files.values import Part

    _Base = Tensor
else:
    _Base = Symbolic


def _initializer_of(told: Any, prefix: str, graph: Graph) -> tuple[Operation, str]:
    """Return the initializer that a message names, and the name of the initial value, "" for its operand.

    A variable that TensorFlow began from a checkpoint has an assignment of what it read, named as a tensor.
    Such nodes are not in a graph that was read: then it is the assignment that the variable was made with.
    """
    name = told.initializer_name.partition(":")[0]
    try:
        return graph.get_operation_by_name(prefix + name), told.initial_value_name
    except KeyError:
        if name == told.initializer_name:
            raise
    return graph.get_operation_by_name(f"{prefix}{told.variable_name.partition(':')[0]}/Assign"), ""


class Variable(_Base):
    """A tensor that a session keeps, and that `assign` and optimizers change.

    `initial_value`: a tensor, an array, or a function without arguments that makes one. The variable has no
    value in a session before `global_variables_initializer()` (or its own `initializer`) ran there.

    When it is read: an operation that takes the variable itself reads it at its own turn, so it sees the
    assignments of the same run that were built before that operation. `read_value()`, `value()` and
    `convert_to_tensor(variable)` read it where they are called, after their control dependencies. A variable
    that is fetched is read after all assignments of the run.

    `dtype` converts the initial value; `validate_shape=False` leaves the shape open. With `variable_def`, a
    message, it stands for a variable that the graph has in the scope `import_scope`. ValueError without an
    initial value, or where its shape is not fully known.

    >>> import staticgraph as sg
    >>> w = sg.Variable([1.0, 2.0], name="w")
    >>> w, w.initializer.name, (w * 2.0).name
    (<sg.Variable 'w:0' shape=(2,) dtype=float32>, 'w/Assign', 'mul:0')
    """

    SaveSliceInfo = _SaveSliceInfo
    _save_slice_info: _SaveSliceInfo | None = None  # if it is a part of a larger variable

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Return a new variable, the one that another replica of the model has made in its place, or what the
        creators of `variable_creator_scope` make.
        """
        if creators := get_default_graph().attached.get(CREATORS):
            return EXTENSIONS["created_variable"](cls, creators, args, options)
        replica = replicas.present()
        twin = None if replica is None else replica.twin()
        return super().__new__(cls) if twin is None else twin

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: Any = None,
    ) -> None:
        if hasattr(self, "_handle"):  # of another replica, or made by a creator
            return
        self._synchronization, self._aggregation = synchronization, aggregation
        if variable_def is not None:
            self._join(variable_def, import_scope)
            return
        if initial_value is None:
            raise misuse(ValueError, "a variable needs an initial_value")
        if constraint is not None and not callable(constraint):
            raise misuse(ValueError, f"constraint={shown(constraint)} is not a function")
        self.where: Provenance | None = user_frame()
        self._constraint = constraint
        if trainable is None:
            trainable = synchronization is not VariableSynchronization.ON_READ
        self._trainable = bool(trainable)
        self._validate_shape = validate_shape
        wanted = as_dtype(dtype) if dtype is not None else None
        graph = graph_of([] if callable(initial_value) else [initial_value])
        with graph.as_default(), graph.inside(None):
            self._build(initial_value, name, wanted, shape if shape is not None else expected_shape)
        graph.variables[self.op.name] = self
        if use_resource:
            count_as_resource(self.op, self._read.op)
        keys = list(collections) if collections is not None else [GraphKeys.GLOBAL_VARIABLES]
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(keys, self)
        if (replica := replicas.present()) is not None:
            replica.made(self)

    def _join(self, told: Any, scope: str | None) -> None:
        """Stand for a variable that the graph has already, whose parts a message names."""
        graph, prefix = get_default_graph(), f"{scope}/" if scope else ""
        if told.HasField("save_slice_info_def"):
            info = _SaveSliceInfo(save_slice_info_def=told.save_slice_info_def, import_scope=scope)
            self._save_slice_info = info
        self.where = user_frame()
        self._constraint, self._trainable, self._validate_shape = None, bool(told.trainable), True
        self._handle: Tensor = graph.get_tensor_by_name(prefix + told.variable_name)
        self._initializer, initial = _initializer_of(told, prefix, graph)
        read = graph.get_tensor_by_name(prefix + told.snapshot_name)
        if self.op.definition.name != "variable" or self._initializer.definition.name != "assign":
            text = f"{told.variable_name!r} with the initializer {told.initializer_name!r} is no variable"
            raise misuse(ValueError, text)
        with graph.as_default(), graph.inside(None):
            is_operand = variable_of(read) is self.op
            self._read = read if is_operand else ops.read_variable(self._handle, name="read")
        self._initial_value: Tensor = (
            graph.get_tensor_by_name(prefix + initial) if initial else self._initializer.tensors[1]
        )
        graph.variables[self.op.name] = self

    def _build(self, initial_value: Any, name: str | None, dtype: DType | None, shape: Any) -> None:
        given = [] if callable(initial_value) else [initial_value]
        with name_scope(name, "Variable", given) as scope:
            if callable(initial_value):
                with name_scope("Initializer"):
                    initial = convert_to_tensor(initial_value(), dtype, name="initial_value")
            else:
                initial = convert_to_tensor(initial_value, dtype, name="initial_value")
            self._initial_value = initial = snapshot(initial)
            self._handle = ops.variable(dtype=initial.dtype, shape=self._shape(initial, shape), name=scope)
            assigned = ops.assign(self._handle, initial, validate_shape=self._validate_shape, name="Assign")
            self._initializer = assigned.op
            self._read = ops.read_variable(self._handle, name="read")

    def _shape(self, initial: Tensor, shape: Any) -> Any:
        if not self._validate_shape:
            return as_shape(shape)
        if not initial.shape.is_fully_defined():
            raise misuse(
                ShapeError,
                f"the initial value {initial.name} has shape {initial.shape}, which is not fully known",
                "give it a static shape, or pass validate_shape=False",
                made=[("it", initial.op.where)],
            )
        with checked("Variable"):
            return merge(
                initial.type.shape, as_shape(shape), "the shape of the initial value and the one asked for:"
            )

    # What it is

    @property
    def handle(self) -> Tensor:
        """The output of the variable's operation: what operations that assign take as their first input."""
        return self._handle

    op: Operation = read_only("handle.op")
    graph: Graph = read_only("handle.graph")
    recorder: Graph = read_only("handle.graph")
    name: str = read_only("handle.name")
    dtype: DType = read_only("handle.dtype")
    type: TensorType = read_only("handle.type")
    shape: TensorShape = read_only("handle.shape")

    def get_shape(self) -> TensorShape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Tell what is known of the shape of a variable made with `validate_shape=False`."""
        self._handle.set_shape(shape)
        self._read.set_shape(shape)

    device: str = read_only("handle.device")

    @property
    def trainable(self) -> bool:
        """True if optimizers change the variable when they are given no list of variables."""
        return self._trainable

    @property
    def aggregation(self) -> VariableAggregation:
        """The way to combine what replicas assign."""
        return self._aggregation

    @property
    def synchronization(self) -> VariableSynchronization:
        """Time at which copies would be made equal."""
        return self._synchronization

    @property
    def constraint(self) -> Callable[[Any], Any] | None:
        """The projection that optimizers apply after each update."""
        return self._constraint

    initializer: Operation = read_only("initializer", "The operation that assigns the initial value.")
    initial_value: Tensor = read_only("initial_value")

    def _set_save_slice_info(self, save_slice_info: _SaveSliceInfo | None) -> None:
        """Tell which part of a larger variable this one is."""
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> _SaveSliceInfo | None:
        return self._save_slice_info

    # Its value

    def to_tensor(self) -> Tensor:
        """Return the tensor that operations take in place of this variable."""
        return self._read

    def value(self) -> Tensor:
        """Return the value that the variable has here, as a tensor: the same as `read_value()` gives."""
        value: Tensor = snapshot(self._handle)
        return value

    def read_value(self) -> Tensor:
        """Return a new tensor with the value that the variable has here, after its control dependencies.

        Assignments that are made later do not change the tensor.

        >>> import staticgraph as sg
        >>> w = sg.Variable(1.0)
        >>> before = w.read_value()
        >>> with sg.control_dependencies([w.assign(5.0)]):
        ...     change = w - before
        >>> with sg.Session() as sess:
        ...     sess.run(w.initializer)
        ...     sess.run(change).item()
        4.0
        """
        return ops.read_value(self._handle, name="read")

    def initialized_value(self) -> Tensor:
        """The value, or the initial value where the variable
        has none yet: for initial values of other variables.
        """
        count_more(self.graph, 8)  # a branch in TensorFlow
        return ops.initialized_value(self._handle, self._initial_value)

    def eval(self, session: Any = None) -> Any:  # type: ignore[override]
        """The value in `session`, or in the default session, as an array."""
        return self._read.eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Set the value in `session`, or in the default session, without adding to the graph."""
        self.graph.session_for(session).run(self._initializer, {self._initializer.tensors[1]: value})

    # Changing it

    def changed(self, operation: Callable[..., Any], value: Any, **attributes: Any) -> Any:
        """Return `operation(handle, value)`. Replicas of a model change the variable together."""
        if is_resource(self.op):
            count_more(self.graph, 1)  # TensorFlow reads the new value
        replica = replicas.present()
        if replica is None:
            return operation(self._handle, value, **attributes)
        if self._aggregation is VariableAggregation.NONE:
            text = f"{self.name} is changed by each replica, and has no aggregation to combine what they give"
            hint = "make it with aggregation=tf.VariableAggregation.MEAN, SUM or ONLY_FIRST_REPLICA"
            raise misuse(ValueError, text, hint, made=[("it", self.where)])
        ways = {VariableAggregation.SUM: "sum", VariableAggregation.MEAN: "mean"}
        how = ways.get(self._aggregation, "first")
        given = convert_to_tensor(value, self.dtype)

        def function(value: Any) -> Any:
            return operation(self._handle, value, **attributes)

        if how == "sum" and self._synchronization is VariableSynchronization.ON_READ:
            return replica.add(function, given)
        return replica.once(function, given, how)

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """An operation's output: the new value. With `read_value=False`, the operation itself."""
        made = self.changed(ops.assign, value, validate_shape=self._validate_shape, name=name)
        return made if read_value else made.op

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add `delta`; the output is the new value."""
        made = self.changed(ops.assign_add, delta, name=name)
        return made if read_value else made.op

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtract `delta`; the output is the new value."""
        made = self.changed(ops.assign_sub, delta, name=name)
        return made if read_value else made.op

    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Replace the rows `sparse_delta.indices` by `sparse_delta.values`."""
        return self._scatter(ops.scatter_update, sparse_delta, name)

    def scatter_add(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Add to rows; a row that occurs twice is added to twice."""
        return self._scatter(ops.scatter_add, sparse_delta, name)

    def scatter_sub(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Subtract from rows."""
        return self._scatter(ops.scatter_sub, sparse_delta, name)

    def scatter_mul(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Multiply rows."""
        return self._scatter(ops.scatter_mul, sparse_delta, name)

    def scatter_div(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Divide rows."""
        return self._scatter(ops.scatter_div, sparse_delta, name)

    def scatter_max(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Replace elements of rows by the larger ones."""
        return self._scatter(ops.scatter_max, sparse_delta, name)

    def scatter_min(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Replace elements of rows by the smaller ones."""
        return self._scatter(ops.scatter_min, sparse_delta, name)

    def _scatter(self, op: Any, delta: Any, name: str | None) -> Tensor:
        if not isinstance(delta, IndexedSlices):
            raise misuse(TypeError, f"{op.name}: sparse_delta must be IndexedSlices, not {delta!r}")
        return op(self._handle, delta.indices, delta.values, name=name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Replace the elements or slices at index vectors."""
        return ops.scatter_nd_update(self._handle, indices, updates, name=name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Add to the elements or slices at index vectors."""
        return ops.scatter_nd_add(self._handle, indices, updates, name=name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Subtract from the elements or slices at index vectors."""
        return ops.scatter_nd_sub(self._handle, indices, updates, name=name)

    def count_up_to(self, limit: int) -> Tensor:
        """The value, which this then makes larger by one: see `staticgraph.count_up_to`."""
        counted: Tensor = EXTENSIONS["count_up_to"](self, limit)
        return counted

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements or slices at index vectors."""
        return ops.gather_nd(self._read, indices, name=name)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """The rows at `indices`."""
        return ops.gather(self._read, indices, axis=0, name=name)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The message that `variable_def` takes, without the scope in its names; None outside of it."""
        return EXTENSIONS["variable_def"](self, export_scope)

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Variable:
        """The variable of the graph in use that a message of `to_proto` stands for."""
        return Variable(variable_def=variable_def, import_scope=import_scope)

    def __getitem__(self, key: Any) -> Tensor:
        """A part of the value; `v[1:3].assign(value)` changes that part."""
        from staticgraph.state.slice_assignment import part_of  # few programs need it

        return part_of(self, key, super().__getitem__(key))

    def __iter__(self) -> Iterator[Any]:
        raise misuse(
            TypeError, f"{self.name} cannot be iterated: iterate unstack({self.op.name}), a list of tensors"
        )

    def __repr__(self) -> str:
        return f"<sg.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


def parts_of(variable: Any) -> list[Any]:
    """Return the variables that a partitioned variable consists of; any other one as it is."""
    return list(variable) if hasattr(variable, "_get_partitions") else [variable]
