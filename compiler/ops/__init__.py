"""Every op, as a function: `ops.tanh(x)`. The file of an op is imported when the op is first used."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.opdef import METHODS, OPS, PRIMITIVE_OPS
from staticgraph.compiler.ops.index import METHODS_OF, OPS_OF, PRIMITIVES_OF

OPS.found_in(__name__, OPS_OF)
PRIMITIVE_OPS.found_in(__name__, PRIMITIVES_OF)
METHODS.found_in(__name__, METHODS_OF)


def __getattr__(name: str) -> Any:
    try:
        op = globals()[name] = OPS[name]  # found without this function from now on
    except KeyError:
        raise AttributeError(f"there is no op {name}") from None
    return op
