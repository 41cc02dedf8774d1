"""NVIDIA's compiler takes functions of the dialect, for each architecture, without a card."""

import re
from pathlib import Path

import pytest

from staticgraph.compiler.codegen.cuda.function import Parameter, call
from staticgraph.compiler.graph.dtypes import bfloat16, float16, float32, float64, int32
from staticgraph.compiler.graph.errors import FailedPreconditionError
from staticgraph.runtime.gpu.cuda import nvrtc
from staticgraph.runtime.gpu.cuda.nvrtc import ARCHITECTURES, CompileError, Usage

needs_nvrtc = pytest.mark.skipif(
    not nvrtc.available(), reason="NVRTC is not here: pip install nvidia-cuda-nvrtc"
)

X, Y = Parameter("x", float32), Parameter("y", float32, written=True)
FOUR = call(
    "four",
    [X, Y],
    """
const int i = blockIdx.x * 256 + threadIdx.x;
float4 v = reinterpret_cast<const float4*>(x)[i];
v.x = v.x * 2.0f + 1.0f;
v.w = rsqrtf(v.w);
reinterpret_cast<float4*>(y)[i] = v;
""",
    (8, 1, 1),
    (256, 1, 1),
).function
REDUCE = call(
    "reduce",
    [X, Y],
    """
SG_SHARED(float, partial, 32);
float sum = 0.0f;
for (int i = threadIdx.x; i < 5000; i += 128) sum += x[blockIdx.x * 5000 + i];
for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(SG_FULL, sum, d);
if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
__syncthreads();
if (threadIdx.x == 0) y[blockIdx.x] = partial[0] + partial[1] + partial[2] + partial[3];
""",
    (8, 1, 1),
    (128, 1, 1),
    True,
).function
NARROW = call(
    "narrow",
    [Parameter("h", float16), Parameter("b", bfloat16, written=True)],
    """
const int i = blockIdx.x * 32 + threadIdx.x;
b[i] = from_float<bfloat_t>(rounded<half_t>(to_float(h[i]) * 3.0f));
""",
    (4, 1, 1),
    (32, 1, 1),
).function
D, N, Z = Parameter("x", float64), Parameter("n", int32), Parameter("z", float64, written=True)
WIDE = call(
    "wide",
    [D, N, Z],
    """
const long long i = blockIdx.x * 64LL + threadIdx.x;
z[i] = pow(tanh(x[i]), 1.5) + __umulhi(n[i], 77u) + __uint_as_float(unsigned(n[i]));
""",
    (4, 1, 1),
    (64, 1, 1),
).function
FUNCTIONS = [FOUR, REDUCE, NARROW, WIDE]
GREEDY = call(
    "greedy",
    [Y],
    """
float kept[150];
#pragma unroll
for (int i = 0; i < 150; i++) kept[i] = y[i * 1024 + threadIdx.x];
__syncthreads();
#pragma unroll
for (int i = 0; i < 150; i++) y[i * 1024 + threadIdx.x] = kept[i] * kept[149 - i];
""",
    (1, 1, 1),
    (1024, 1, 1),
    True,
).function


@needs_nvrtc
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_functions_compile_without_spilling(architecture: str):
    made = nvrtc.inspect(FUNCTIONS, architecture)
    assert made.image.startswith(b"\x7fELF")
    assert set(made.usage) == {f.name for f in FUNCTIONS}
    for used in made.usage.values():
        assert 0 < used.registers <= 64 and used.spilled == 0
    assert made.usage[REDUCE.name].shared == 128
    assert re.search(r"ld\.global\.nc\.v4\.(f32|b32)", made.ptx) and re.search(r"st\.global\.v4", made.ptx)
    assert not re.search(r"(add|mul|fma\.rn)\.ftz", made.ptx)


@needs_nvrtc
def test_registers_that_do_not_suffice_show():
    assert nvrtc.inspect([GREEDY], "sm_90").usage[GREEDY.name].spilled > 0


@needs_nvrtc
def test_memory_that_a_block_is_given_is_none_of_its_own():
    body = "SG_SHARED(float, much, 20000);\nSG_SHARED(int, more, 8);\nmuch[0] = x[0];\ny[0] = much[0];"
    given = call("given", [X, Y], body, (1, 1, 1), (32, 1, 1)).function
    assert given.shared == 80_032 and nvrtc.inspect([given], "sm_90").usage[given.name].shared == 0


@needs_nvrtc
def test_images_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path))
    real, texts = nvrtc._compiled, []
    monkeypatch.setattr(nvrtc, "_compiled", lambda *given: texts.append(given[1]) or real(*given))
    image = nvrtc.compile([FOUR], "sm_90")
    assert image.startswith(b"\x7fELF") and FOUR.name.encode() in image
    assert nvrtc.compile([FOUR], "sm_90") == image and len(texts) == 1
    assert nvrtc.compile([FOUR], "sm_80") != image and len(texts) == 2
    assert nvrtc.compile([REDUCE], "sm_90") != image and len(texts) == 3


@needs_nvrtc
def test_an_image_on_disk_needs_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path))
    image = nvrtc.compile([FOUR], "sm_90")
    nvrtc._version.cache_clear()
    monkeypatch.setattr(nvrtc, "_library", lambda: pytest.fail("the library is loaded"))
    assert nvrtc.compile([FOUR], "sm_90") == image


@needs_nvrtc
def test_an_error_names_function_and_line():
    wrong = call("wrong", [Y], "y[0] = 1.0f;\ny[0] = undeclared;", (1, 1, 1), (1, 1, 1)).function
    message = rf'NVRTC refuses a function for sm_90:\n{wrong.name}\(3\): error: .*"undeclared"'
    with pytest.raises(CompileError, match=message):
        nvrtc.compile([FOUR, wrong], "sm_90")
    with pytest.raises(CompileError, match="sm_1"):
        nvrtc.compile([FOUR], "sm_1")


def test_what_a_log_says_of_each_function():
    log = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
ptxas         .     120 bytes stack frame, 116 bytes spill stores, 236 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 120 bytes cumulative stack size
ptxas info    : Compiling entry function 'b' for 'sm_90'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, 384 bytes cmem[0], 512 bytes smem
"""
    assert nvrtc.usage(log) == {"a": Usage(64, 120, 352, 0), "b": Usage(14, 0, 0, 512)}


def test_without_the_library_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    nvrtc._library.cache_clear()
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(["libnothing-of-that-name.so"]))
    assert not nvrtc.available()
    with pytest.raises(FailedPreconditionError, match=r"NVRTC.* is not here") as caught:
        nvrtc.compile([FOUR], "sm_90")
    assert "staticgraph[cuda13]" in str(caught.value.hint)
    nvrtc._library.cache_clear()
