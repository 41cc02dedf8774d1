"""Text of contractions, and what a compiler for GPUs makes of it."""

import re
from functools import cache

import pytest

from staticgraph.compiler.codegen.cuda.function import CudaFunction, FunctionCall
from staticgraph.compiler.graph.dtypes import float32, float64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.kernel.expr import Load
from staticgraph.compiler.kernel.schedule_gpu.products.axes import axes
from staticgraph.compiler.kernel.schedule_gpu.products.direct import outputs_of
from staticgraph.compiler.kernel.schedule_gpu.products.shape import SHAPES, TENSOR_SHAPES, Cut, choose
from staticgraph.runtime.gpu.cuda import nvrtc
from tests.codegen.contraction_cases import Conv, matmul
from tests.gpu.printing import by_tiles, own

pytestmark = pytest.mark.takes_long

IMAGES = Conv((8, 28, 28, 64), (3, 3), 64, before=1, after=1)
PRODUCTS: dict[str, Contraction] = {
    "plain": matmul(512, 512, 512),
    "turned": matmul(512, 512, 512, True, True),
    "odd": matmul(511, 509, 507),
    "bias": matmul(512, 512, 512, c=lambda x, at: scalar.maximum(x + Load("bias", at[1:], float32), 0.0)),
    "gelu": matmul(512, 512, 512, c=lambda x, at: x * 0.5 * (scalar.erf(x * 0.7071) + 1.0)),
    "convolution": IMAGES.contraction("y"),
    "weights": IMAGES.contraction("w"),
    "images": IMAGES.contraction("x"),
    "double": matmul(512, 512, 512, dtype=float64),
    "double convolution": Conv((8, 28, 28, 64), (3, 3), 64, before=1, after=1, dtype=float64).contraction(
        "y"
    ),
}
TENSOR: dict[str, Contraction] = {
    "tensor": matmul(512, 512, 512, dtype=float32),
    "tensor convolution": IMAGES.contraction("y"),
}
DIRECT: dict[str, Contraction] = {
    "depthwise": Conv((8, 28, 28, 64), (3, 3), 64, before=1, after=1, depthwise=True).contraction("y"),
    "depthwise weights": Conv((8, 28, 28, 64), (3, 3), 64, depthwise=True).contraction("w"),
    "columns": matmul(1, 4096, 4096),
    "rows": matmul(1, 4096, 4096, False, True),
}
needs_nvrtc = pytest.mark.skipif(
    not nvrtc.available(), reason="NVRTC is not here: pip install nvidia-cuda-nvrtc"
)


@cache
def functions() -> dict[str, CudaFunction]:
    """The functions, by what they are for."""
    found = {}
    for number, (name, c) in enumerate(PRODUCTS.items()):
        large = [shape for shape in SHAPES if shape.results == 64]
        for shape in (*large, SHAPES[3], *SHAPES[number % 4 :: 4]):
            if shape.suits(c.dtype.size):
                (call,) = by_tiles(c, axes(c), outputs_of(c), Cut(shape, 1, c.depth)).calls
                assert isinstance(call, FunctionCall)
                found[f"{name} {shape.rows}x{shape.columns}"] = call.function
    for number, (name, c) in enumerate(TENSOR.items()):
        for shape in TENSOR_SHAPES[number::2]:
            (call,) = by_tiles(c, axes(c), outputs_of(c), Cut(shape, 1, c.depth)).calls
            assert isinstance(call, FunctionCall)
            found[f"{name} {shape.rows}x{shape.columns}"] = call.function
    for name, c in DIRECT.items():
        for number, call in enumerate(own(c).calls):
            assert isinstance(call, FunctionCall)
            found[f"{name} {number}"] = call.function
    return found


@needs_nvrtc
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_registers_are_enough(architecture):
    """Each architecture compiles every second function: a thread has as many registers on both."""
    named = dict(list(functions().items())[architecture == "sm_90" :: 2])
    usage = nvrtc.inspect(list(named.values()), architecture).usage
    spilled = {
        name: usage[f.name] for name, f in named.items() if usage[f.name].spilled or usage[f.name].stack
    }
    assert not spilled


@needs_nvrtc
@pytest.mark.parametrize(
    ("name", "copies", "loads", "stores"),
    [
        ("plain 128x128", "4 16", "", "v4.f32"),
        ("turned 64x64", "4 16", "", "v4.f32"),
        ("bias 64x64", "4 16", "v4.f32", "v4.f32"),
        ("convolution 128x128", "4 16", "v4.f32", "v4.f32"),
        ("weights 64x64", "16", "", "v4.f32"),
        ("images 64x64", "4", "", "v4.f32"),
        ("double 64x64", "8 16", "", "v2.f64"),
        ("odd 128x128", "4", "", "f32"),
        ("tensor 128x128", "", "v4.f32", "v2.f32"),
        ("depthwise 0", "", "v4.f32", "v4.f32"),
        ("rows 0", "", "v4.f32", "f32"),
    ],
)
def test_memory_is_read_and_written_in_packs(name, copies, loads, stores):
    ptx = nvrtc.inspect([functions()[name]], "sm_80").ptx
    assert set(re.findall(r"cp\.async\.ca\.\S+ \[[^]]*\], *\[[^]]*\], (\d+)", ptx)) == set(copies.split())
    assert set(re.findall(r"ld\.global\.nc\.(\w+(?:\.\w+)?)", ptx)) == set(loads.split())
    assert set(re.findall(r"st\.global\.(\w+(?:\.\w+)?)", ptx)) == set(stores.split())


@needs_nvrtc
def test_tensor_cores_from_their_first_architecture_on():
    function = functions()["tensor 32x32"]
    assert "mma.sync" in nvrtc.inspect([function], "sm_80").ptx
    assert "mma.sync" not in nvrtc.inspect([function], "sm_75").ptx


def test_places_beyond_32_bits():
    (call,) = own(matmul(2**20, 512, 4096)).calls
    assert "int64_t left_at" in call.function.text
    assert "int32_t right_at" in call.function.text
    assert re.search(r"const int64_t at\d = .*int64_t\(m0\)", call.function.text) is None  # 2**29 results
    (call,) = own(matmul(2**20, 4096, 512)).calls
    assert re.search(r"const int64_t at\d = .*int64_t\(m0\)", call.function.text)


@pytest.mark.parametrize(
    ("rows", "columns", "depth"), [(64, 64, 100_000), (10, 512, 8192), (576, 64, 200_704)]
)
def test_long_sums_occupy_the_card(rows, columns, depth):
    cut = choose(rows, columns, depth, 1, 4)
    blocks = cut.slices * -(-rows // cut.shape.rows) * -(-columns // cut.shape.columns)
    assert cut.slices > 1
    assert 100 < blocks < 4000


def test_large_products_have_large_tiles_and_whole_sums():
    cut = choose(8192, 8192, 1024, 1, 4)
    assert (cut.shape.rows, cut.shape.columns, cut.slices) == (128, 128, 1)


def test_equal_contractions_have_equal_names():
    one, two = (own(matmul(40, 50, 60)).calls for _ in range(2))
    assert one == two
