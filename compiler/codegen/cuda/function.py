"""Work of a GPU for one kernel: functions in CUDA C, the threads that run them, and the memory they get."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from staticgraph.compiler.codegen.abi import Listing
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.size_contexts import current_names
from staticgraph.compiler.graph.sizes import AnySize, evaluate, is_open
from staticgraph.compiler.kernel.schedule_gpu.function import Extents, FunctionSchedule, Grid
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.kernel.schedule_gpu.target import SHARED_BYTES, VECTOR_BYTES
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.support.dataclass import dataclass

C_TYPES = {f"{kind}{bits}": f"{kind}{bits}_t" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
C_TYPES |= {
    "float16": "half_t",
    "bfloat16": "bfloat_t",
    "float32": "float",
    "float64": "double",
    "bool": "bool",
}
_SHARED = re.compile(r"\bSG_SHARED\((?P<type>\w+), \w+, (?P<n>\d+)\)")
_BYTES = {"bool": 1, "half_t": 2, "bfloat_t": 2, "int": 4, "float": 4}  # of an element; others say their bits


@dataclass(frozen=True, slots=True)
class Parameter:
    """A pointer to the elements of a buffer. One that is `written` may be read as well; an `aliased` one may
    point to what others point to.
    """

    name: str
    dtype: DType
    written: bool = False
    aliased: bool = False

    @property
    def pointer(self) -> str:
        """The C type of the pointer."""
        kind = C_TYPES[self.dtype.name]
        return f"{kind if self.written else f'const {kind}'}*"

    @property
    def text(self) -> str:
        """Its declaration."""
        return f"{self.pointer}{'' if self.aliased else ' __restrict__'} {self.name}"


@dataclass(frozen=True, slots=True)
class CudaFunction:
    """A `__global__` function, and the threads that run it: `grid` blocks of `block` threads.

    `text` defines it, and needs the prelude before it. Equal functions have equal names.

    Args:
        name: Its name.
        parameters: Its first parameters: pointers.
        sizes: Names of those that come after them: integers.
        body: What it does, which refers to `blockIdx` and `threadIdx`.
        grid: Numbers of blocks; None if a call tells them, which depend on sizes then.
        block: Numbers of threads.
        meets: True if its threads wait for each other, at barriers or in shuffles.
        shared: Bytes of shared memory that a block has to be given, if it needs more than it has without
            being asked.
        declared: Bytes of shared memory that the body declares, at most.
        blocks_per_core: Blocks that a multiprocessor has room for at least; None leaves that open.
        before: Definitions of functions that the body calls.
    """

    name: str
    parameters: tuple[Parameter, ...]
    sizes: tuple[str, ...]
    body: str
    grid: Extents | None
    block: Extents
    meets: bool = False
    shared: int = 0
    declared: int = 0
    blocks_per_core: int | None = None
    before: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def kind(self) -> str:
        """Kind of the function: its name without the digest."""
        return self.name.rpartition("_")[0]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return math.prod(self.block)

    @property
    def declarations(self) -> str:
        """Its parameters as they are declared."""
        return ", ".join([*(p.text for p in self.parameters), *(f"const int {name}" for name in self.sizes)])

    @property
    def text(self) -> str:
        """Its definition, after those of the functions that it calls."""
        return "\n".join([*self.before, self.definition])

    @property
    def definition(self) -> str:
        """Its definition alone."""
        least = "" if self.blocks_per_core is None else f", {self.blocks_per_core}"
        bounds = f"__launch_bounds__({self.threads}{least})"
        head = f'extern "C" __global__ void {bounds} {self.name}({self.declarations})'
        return f"{head} {{\n{indented(self.body)}\n}}"


def indented(text: str) -> str:
    """Indent lines by two spaces."""
    return "\n".join(f"  {line}" if line else line for line in text.split("\n"))


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function and its arguments.

    Attributes:
        function: The function.
        arguments: Buffers of the kernel, or pieces of its scratch memory.
        written: True for each argument that the function writes to.
        sizes: Open sizes, which follow the other arguments.
        blocks: Numbers of blocks that depend on open sizes; None for those of the function.
    """

    function: CudaFunction
    arguments: tuple[str, ...]
    written: tuple[bool, ...]
    sizes: tuple[AnySize, ...] = ()
    blocks: Grid | None = None

    @property
    def grid(self) -> Grid:
        """Numbers of blocks."""
        found = self.function.grid if self.blocks is None else self.blocks
        assert found is not None, self.function.name
        return found

    def at(self, values: Mapping[str, int]) -> FunctionCall:
        """Return the call for values of the open sizes."""
        if self.blocks is None and not self.sizes:
            return self
        x, y, z = (evaluate(n, values) for n in self.grid)
        return replace(self, sizes=tuple(evaluate(n, values) for n in self.sizes), blocks=(x, y, z))


