"""The text of functions as a compiler is given it."""

from __future__ import annotations

from collections.abc import Iterable

from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.compiler.codegen.cuda.prelude import PRELUDE


def source(functions: Iterable[CudaFunction]) -> str:
    """The prelude and these functions. Lines are counted anew in each, so that a message names it."""
    parts = {PRELUDE: "prelude"}
    for function in functions:  # some of which may call the same ones
        parts |= dict.fromkeys((*function.before, function.definition), function.name)
    return "".join(f'#line 1 "{name}"\n{text}\n' for text, name in parts.items())
