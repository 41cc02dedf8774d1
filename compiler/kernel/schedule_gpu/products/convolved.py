"""Convolutions by the library, and what is left for functions of our own: to bring operands into the form
that it wants where they lie otherwise, and to make the results of what it computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from staticgraph.compiler.graph.dtypes import DType, float32
from staticgraph.compiler.kernel.expr import Const, Expr, Load, Reduce, Scalar, substitute, walk
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.schedule_gpu.elements.pointwise import pointwise
from staticgraph.compiler.kernel.schedule_gpu.function import GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution, Made
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.kernel.schedule_gpu.products.windows import (
    Buffers,
    PackedWindow,
    WindowOrder,
    windowed,
)
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.kernel.stmt import Buffer, Store, expressions

# It is for its tensor cores. All bits of float32 are multiplied without them, and then our tiles take as long
# as it does, or half as long by the filter (on an H200, cuDNN 9.19).
_TENSOR_CORES_ALONE = True
# Tensor cores take channels by eights: with fewer, most of a step of theirs is padding, and our tiles, which
# make one sum of channels and taps, waste nothing.
_FEWEST = 8
# Products of numbers: what takes our tiles a few microseconds is not worth another launch, which a library
# call needs for the filter, and mostly one more for the epilogue that our tiles have inside.
_LEAST = 2**24
_IMAGE, _OTHER, _MADE, _WORKSPACE = "image", "other", "convolved", "workspace"  # names of scratch memory


def convolved(nest: Nest, buffers: Buffers, target: GpuTarget) -> GpuSchedule | None:
    """The schedule of a nest whose sums are a convolution by the library; None if the library is not there or
    refuses it, if the sums are no convolution, or if our own functions are as good.
    """
    refused = target.refused
    if refused is None or {_IMAGE, _OTHER, _MADE, _WORKSPACE} & buffers.keys():
        return None
    found = windowed(nest, buffers, target.precision)
    if found is None or not _pays(found.convolution):
        return None
    core = _core(found.sum, found.convolution.dtype, nest.stores)
    if core is None:
        return None
    packing: list[Nest] = []
    scratch: dict[str, Buffer] = {}

    def operand(packed: PackedWindow, name: str) -> str:
        if packed.lies_so:
            return packed.element.buffer
        scratch[name] = Buffer(packed.element.dtype, packed.order.shape, written=True)
        packing.append(Nest(packed.order.loops, (Store(name, packed.order.at, packed.element),)))
        return name

    first, second = operand(found.image, _IMAGE), operand(found.other, _OTHER)
    stored = _target(nest.stores, core, found.made, buffers)
    if stored is None:
        scratch[_MADE] = Buffer(core.dtype, found.made.shape, written=True)
        result = Load(_MADE, found.made.at, core.dtype)
    else:
        result = Load(stored.buffer, stored.at, core.dtype)
    names = second, result.buffer
    filter, made = names if found.convolution.made is Made.RESULT else reversed(names)
    convolution = replace(found.convolution, image=first, filter=filter, result=made, workspace=_WORKSPACE)
    if convolution in refused:
        return None
    left = [replace(s, value=substitute(s.value, {core: result})) for s in nest.stores if s is not stored]
    every = {**buffers, **scratch}
    before = pointwise(packing, every, target.machine) if packing else []
    after = pointwise([Nest(nest.domain, tuple(left))], every, target.machine) if left else []
    sizes = {name: buffer.size * buffer.dtype.size for name, buffer in scratch.items()}
    return GpuSchedule((*before, convolution, *after), (*sizes.items(), (_WORKSPACE, convolution.room)))


def _pays(convolution: Convolution) -> bool:
    """True if the library is estimated to be faster than our own functions."""
    exact = convolution.dtype is float32 and convolution.precision is Precision.FLOAT32
    if exact and _TENSOR_CORES_ALONE:
        return False
    return min(convolution.inputs, convolution.outputs) >= _FEWEST and convolution.work >= _LEAST


def _core(total: Reduce, dtype: DType, stores: Sequence[Store]) -> Expr | None:
    """Return the expression that the library computes: the sum, or the sum cast to a 16-bit `dtype`.

    None if `dtype` is not float32 and a stored value needs the sum before the cast.
    """
    if dtype is float32:
        return total
    core = Scalar("cast", (total,), dtype)
    hidden = (substitute(s.value, {core: Const(0, dtype)}) for s in stores)
    return None if total in walk(*hidden) else core


def _target(stores: Sequence[Store], core: Expr, order: WindowOrder, buffers: Buffers) -> Store | None:
    """The store of nothing but what the library computes, into a buffer that is of use to it as it is."""
    read = {e.buffer for s in stores for e in walk(*expressions(s)) if isinstance(e, Load)}
    plain = (s for s in stores if s.value is core and s.buffer not in read)
    return next((s for s in plain if order.is_that_of(s.at, buffers[s.buffer])), None)
