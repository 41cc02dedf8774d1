"""The scalar primitives by name, and the three readings of a scalar body.

The body of an elementwise op is a formula over scalars. The same formula is read three ways, by what its
arguments are: kernel expressions give a kernel expression, tensors give graph operations (used to
differentiate the body), and anything else gives a NumPy value.

>>> import numpy as np
>>> from staticgraph.compiler.kernel import scalar
>>> float(scalar.exp(0.0))
1.0
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.primitives.instructions import CONVERSIONS, INSTRUCTIONS, PARTS, Primitive
from staticgraph.compiler.kernel.primitives.instructions import bitcast as bitcast
from staticgraph.compiler.kernel.primitives.instructions import cast as cast


def read(name: str, *args: Any) -> Any:
    """The primitive `name` of `args`, read as kernel expression, graph operation or NumPy value."""
    return primitive_of(name)(*args)


def conjugate(x: Expr) -> Expr:
    """The complex conjugate of an expression; a real one is its own."""
    return read("complex", read("real", x), -read("imag", x)) if x.dtype.is_complex else x


def __getattr__(name: str) -> Primitive:
    """`scalar.exp(x)` is `read("exp", x)`; a trailing underscore escapes Python's keywords."""
    if not name.startswith("__"):  # Python asks every module for __path__
        try:
            return primitive_of(name.rstrip("_"))
        except KeyError:
            pass
    raise AttributeError(f"there is no scalar primitive {name}")


def primitive_of(name: str) -> Primitive:
    """Return the record of a primitive by its name. Raises KeyError if there is none."""
    found = INSTRUCTIONS.get(name) or PARTS.get(name)
    if found is None:
        # Formulas are slow to import, and a program that was compiled before needs none.
        from staticgraph.compiler.kernel.primitives.functions import FUNCTIONS

        return FUNCTIONS[name]
    return found


def is_function(name: str) -> bool:
    """Return True for a primitive that is a formula of instructions, such as `exp`."""
    return name not in INSTRUCTIONS and name not in PARTS and name not in CONVERSIONS
