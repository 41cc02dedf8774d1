"""The decorators that define ops: one per kind.

The decorated function is the mathematics of the op; the decorator's arguments say
the rest. Its name is the op's name, its docstring the manual. Positional parameters
are tensors (`*xs` is a list of tensors), keyword-only parameters are operands
(`operands=`) or attributes. What the function computes depends on the kind:

=============  ============================================================================================
elementwise    one element of the result from one element of each input (read three ways: kernel/scalar.py)
reduction      two partial results combined: `return total + x`
movement       `(at, x)`: the element at index `at`, picked from the inputs' views
windowed       `(at, x)`: a `Reduce` of the elements in a window of the input; a reduction to the compiler
contraction    `(at, a, b)`: a `Reduce` of products of elements of the inputs
source         `(at,)`: the element computed from its position
assembly       `(*views)`: a list of `Piece`s that together cover the result
routine        `(outs, *views)`: statements with loops of their own, perhaps `Described`
composite      `(*values)`: other ops, applied where all shapes are known; `wide` ones in float32 at least
host           `(*arrays)`: the op's meaning in NumPy and Python, called between compiled steps
=============  ============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.requirements import verified
from staticgraph.compiler.graph.dtypes import ANY, EVERY, DType, bool_, float32, int64
from staticgraph.compiler.graph.opdef import REQUIRED, Effect, Kind, OpDef, Param, Role, ops, register
from staticgraph.compiler.graph.shapes import Shape, TensorType, broadcast, normalize_axes
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Reduce, number
from staticgraph.compiler.kernel.stmt import Buffer, Form, Stmt
from staticgraph.compiler.support.dataclass import dataclass

_VARARGS = 0x04  # of code.co_flags: the function takes *args

Dtypes = frozenset[DType] | Mapping[str, frozenset[DType]]


@dataclass(frozen=True, slots=True)
class View:
    """A tensor read element by element inside a kernel, at a position for each of its axes."""

    shape: tuple[int, ...]
    dtype: DType
    pull: Callable[[tuple[Expr, ...]], Expr]

    def __getitem__(self, at: Any) -> Expr:
        at = at if isinstance(at, tuple) else (at,)
        assert len(at) == len(self.shape), (at, self.shape)
        return self.pull(tuple([a if isinstance(a, Expr) else number(a, int64) for a in at]))

    def broadcast(self, at: tuple[Expr, ...]) -> Expr:
        """The element for a position in what this shape broadcasts to: leading axes and axes of size one are
        repeated.
        """
        zero = Const(0, int64)
        at = at[len(at) - len(self.shape) :]
        return self.pull(tuple([zero if same(n, 1) else i for n, i in zip(self.shape, at, strict=True)]))

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class Out:
    """A result of a routine: the buffer to store to."""

    buffer: str
    shape: tuple[int, ...]
    dtype: DType

    def __getitem__(self, at: Any) -> Load:
        """The present contents at a position: only after they were stored."""
        at = at if isinstance(at, tuple) else (at,)
        places = tuple(a if isinstance(a, Expr) else number(a, int64) for a in at)
        return Load(self.buffer, places, self.dtype)


@dataclass(frozen=True, slots=True)
class Piece:
    """A box of the result of an assembly: `element(at)` for
    `at` in `shape`, stored at `offset + step * at`.
    """

    offset: tuple[int, ...]
    shape: tuple[int, ...]
    element: Callable[[tuple[Expr, ...]], Expr]
    step: tuple[int, ...] | None = None  # all ones where None


@dataclass(frozen=True, slots=True)
class Described:
    """The statements of a routine, what they compute, and the scratch memory that they use."""

    body: tuple[Stmt, ...]
    form: Form | None = None
    scratch: Mapping[str, Buffer] | None = None


def described(made: tuple[Stmt, ...] | Described) -> tuple[tuple[Stmt, ...], Form | None]:
    """Return the statements of a routine, and the form of their result if the routine gives one, or None."""
    return (made.body, made.form) if isinstance(made, Described) else (tuple(made), None)


def scratch_of(made: tuple[Stmt, ...] | Described) -> Mapping[str, Buffer]:
    """Return the scratch memory of a routine."""
    return made.scratch or {} if isinstance(made, Described) else {}


def _params(
    function: Callable[..., Any],
    skip: int,
    operands: Mapping[str, str],
    vars: Mapping[str, str],
    partial: Sequence[str],
) -> tuple[Param, ...]:
    # Read off the code object: `inspect.signature` would take most of the time of importing all ops.
    code, defaults, by_name = function.__code__, function.__defaults__ or (), function.__kwdefaults__ or {}
    positional = code.co_varnames[: code.co_argcount]
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    has_default = dict(zip(reversed(positional), reversed(defaults), strict=False))
    params = [
        Param(p, Role.TENSOR, has_default.get(p, REQUIRED), vars.get(p, "T")) for p in positional[skip:]
    ]
    if code.co_flags & _VARARGS:
        listed = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
        params.append(Param(listed, Role.TENSORS, REQUIRED, vars.get(listed, "T")))
    for p in keywords:
        default, kind = by_name.get(p, REQUIRED), function.__annotations__.get(p, "Any")
        if p in operands:
            params.append(Param(p, Role.OPERAND, default, "O", operands[p], p in partial, kind))
        else:
            params.append(Param(p, Role.ATTR, default, kind=kind))
    return tuple(params)


def _dtype_table(dtypes: Dtypes) -> dict[str, frozenset[DType]]:
    return dict(dtypes) if isinstance(dtypes, Mapping) else {"T": dtypes}


def define(
    kind: Kind,
    function: Callable[..., Any],
    *,
    tf: str | None,
    skip: int = 0,
    operands: Mapping[str, str] | Sequence[str] = (),
    vars: Mapping[str, str] | None = None,
    partial: Sequence[str] = (),
    dtypes: Dtypes = ANY,
    name: str | None = None,
    **fields: Any,
) -> OpDef:
    """Make the record of an op whose parameters are those of `function`, and add it to the table."""
    named = operands if isinstance(operands, Mapping) else {o: o for o in operands}
    doc = function.__doc__
    name = name or function.__name__.rstrip("_")
    assert doc, f"op {name} needs a docstring"
    if (requires := fields.get("requires")) is not None:
        fields["unchecked"] = fields["reference"]
        fields["reference"] = verified(requires, fields["reference"])
    return register(
        OpDef(
            name=name,
            tf=tf or name,
            doc=doc,
            kind=kind,
            params=_params(function, skip, named, vars or {}, partial),
            dtypes=_dtype_table(dtypes),
            **fields,
        )
    )


def elementwise(
    *,
    numpy: Callable[..., Any],
    samples: Any,
    tf: str | None = None,
    dtypes: Dtypes = ANY,
    result: DType | Callable[..., DType] | None = None,
    vars: Mapping[str, str] | None = None,
    **fields: Any,
) -> Callable[[Callable[..., Any]], OpDef]:
    """An op on corresponding elements of inputs that broadcast.

    `result`: the dtype of the result where it is not that of the inputs, or a function of input types and
    attributes. Without `grad`, the body is differentiated.
    """

    def declare(body: Callable[..., Any]) -> OpDef:
        def type(*types: TensorType, **attrs: Any) -> TensorType:
            dtype = (
                types[-1].dtype if result is None else result(*types, **attrs) if callable(result) else result
            )
            return TensorType(dtype, broadcast(*[t.shape for t in types]))

        def element(at: tuple[Expr, ...], *views: View, **attrs: Any) -> Expr:
            return body(*[v.broadcast(at) for v in views], **attrs)

        if "grad" in fields:  # no formula for single elements looks at sizes
            fields.setdefault("grad_takes", ())
        return define(
            Kind.ELEMENTWISE, body, tf=tf, type=type, reference=numpy, element=element, body=body,
            samples=samples,
            dtypes=dtypes, vars=vars, **fields,
        )

    return declare


def predicate(**fields: Any) -> Callable[[Callable[..., Any]], OpDef]:
    """An elementwise op whose result is bool; it has no gradient."""
    return elementwise(result=bool_, differentiable=False, cheap=True, **fields)


def reduced_shape(shape: Shape | None, axis: Any, keepdims: bool) -> Shape | None:
    """The shape that is left after reducing `axis` (an int, a tuple, or None for all)."""
    if axis is None and not keepdims:
        return ()
    if shape is None:
        return None
    axes = normalize_axes(axis, len(shape))
    if keepdims:
        return tuple(1 if d in axes else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in axes)


def reduction(
    *,
    numpy: Callable[..., Any],
    combine: str,
    samples: Any,
    tf: str,
    dtypes: Dtypes = ANY,
    prepare: Callable[..., Any] | None = None,
    **fields: Any,
) -> Callable[[Callable[..., Any]], OpDef]:
    """An op that combines elements along `axis` with a scalar primitive. The body shows the combiner.

    `prepare(x, count)`: applied to each element first, `count` being how many are combined.
    """

    def declare(body: Callable[..., Any]) -> OpDef:
        def type(input_tensor: TensorType, axis: Any = None, keepdims: bool = False) -> TensorType:
            return TensorType(input_tensor.dtype, reduced_shape(input_tensor.shape, axis, keepdims))

        def reference(x: np.ndarray, axis: Any = None, keepdims: bool = False) -> Any:
            return numpy(x, axis=normalize_axes(axis, x.ndim), keepdims=keepdims)

        def element(at: tuple[Expr, ...], x: View, axis: Any = None, keepdims: bool = False) -> Expr:
            axes = normalize_axes(axis, x.rank)
            inner = {d: Index(f"r{d}", x.shape[d]) for d in axes}
            kept = iter(at[d] for d in range(x.rank) if d not in axes) if keepdims else iter(at)
            value = x[tuple(inner[d] if d in inner else next(kept) for d in range(x.rank))]
            if prepare is not None:
                value = prepare(value, int(np.prod([x.shape[d] for d in axes], dtype=np.int64)))
            return Reduce(tuple(inner.values()), combine, value) if inner else value

        def signature(input_tensor: Any, *, axis: Any = None, keepdims: bool = False) -> None: ...

        signature.__name__, signature.__doc__ = body.__name__, body.__doc__
        return define(
            Kind.REDUCTION, signature, tf=tf, type=type, reference=reference, element=element, body=body,
            samples=samples, dtypes=dtypes, operands={"axis": "reduction_indices"}, **fields,
        )

    return declare


def in_float32(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """A function of values, computed in float32 for tensors of 16-bit floating numbers and rounded once.

    The sum in a mean, or the square in a norm, may be too large for these although the result is not. Where
    wider numbers come with them, the function chooses by itself.
    """
    if function is None:
        return None

    def computed(*values: Any, **attrs: Any) -> Any:
        dtypes = set(_floating_dtypes(values))
        if len(dtypes) != 1 or (narrow := dtypes.pop()).size != 2:
            return function(*values, **attrs)
        made = function(*(_recast(v, narrow, float32) for v in values), **attrs)
        return _recast(made, float32, narrow)

    return computed


def rounded_once(reference: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A NumPy reference whose totals grow in float32 for float16, as those of `passes/expand.py` do."""

    def computed(*arrays: Any, **attrs: Any) -> np.ndarray:
        if not any(getattr(a, "dtype", None) == np.float16 for a in arrays):
            return reference(*arrays, **attrs)
        wide = (a.astype(np.float32) if getattr(a, "dtype", None) == np.float16 else a for a in arrays)
        with np.errstate(over="ignore"):
            return reference(*wide, **attrs).astype(np.float16)

    return computed


