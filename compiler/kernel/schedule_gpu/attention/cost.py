"""Cost model of attention: one fused function, or library products with kernels over rows between them.

One function keeps scores and weights on the chip, and needs one launch instead of three. The library
multiplies much faster. So one function is for short products, and for scores that would take much memory.
"""

from __future__ import annotations

from staticgraph.compiler.kernel.schedule_gpu.attention.form import WEIGHTS, AttentionForm
from staticgraph.compiler.kernel.schedule_gpu.attention.tile import AttentionTile
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.machine import GpuMachine

_QUERIES = 32  # of a block without tensor cores: with fewer, operands are read so much more often
_MUCH = 1 << 30  # bytes of scores: what does not fit is not done sooner


def is_sooner(form: AttentionForm, tile: AttentionTile, precision: Precision, machine: GpuMachine) -> bool:
    """True if one function with this tile is estimated to be as fast as the library, or faster."""
    queries, keys, batch = form.query.extent, form.keys.extent, form.batch.extent
    scores = batch * queries * keys
    if 4 * scores >= _MUCH:
        return True
    depth = form.first.depth + (form.second.lanes.extent if form.second is not None else 0)
    own = machine.own_products * min(1.0, tile.queries / _QUERIES)
    own = machine.own_tensor_products if tile.first.tensor else own
    if 2 * tile.shared > machine.shared_bytes:  # then a block is alone on its multiprocessor: an estimate
        own /= 2
    idle = max(1.0, machine.multiprocessors / (batch * -(-queries // tile.queries)))
    together = machine.launch_us + idle * scores * depth / own
    rounded = precision is not Precision.FLOAT32
    library = machine.library_rounded_products if rounded else machine.library_products
    library = machine.library_short_products if form.is_short else library
    size = form.first.a.dtype.size
    # Scores are written and read, and weights are, which may be written in any case.
    kept = sum(s.buffer != WEIGHTS for nest in form.nests for s in nest.stores if len(s.at) > 1)
    passes = 2 + (2 if form.second is not None else 1) - min(kept, 1)
    launches = 2 if form.second is None else 3
    multiplied, moved = scores * depth / library, passes * scores * size / machine.bytes_per_us
    return together <= launches * machine.launch_us + multiplied + moved
