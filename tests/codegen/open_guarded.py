"""Run kernels of open sizes on arrays that end where a page without access begins.

A load or store beyond an array ends the process with a signal. An empty array has no byte that may be read.

    python -m tests.codegen.open_guarded 0 1 17
    python -m tests.codegen.open_guarded 17 --more       arrays are one row shorter than the kernel is told
"""

import ctypes
import mmap
import sys

import numpy as np

from tests.codegen.native import launch
from tests.codegen.open_products import OpenProduct
from tests.codegen.test_open_products import TWO_OPEN, batched
from tests.codegen.test_open_sizes import N, T, code
from tests.kernel.open_cases import OPEN_CASES

_libc = ctypes.CDLL(None, use_errno=True)
_NO_ACCESS = 0


def before_a_page(array: np.ndarray) -> np.ndarray:
    """A copy of an array at the end of its page."""
    inside = -(-max(array.nbytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
    whole = np.frombuffer(mmap.mmap(-1, inside + mmap.PAGESIZE), np.uint8)
    if _libc.mprotect(ctypes.c_void_p(whole.ctypes.data + inside), mmap.PAGESIZE, _NO_ACCESS):
        raise OSError(ctypes.get_errno(), "mprotect")
    copy = whole[inside - array.nbytes : inside]
    copy[:] = array.reshape(-1).view(np.uint8)
    return copy


def main(values: list[int], more: int) -> None:
    """Run all cases at these sizes. Each is named before it runs."""
    for name in OPEN_CASES:
        case, kernel = OPEN_CASES[name](N, T), code(name, N, T)
        for n in values:
            for sizes in ({"n": n, "t": n}, {"n": n, "t": 0}, {"n": 0, "t": n}):
                print(name, sizes, flush=True)
                memory = [before_a_page(a) for a in case.arrays(sizes).values()]
                launch(kernel, [m.ctypes.data for m in memory], {k: v + more for k, v in sizes.items()})
    for letters, shapes in TWO_OPEN[::3]:
        product = OpenProduct(batched(letters, shapes)[0])
        for n in values:
            print(letters, n, flush=True)
            arrays = product.inputs(n, np.random.default_rng(n))
            memory = [before_a_page(arrays[name]) for name in product.c.buffers]
            product.launch([m.ctypes.data for m in memory], n + more)


if __name__ == "__main__":
    numbers = [int(value) for value in sys.argv[1:] if value.isdigit()]
    main(numbers, int("--more" in sys.argv))
