"""The combiners of the prelude in every dtype: of neighbouring threads, of a warp, and of a block."""

import numpy as np
import pytest

from staticgraph.compiler.codegen.cuda.function import FunctionCall, Parameter, call
from staticgraph.compiler.codegen.cuda.prelude import combiner, register_type
from staticgraph.compiler.codegen.cuda.scalar import loaded as in_register
from staticgraph.compiler.codegen.cuda.scalar import stored as in_memory
from staticgraph.compiler.graph.dtypes import DType, bool_
from staticgraph.compiler.kernel.primitives.functions import PRIMITIVES
from tests.codegen.native import loaded, stored
from tests.codegen.test_llvm_scalar import REAL
from tests.gpu.running import compiled, run, unset

THREADS = 96
KINDS = ("add", "mul", "minimum", "maximum", "and", "or")
CASES = [(c, d) for d in (*REAL, bool_) for c in KINDS if c not in ("and", "or") or not d.is_floating]


def reduction(combine: str, dtype: DType) -> FunctionCall:
    how, kind = combiner(combine, dtype), register_type(dtype)
    results = {"few": f"warp_reduce<{how}, 4>(mine)", "warp": f"warp_reduce<{how}>(mine)"}
    results["block"] = f"block_reduce<{how}, {THREADS}>(mine, partial)"
    lines = [f"SG_SHARED({kind}, partial, {THREADS // 32});"]
    lines += [f"const {kind} mine = {in_register(dtype, 'x[threadIdx.x]')};"]
    lines += [f"{name}[threadIdx.x] = {in_memory(dtype, text)};" for name, text in results.items()]
    parameters = [Parameter("x", dtype), *(Parameter(name, dtype, written=True) for name in results)]
    return call("reduction", parameters, "\n".join(lines), (1, 1, 1), (THREADS, 1, 1), meets=True)


def data(combine: str, dtype: DType) -> np.ndarray:
    """Numbers near 1 for products, and NaN among the first that maxima and minima look at."""
    rng = np.random.default_rng(3)
    if dtype.is_bool:
        return rng.integers(0, 20, THREADS) > (1 if combine in ("mul", "and", "minimum") else 18)
    if dtype.is_integer:
        return rng.integers(-9 if dtype.kind == "int" else 0, 100, THREADS).astype(dtype.numpy)
    x = rng.normal(size=THREADS) * 0.05 + (1 if combine == "mul" else 0)
    x[5] = np.nan if combine in ("minimum", "maximum") else 1
    return dtype.round(x)


@pytest.mark.takes_long
def test_reductions():
    calls = {case: reduction(*case) for case in CASES}
    unit = compiled(calls.values())
    for (combine, dtype), function in calls.items():
        x = data(combine, dtype)
        memory = stored(dtype, x)
        arrays = {"x": memory} | {n: unset((THREADS,), memory.dtype) for n in ("few", "warp", "block")}
        found = run(function, arrays, unit)
        for name, count in (("few", 4), ("warp", 32), ("block", THREADS)):
            parts = x.reshape(-1, count)
            total = parts[:, 0].astype(np.float64 if dtype.is_floating else x.dtype)
            with np.errstate(all="ignore"):
                for k in range(1, count):
                    total = PRIMITIVES[combine].numpy(total, parts[:, k].astype(total.dtype))
            result, what = loaded(dtype, found[name]), f"{combine} of {count} {dtype}"
            expected = np.repeat(total, count)
            if dtype.is_floating:
                close = 0.06 if dtype.name == "bfloat16" else 16 * float(np.finfo(dtype.numpy).eps)
                np.testing.assert_allclose(result.astype(np.float64), expected, close, close, err_msg=what)
            else:
                np.testing.assert_array_equal(result, expected, err_msg=what)
