"""A batch of several axes, of which the library knows one: a product for each point of the others, or one
product and the addresses of all its matrices.

The addresses are written by a function of our own each time before the product. So they need no memory that
outlives it, nothing is uploaded, and a captured graph may be moved to other buffers like any other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from staticgraph.compiler.codegen.cuda.function import FunctionCall, Parameter, call
from staticgraph.compiler.codegen.cuda.limits import THREADS
from staticgraph.compiler.codegen.cuda.product import Matrix, Product
from staticgraph.compiler.codegen.cuda.products.axes import Axis
from staticgraph.compiler.graph.dtypes import uint64
from staticgraph.compiler.kernel.expr import Index


def apart(product: Product) -> Iterator[Product]:
    """The same as products whose batches have one axis."""
    for point in itertools.product(*map(range, product.axes)):

        def there(matrix: Matrix, point: tuple[int, ...] = point) -> Matrix:
            moved = sum(step * at for step, at in zip(matrix.steps, point, strict=True))
            return replace(matrix, offset=matrix.offset + moved, steps=())

        a, b, out = map(there, (product.a, product.b, product.out))
        yield replace(product, axes=(), a=a, b=b, out=out)


def pointers(product: Product) -> FunctionCall:
    """The call that writes the addresses of all matrices, a thread those of one point of the batch."""
    extents = (*product.axes, product.batch)
    axis = Axis("at", tuple(Index(f"axis{n}", extent) for n, extent in enumerate(extents)))
    lines = [
        f"const uint32_t point = blockIdx.x * {THREADS} + threadIdx.x;",
        f"if (point >= {axis.extent}u) return;",
        *axis.split("point"),
    ]
    for number, matrix in enumerate((product.a, product.b, product.out)):
        steps = zip(axis.values.values(), (*matrix.steps, matrix.batch_stride), strict=True)
        terms = [f"int64_t({value}) * {step}" for value, step in steps if step]
        at = " + ".join([matrix.buffer, *([str(matrix.offset)] if matrix.offset else []), *terms])
        place = f"point + {number * axis.extent}" if number else "point"
        lines.append(f"{product.pointers}[{place}] = reinterpret_cast<uint64_t>({at});")
    operands = dict.fromkeys((product.a.buffer, product.b.buffer, product.out.buffer))
    parameters = [Parameter(name, product.dtype) for name in operands]
    parameters.append(Parameter(product.pointers, uint64, written=True))
    blocks = -(-axis.extent // THREADS)
    return call("pointers", parameters, "\n".join(lines), (blocks, 1, 1), (THREADS, 1, 1))
