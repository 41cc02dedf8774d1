"""The dialect of CUDA C that functions are written in: `prelude.cuh`, with no header included, precedes them.

The same text is compiled for GPUs and, behind a header that defines `SG_HOST`, for the processor. A number
of dtype float16 or bfloat16 has 16 bits in memory (`half_t`, `bfloat_t`), and is a float in registers whose
value fits the type: `to_float` and `from_float` go from one to the other, `rounded` makes a float fit.
"""

from __future__ import annotations

from pathlib import Path

from staticgraph.compiler.codegen.cuda.function import C_TYPES
from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16

PRELUDE = Path(__file__).with_suffix(".cuh").read_text(encoding="utf-8")


def combiner(combine: str, dtype: DType) -> str:
    """The type that combines two numbers of a dtype: `of` does it, `warp_reduce` takes it.

    >>> from staticgraph.compiler.graph.dtypes import float16
    >>> combiner("maximum", float16)
    'Maximum<half_t>'
    """
    return f"{combine.capitalize()}<{C_TYPES[dtype.name]}>"


def register_type(dtype: DType) -> str:
    """The C type of a number of a dtype, outside memory."""
    return "float" if dtype is float16 or dtype is bfloat16 else C_TYPES[dtype.name]
