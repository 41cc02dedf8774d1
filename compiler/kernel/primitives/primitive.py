"""`Primitive`: everything that the compiler knows about one scalar operation.

`instructions.py` beside this file has the records of what processors compute with instructions,
`functions.py` those of functions that are made of these. No other list names the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.dtypes import DType, bool_
from staticgraph.compiler.kernel.expr import Expr, Scalar, number
from staticgraph.compiler.support.dataclass import dataclass

# Kinds of dtypes.
FLOATING = frozenset({"float"})
INTEGERS = frozenset({"int", "uint"})
NUMBERS = FLOATING | INTEGERS
BITS = INTEGERS | {"bool"}
ANY = NUMBERS | {"bool"}

# Costs of an operation, in additions of vectors of the same dtype. `cost.py` has the time of one of these.
ADDITION = 1.0
# Divisions and square roots. Tuned on kernels that also load and store; by itself, a division takes more.
DIVISION = 4.0
# Half the operations of the formula of exp in float32 (23, or up to 39 for other functions of one number in
# frequent use): a core begins two of them in a cycle, and their operands are in registers.
FUNCTION = 12.0
LGAMMA, DIGAMMA, BESSEL = 140.0, 90.0, 25.0  # half of 281, 181 and about 50 operations


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of an operation in some language, by the kind of its operands; None: it has no such form.

    `unsigned` is that of unsigned integers, `half` of float16 and bfloat16 and `float16` of this one, where
    they differ.
    """

    floating: str | None = None
    integer: str | None = None
    boolean: str | None = None
    unsigned: str | None = None
    half: str | None = None
    float16: str | None = None

    def of(self, dtype: DType) -> str | None:
        """The text for operands of a dtype."""
        if dtype.is_bool:
            return self.boolean
        if dtype.is_integer:
            return self.unsigned or self.integer if dtype.is_unsigned else self.integer
        half = self.half if dtype.size == 2 else None
        return (self.float16 if dtype.name == "float16" else None) or half or self.floating


@dataclass(frozen=True, slots=True)
class Approximation:
    """A function of floating numbers as an expression of simpler operations, for all arguments.

    A formula gets the `Width` of the dtype and the operands. `in_float64`: also float32, computed in float64,
    by `single` if that is given, a formula of float64 that is just precise enough for float32.
    The others are of float32 alone: `fast` has a larger error, `table` also gets how many numbers one
    instruction looks up. `far`: for huge arguments, for which `formula` keeps the primitive behind a select.
    """

    formula: Callable[..., Any]
    in_float64: bool = False
    single: Callable[..., Any] | None = None
    fast: Callable[..., Any] | None = None
    table: Callable[..., Any] | None = None
    table_is_fastest: bool = False  # as fast as `fast`, and more precise
    far: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Primitive:
    """A scalar operation.

    Args:
        name: what expressions call it.
        arity: number of operands. They have one dtype, but for the condition of `select`.
        numpy: its meaning, on arrays or numbers.
        takes: kinds of dtypes of the operands.
        predicate: the result is bool; otherwise it has the dtype of the last operand.
        exact: operands of float16 and bfloat16, computed in float32, need no rounding of the result.
        cost: throughput of a core, in additions on vectors.
        flops: floating operations that it counts as, by the custom of the field.
        llvm: an instruction ("fadd"), comparison ("fcmp oeq") or intrinsic ("llvm.sqrt") of LLVM. Without a
            text, the operation takes several, in `codegen/llvm/scalar.py`, or is a formula.
        cuda: an expression in CUDA C. `{0}`, `{1}` and `{2}` are the operands, `{f}` is "f" except in float64
            and `{half}` is the type of a 16-bit number in memory. Without a text the formula is used.
        approximation: a function as expressions, for processors, which have no instruction for it.
        result: the dtype of the result by that of the last operand, if they differ.
    """

    name: str
    arity: int
    numpy: Callable[..., Any]
    takes: frozenset[str] = FLOATING
    predicate: bool = False
    exact: bool = False
    cost: float = ADDITION
    flops: int = 1
    llvm: Texts = Texts()
    cuda: Texts = Texts()
    approximation: Approximation | None = None
    result: Callable[[DType], DType] | None = None

    def __call__(self, *args: Any) -> Any:
        """The operation on `args`, read as kernel expression, graph operation or NumPy value."""
        first = 1 if self.name == "select" else 0  # a condition has a dtype of its own
        for a in args:
            if not isinstance(a, Expr):
                tensors = [a for a in args if hasattr(a, "read_scalar")]
                if tensors:
                    return tensors[0].read_scalar(self.name, args)
                typed = [a.dtype for a in args[first:] if isinstance(a, Expr)]
                if not typed and not any(isinstance(a, Expr) for a in args):
                    return self.numpy(*args)
                args = tuple([a if isinstance(a, Expr) else number(a, typed[0]) for a in args])
                break
        dtype = args[-1].dtype
        for operand in args[first:]:
            if operand.dtype is not dtype:
                dtypes = ", ".join(o.dtype.name for o in args)
                raise TypeError(f"{self.name} of {dtypes}: the dtypes differ")
        if self.result is not None:
            dtype = self.result(dtype)
        return Scalar(self.name, args, bool_ if self.predicate else dtype)