@dataclass(frozen=True, slots=True)
class KernelWork:
    """Work of a kernel on a GPU: `calls`, made one after the other.

    `scratch` lists scratch memory by name, in bytes. This memory lives from the first call to the last, and
    its initial contents are undefined.
    """

    calls: tuple[FunctionCall | Product | Convolution, ...]
    scratch: tuple[tuple[str, AnySize], ...] = ()

    def at(self, values: Mapping[str, int]) -> KernelWork:
        """Return the work for values of the open sizes."""
        calls = (call if isinstance(call, Convolution) else call.at(values) for call in self.calls)
        return KernelWork(tuple(calls), tuple((name, evaluate(n, values)) for name, n in self.scratch))

    @property
    def cost(self) -> None:
        """None: nobody knows beforehand how long a GPU takes."""

    @property
    def listings(self) -> tuple[Listing, ...]:
        """Its functions, to be looked at."""
        return tuple(map(_listing, self.calls))


def _listing(each: FunctionCall | Product | Convolution) -> Listing:
    match each:
        case FunctionCall(function):
            threads = f"{math.prod(each.grid)} × {math.prod(function.block)}"
            return Listing(function.name, function.text, f"{function.kind} {threads}")
        case Product():
            batch = "".join(f"{n} × " for n in (*each.axes, each.batch) if n > 1)
            return Listing(each.name, each.text, f"cuBLAS {batch}({each.m} × {each.k} × {each.n})")
        case Convolution():
            return Listing(each.name, each.text, f"cuDNN ({each.sizes})")


def call(
    kind: str,
    parameters: Sequence[Parameter],
    body: str,
    grid: Grid,
    block: Extents,
    meets: bool = False,
    blocks_per_core: int | None = None,
) -> FunctionCall:
    """The call of a function with this body. Its name is `kind`, and a digest of what it says.

    `blocks_per_core`: how many blocks a multiprocessor should have room for at least; more of them leave
    fewer registers to each.

    >>> from staticgraph.compiler.graph.dtypes import float32
    >>> y = Parameter("y", float32, written=True)
    >>> print(call("twice", [y], "y[threadIdx.x] *= 2.0f;", (1, 1, 1), (32, 1, 1)).function.text)
    extern "C" __global__ void __launch_bounds__(32) twice_08040c4c75(float* __restrict__ y) {
      y[threadIdx.x] *= 2.0f;
    }
    """
    sizes: Mapping[Any, str] = current_names() or {}
    body = body.strip("\n")
    for name in sorted({text[:-1] for text in re.findall(r"\bsize\d+u\b", body)}):
        body = f"const unsigned {name}u = {name};\n{body}"
    declared = sum(size for _, size in _shared_arrays(body))
    body, given = _given(body)
    own = None if sizes or is_open(grid) else grid
    made = CudaFunction(
        "",
        tuple(parameters),
        tuple(sizes.values()),
        body,
        own,
        block,
        meets,
        given,
        declared,
        blocks_per_core,
    )
    digest = hashlib.sha256(f"{kind} {made.text} {own} {block} {meets}".encode()).hexdigest()[:10]
    function = replace(made, name=f"{kind}_{digest}")
    names, written = tuple(p.name for p in parameters), tuple(p.written for p in parameters)
    return FunctionCall(function, names, written, tuple(sizes), grid if own is None else None)


def _shared_arrays(body: str) -> list[tuple[str, int]]:
    """Return the shared arrays that a body declares: the text of each declaration, and bytes."""

    def size(kind: str, count: int) -> int:
        bits = re.search(r"\d+", kind)
        each = _BYTES.get(kind) or (int(bits.group()) // 8 if bits else 8)
        return -(-each * count // VECTOR_BYTES) * VECTOR_BYTES

    return [(each.group(), size(each["type"], int(each["n"]))) for each in _SHARED.finditer(body)]


def _given(body: str) -> tuple[str, int]:
    """Return a body, and the bytes of shared memory that its blocks are given: none if it needs little."""
    arrays = _shared_arrays(body)
    total = sum(size for _, size in arrays)
    if total <= SHARED_BYTES:
        return body, 0
    start = 0
    for text, size in arrays:
        body = body.replace(text, f"{text[:-1]}, {start})".replace("SG_SHARED(", "SG_GIVEN("), 1)
        start += size
    return body, total


def call_of(made: FunctionSchedule, arguments: Sequence[Parameter], body: str) -> FunctionCall:
    """The call of the function of a schedule."""
    block = (made.threads, 1, 1)
    return call(made.kind, arguments, body, made.grid, block, made.meets, made.blocks_per_core)


def parameters(buffers: Mapping[str, Buffer], written: Set[str], used: str | Set[str]) -> list[Parameter]:
    """The buffers that a function reads or writes: of these names, or those in memory that a body names."""
    if isinstance(used, str):
        used = {name for name in re.findall(r"\w+", used) if name in buffers and not buffers[name].local}
    return [Parameter(name, b.dtype, name in written) for name, b in buffers.items() if name in used]
