"""Cost model of attention: one fused function, or library products with kernels over rows between them.

One function keeps scores and weights on the chip, and needs one launch instead of three. The library
multiplies much faster. So one function is for short products, and for scores that would take much memory. The
numbers are those of an H200, per microsecond.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.attention.form import WEIGHTS, AttentionForm
from staticgraph.compiler.codegen.cuda.attention.tile import AttentionTile
from staticgraph.compiler.codegen.cuda.card import CORES
from staticgraph.compiler.codegen.cuda.product import Precision

# Products of numbers: of our own, without and with tensor cores; by the library, of float32 and of 16 bits.
_OWN, _OWN_BY_TENSOR = 10e6, 15e6
_LIBRARY = {Precision.FLOAT32: 21e6, Precision.TF32: 50e6, Precision.BFLOAT16: 50e6}
_LIBRARY_SHORT = 95e6
_QUERIES = 32  # of a block without tensor cores: with fewer, operands are read so much more often
_BYTES = 4e6  # to or from memory
_LAUNCH = 2.5  # microseconds
_MUCH = 1 << 30  # bytes of scores: what does not fit is not done sooner


def is_sooner(form: AttentionForm, tile: AttentionTile, precision: Precision) -> bool:
    """True if one function with this tile is estimated to be as fast as the library, or faster."""
    queries, keys, batch = form.query.extent, form.keys.extent, form.batch.extent
    scores = batch * queries * keys
    if 4 * scores >= _MUCH:
        return True
    depth = form.first.depth + (form.second.lanes.extent if form.second is not None else 0)
    own = _OWN_BY_TENSOR if tile.first.tensor else _OWN * min(1.0, tile.queries / _QUERIES)
    idle = max(1.0, CORES / (batch * -(-queries // tile.queries)))
    together = _LAUNCH + idle * scores * depth / own
    library = _LIBRARY_SHORT if form.is_short else _LIBRARY[precision]
    size = form.first.a.dtype.size
    # Scores are written and read, and weights are, which may be written in any case.
    kept = sum(s.buffer != WEIGHTS for nest in form.nests for s in nest.stores if len(s.at) > 1)
    passes = 2 + (2 if form.second is not None else 1) - min(kept, 1)
    launches = 2 if form.second is None else 3
    return together <= launches * _LAUNCH + scores * depth / library + passes * scores * size / _BYTES
