"""Python's operators and NumPy-like methods, for everything that ops accept: tensors, values and patterns.

The functions behind them are registered by the ops
(`opdef.METHODS`), since this layer knows no particular op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.graph.errors import NoArrayError, misuse, shown
from staticgraph.compiler.graph.opdef import METHODS, OPS, PRIMITIVE_OPS

_IN_GRAPH = "use the function of this library in the graph; or take what Session.run gives"


def _binary(name: str, reverse: bool = False) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if reverse:
            return METHODS[name](other, self)
        try:
            return METHODS[name](self, other)
        except TypeError:
            if _knows_better(other, f"__r{name}__"):
                return NotImplemented
            raise

    operator.__name__ = f"__{'r' if reverse else ''}{name}__"
    return operator


def _knows_better(other: Any, reflected: str) -> bool:
    """Return True if `other`, which is no operand here, has an operator of its own, as a SparseTensor has."""
    is_operand = isinstance(other, Operators | np.ndarray | np.generic | Number | str | bytes)
    return not is_operand and hasattr(type(other), reflected)


def _unary(name: str) -> Callable[[Any], Any]:
    def operator(self: Any) -> Any:
        return METHODS[name](self)

    operator.__name__ = f"__{name}__"
    return operator


_MISSED = {  # what is looked for in tensors, and why it is not there
    "assign assign_add assign_sub load initializer initialized_value scatter_update": (
        "only a Variable has it; `v = v + 1` makes v a tensor: give that another name"
    ),
    "numpy item tolist": "take what Session.run gives, or x.eval() inside of `with Session():`",
    "backward grad requires_grad": "gradients(y, x) are tensors; an optimizer's minimize(loss) uses them",
    "cuda cpu to": "Session(device='gpu') chooses where a graph runs",
    "detach data": "stop_gradient(x) is x without a way for gradients",
    "view": "reshape(x, shape)",
    "permute": "transpose(x, perm)",
    "unsqueeze": "expand_dims(x, axis)",
    "size": "x.shape is the shape as far as it is known, size(x) the number of elements in the graph",
    "dim": "x.shape.ndims is the number of axes",
    "float double half int long type": "cast(x, dtype)",
    "expand": "broadcast_to(x, shape)",
    "append": "concat([x, y], axis) makes another tensor; TensorArray holds many",
}


def _renamed(pairs: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in pairs.split())


# Operators and operations by the names of NumPy's functions, where those are others.
_UFUNCS = _renamed(
    "add=add subtract=sub multiply=mul divide=truediv floor_divide=floordiv remainder=mod power=pow "
    "matmul=matmul bitwise_and=and bitwise_or=or bitwise_xor=xor left_shift=lshift right_shift=rshift "
    "less=lt less_equal=le greater=gt greater_equal=ge"
)
_NAMES = _renamed(
    "absolute=abs arcsin=asin arccos=acos arctan=atan arctan2=atan2 arcsinh=asinh arccosh=acosh "
    "arctanh=atanh isnan=is_nan isinf=is_inf isfinite=is_finite conjugate=conj fmax=maximum fmin=minimum"
)


class Operators:
    """Arithmetic, comparison and indexing; methods such as `x.sum(axis=0)` through `opdef.METHODS`."""

    __slots__ = ()
    __array_ufunc__: Any = None  # so that `array + tensor` asks the tensor

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("sub"), _binary("sub", True)
    __mul__, __rmul__ = _binary("mul"), _binary("mul", True)
    __truediv__, __rtruediv__ = _binary("truediv"), _binary("truediv", True)
    __floordiv__, __rfloordiv__ = _binary("floordiv"), _binary("floordiv", True)
    __mod__, __rmod__ = _binary("mod"), _binary("mod", True)
    __pow__, __rpow__ = _binary("pow"), _binary("pow", True)
    __matmul__, __rmatmul__ = _binary("matmul"), _binary("matmul", True)
    __and__, __rand__ = _binary("and"), _binary("and", True)
    __or__, __ror__ = _binary("or"), _binary("or", True)
    __xor__, __rxor__ = _binary("xor"), _binary("xor", True)
    __lshift__, __rlshift__ = _binary("lshift"), _binary("lshift", True)
    __rshift__, __rrshift__ = _binary("rshift"), _binary("rshift", True)
    __lt__, __le__, __gt__, __ge__ = _binary("lt"), _binary("le"), _binary("gt"), _binary("ge")
    __neg__, __abs__, __invert__ = _unary("neg"), _unary("abs"), _unary("invert")
    __getitem__ = _binary("getitem")

    # What a library overloads for objects that stand for tensors.
    OVERLOADABLE_OPERATORS = frozenset(name for name, value in vars().items() if callable(value))

    @property
    def T(self) -> Any:
        """The tensor with its axes in reverse order."""
        return METHODS["transpose"](self)

    def __dir__(self) -> list[str]:
        known = super().__dir__()
        return sorted({*known, *(name for name in METHODS.homes() if f"__{name}__" not in known)})

    if not TYPE_CHECKING:  # type checkers are told of methods by `Tensor`, and shall find misspelt ones

        def __getattr__(self, name: str) -> Any:
            function = None if name.startswith("_") else METHODS.get(name)
            if function is None:
                text = f"{type(self).__name__} has no attribute {name!r}"
                hint = next((told for names, told in _MISSED.items() if name in names.split()), None)
                raise AttributeError(text) if hint is None else misuse(AttributeError, text, hint)
            return lambda *args, **kwargs: function(self, *args, **kwargs)

    def read_scalar(self, name: str, args: tuple[Any, ...]) -> Any:
        """A scalar body read as graph operations: see kernel/scalar.py."""
        return PRIMITIVE_OPS[name](*args)


class Symbolic(Operators):
    """Base class of objects without a value while the graph is built.

    Uses of the value by Python or NumPy raise an error.
    """

    __slots__ = ()

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Take part in `array + tensor`, which NumPy asks first. Its other functions need values."""
        name = function.__name__
        if method == "__call__" and not kwargs and len(inputs) == 2:
            if name in _UFUNCS:
                return METHODS[_UFUNCS[name]](*inputs)
            if name in ("equal", "not_equal"):  # as everywhere: is it the same tensor?
                return (inputs[0] is inputs[1]) == (name == "equal")
        known = _NAMES.get(name, name)
        hint = f"the function of this library is {known}" if known in OPS else _IN_GRAPH
        raise misuse(
            TypeError, f"np.{name} needs the value of {shown(self)}, and the graph is being built", hint
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        hint = "make another tensor, with where or concat; a Variable's part is assigned by scatter_update"
        raise misuse(TypeError, f"the elements of a {type(self).__name__} cannot be assigned", hint)

    def experimental_ref(self) -> Any:
        """A reference for sets and dicts: equal to others of this same object, which `deref()` returns."""
        from staticgraph.compiler.support.reference import Reference  # few programs need it

        return Reference(self)

    def _as_number(self) -> Any:
        hint = "convert in the graph: cast(x, ...); or take what Session.run gives"
        raise misuse(TypeError, f"{shown(self)} has no value while the graph is built", hint)

    __float__ = __int__ = __complex__ = _as_number

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise misuse(NoArrayError, f"{shown(self)} cannot be an array while the graph is built", _IN_GRAPH)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.__array__()


if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    # Whatever `convert_to_tensor` takes.
    TensorLike = Operators | ArrayLike | Sequence["TensorLike"]