def _floating_dtypes(values: Sequence[Any]) -> Iterator[DType]:
    for value in values:
        if isinstance(value, tuple | list):
            yield from _floating_dtypes(value)
        elif isinstance(dtype := getattr(value, "dtype", None), DType) and dtype.is_floating:
            yield dtype


def _recast(value: Any, source: DType, target: DType) -> Any:
    if isinstance(value, tuple | list):
        return tuple(_recast(v, source, target) for v in value)
    return ops.cast(value, dtype=target) if getattr(value, "dtype", None) is source else value


def indexed(kind: Kind, skip: int) -> Callable[..., Callable[[Callable[..., Any]], OpDef]]:
    """Return the decorator of ops of a kind, whose functions have `skip` parameters before the tensors."""

    def decorator(
        *,
        type: Callable[..., Any],
        numpy: Callable[..., Any],
        samples: Any,
        tf: str | None = None,
        wide: bool = False,
        **fields: Any,
    ) -> Callable[[Callable[..., Any]], OpDef]:
        def declare(body: Callable[..., Any]) -> OpDef:
            role = {Kind.ASSEMBLY: "pieces", Kind.ROUTINE: "statements", Kind.COMPOSITE: "expand"}.get(
                kind, "element"
            )
            fields[role] = in_float32(body) if wide else body
            if kind is Kind.MOVEMENT:
                fields.setdefault("elements_of", (0,))
            if wide:
                fields["grad"] = in_float32(fields.get("grad"))
            return define(
                kind, body, tf=tf, skip=skip, type=type, reference=numpy, samples=samples, **fields
            )

        return declare

    return decorator


