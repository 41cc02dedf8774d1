"""Ceilings of a card: what it can move at best, whatever the compiler makes of a graph.

Which form of a kernel is the fastest differs from card to card, and a ceiling that is too low makes all else
look better than it is. So several are tried, and the best of them is the ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_stages import card
from gpu_stages.setting import seconds_per_call
from staticgraph.compiler.codegen.cuda.function import CudaFunction, call
from staticgraph.runtime.gpu.cuda.driver import Direction, Driver

BLOCKS_PER_CORE = 8  # of kernels whose threads go round
THREADS = 256
SECONDS = 0.2  # for each form
_VECTOR = 4  # floats


@dataclass(frozen=True, slots=True)
class Form:
    """A kernel whose threads have so many vectors of 4 floats in flight. `rounds`: there are as many blocks
    as the card runs at a time, which go on to others; else a thread is done with these vectors.
    """

    vectors: int
    rounds: bool

    @property
    def text(self) -> str:
        """Return it as text, to be read."""
        count = "a vector" if self.vectors == 1 else f"{self.vectors} vectors"
        return f"{count} per thread" + (" and round" if self.rounds else "")


COPIES = (Form(1, True), Form(1, False), Form(2, False), Form(4, False))
READS = (Form(1, True), Form(4, True), Form(4, False), Form(8, False))


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Bytes per second by each way to move them."""

    rates: dict[str, float]

    @property
    def best(self) -> float:
        """The ceiling itself."""
        return max(self.rates.values())

    @property
    def text(self) -> str:
        """All of them, the best first."""
        ways = sorted(self.rates.items(), key=lambda way: -way[1])
        return "by " + ", ".join(f"{name} {rate / 1e9:,.0f}" for name, rate in ways)


def ceilings(driver: Driver, size: int) -> tuple[Ceiling, Ceiling]:
    """Return the bytes that are copied, each counted as read and as written, and those that are only read."""
    x, y = driver.allocate(size), driver.allocate(size)
    try:
        copied = _rates(driver, COPIES, [copying(driver, form, size // 4) for form in COPIES], (x, y))
        took = seconds_per_call(
            lambda: driver.copy(y, x, size, Direction.ON_DEVICE), driver.synchronize, SECONDS
        )
        read = _rates(driver, READS, [reading(driver, form, size // 4) for form in READS], (x, y))
        copied["cudaMemcpyAsync"] = 1 / took
        return (
            Ceiling({name: 2 * size * rate for name, rate in copied.items()}),
            Ceiling({name: size * rate for name, rate in read.items()}),
        )
    finally:
        driver.free(x)
        driver.free(y)


def copying(driver: Driver, form: Form, elements: int) -> CudaFunction:
    """Copies so many floats, a multiple of 4."""
    return _function("copying", driver, form, elements, "", "to[at] = v{};")


def reading(driver: Driver, form: Form, elements: int) -> CudaFunction:
    """Reads so many floats. It would write if a sum were a number that it is not."""
    add = "total += (v{0}.x + v{0}.y) + (v{0}.z + v{0}.w);"
    end = "if (total == -12345.678f) y[0] = total;"
    return _function("reading", driver, form, elements, "float total = 0.0f;", add, end)


def _function(
    kind: str, driver: Driver, form: Form, elements: int, begin: str, use: str, end: str = ""
) -> CudaFunction:
    """All loads of a thread come before the first use, so that they are in flight together."""
    count, per_block = elements // _VECTOR, THREADS * form.vectors
    numbers = range(form.vectors)
    loads = [f"float4 v{n} = i + {n * THREADS} < {count} ? from[i + {n * THREADS}] : none;" for n in numbers]
    uses = [
        f"if (i + {n * THREADS} < {count}) {{ int at = i + {n * THREADS}; {use.format(n)} }}" for n in numbers
    ]
    once = "\n".join([*loads, *uses])
    first = f"blockIdx.x * {per_block} + threadIdx.x"
    if form.rounds:
        blocks = BLOCKS_PER_CORE * driver.card.multiprocessors
        once = f"for (int i = {first}; i < {count}; i += {blocks * per_block}) {{\n{once}\n}}"
    else:
        blocks, once = -(-count // per_block), f"int i = {first};\n{once}"
    body = f"""const float4* from = reinterpret_cast<const float4*>(x);
float4* to = reinterpret_cast<float4*>(y);
float4 none = {{0.0f, 0.0f, 0.0f, 0.0f}};
{begin}
{once}
{end}"""
    name = f"{kind}_{form.vectors}{'_round' if form.rounds else ''}"
    return call(name, card.PAIR, body, (blocks, 1, 1), (THREADS, 1, 1)).function


def _rates(
    driver: Driver, forms: Sequence[Form], functions: Sequence[CudaFunction], places: tuple[int, int]
) -> dict[str, float]:
    """Return how often a second each is done."""
    found = {}
    for form, kernel in zip(forms, driver.load(functions), strict=True):
        ask = lambda kernel=kernel: kernel(places)  # noqa: E731
        found[form.text] = 1 / card.seconds(driver, ask, times=5, budget=SECONDS)
    return found