movement = indexed(Kind.MOVEMENT, 1)
windowed = indexed(Kind.REDUCTION, 1)
contraction = indexed(Kind.CONTRACTION, 1)
source = indexed(Kind.SOURCE, 1)
assembly = indexed(Kind.ASSEMBLY, 0)
routine = indexed(Kind.ROUTINE, 1)
composite = indexed(Kind.COMPOSITE, 0)


def structural(
    *, type: Callable[..., Any], tf: str | None = None, numpy: Callable[..., Any] | None = None, **fields: Any
) -> Callable[[Callable[..., Any]], OpDef]:
    """An op that the compiler knows by name. Its function is only a signature and a docstring."""

    def declare(signature: Callable[..., Any]) -> OpDef:
        return define(Kind.STRUCTURAL, signature, tf=tf, type=type, reference=numpy, **fields)

    return declare


def on_host(**fields: Any) -> Callable[[Callable[..., Any]], OpDef]:
    """An op that is computed by its NumPy meaning, called back from the compiled program."""
    return structural(effect=Effect.PURE, **fields)


def host(
    *,
    type: Callable[..., Any],
    tf: str | None = None,
    stateful: bool = False,
    dtypes: Dtypes = EVERY,
    **fields: Any,
) -> Callable[[Callable[..., Any]], OpDef]:
    """An op that only Python can compute: of strings, with a shape that the data decide, with state outside.

    The function gets arrays, and attributes as keywords, and returns an array or a tuple of arrays; strings
    are object arrays of bytes. `type` tells what is known of the results before the run. A `stateful` op is
    called exactly once per run, in the order of construction, and is never merged or computed in advance. Its
    attributes may be any objects; a graph that has such attributes cannot be saved.
    """

    def declare(function: Callable[..., Any]) -> OpDef:
        effect = Effect.HOST if stateful else Effect.PURE
        return define(
            Kind.HOST, function, tf=tf, type=type, reference=function, dtypes=dtypes, effect=effect,
            differentiable=False, **fields,
        )

    return declare


def holomorphic(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A gradient rule written for real numbers, `g * f'(x)`, made right for complex ones too."""

    def conjugating(g: Any, y: Any, *inputs: Any, **attrs: Any) -> Any:
        if not g.dtype.is_complex:
            return rule(g, y, *inputs, **attrs)
        parts = rule(ops.conj(g), y, *inputs, **attrs)
        return tuple(None if part is None else ops.conj(part) for part in parts)

    return conjugating


def sizes(x: Any) -> Any:
    """Return the shape of a value, or of a tensor of a graph: a tensor itself if sizes are unknown there."""
    return x.type.shape if x.type.is_static else ops.shape_of(x)


def conjugate(x: Any) -> Any:
    """The complex conjugate; `x` itself where it is real."""
    return ops.conj(x) if x.dtype.is_complex else x


def same_type(x: TensorType, *_: TensorType, **__: Any) -> TensorType:
    """Type rule: the type of the first input."""
    return x
