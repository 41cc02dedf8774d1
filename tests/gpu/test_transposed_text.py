"""Which nests are done in tiles that turn, and what their text is made of."""

from __future__ import annotations

import re

import pytest

import staticgraph as sg
from staticgraph.compiler.graph.dtypes import DTYPES, DType, float16, float32, float64, int32, uint8
from staticgraph.compiler.kernel.expr import Index, Load
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.schedule_gpu.elements import transpose as tiles
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.runtime.gpu.cuda import nvrtc
from tests.gpu.loops import Build, emitted, floats, kinds, loops
from tests.gpu.test_transposed import FUSED, functions, transpose

Inputs = list[tuple[DType, tuple[int, ...]]]
needs_nvrtc = pytest.mark.skipif(
    not nvrtc.available(), reason="NVRTC is not here: pip install nvidia-cuda-nvrtc"
)


@pytest.mark.parametrize(
    ("build", "inputs", "kind"),
    [
        (transpose(), floats((65536, 1024)), "transposed"),
        (transpose(), floats((512, 256)), "transposed"),
        (transpose(), floats((256, 256)), "pointwise"),  # small
        (transpose(0, 2, 1, 3), floats((16, 512, 16, 64)), "pointwise"),  # vectors stay vectors
        (transpose(1, 0), floats((100_000, 2)), "pointwise"),
        (transpose(1, 0), floats((100_000, 3)), "transposed"),
        (transpose(0, 3, 1, 2), floats((64, 56, 56, 3)), "transposed"),
        (transpose(0, 2, 3, 1), floats((64, 3, 56, 56)), "transposed"),
        (transpose(0, 2, 3, 1), floats((64, 64, 56, 56)), "transposed"),
        (transpose(0, 3, 1, 2), floats((64, 56, 56, 64)), "transposed"),
        (transpose(0, 1, 3, 2), floats((16, 16, 512, 64)), "transposed"),
        (transpose(0, 2, 1), floats((10_000, 8, 8)), "pointwise"),  # matrices fit the cache
        (transpose(3, 0, 1, 2), floats((3, 3, 256, 256)), "transposed"),
        (lambda x: [x[:, ::2]], floats((4096, 256)), "pointwise"),
        (lambda x: [x + 1.0], floats((4096, 256)), "pointwise"),
        (lambda x, b: [x + sg.reshape(b, [-1, 1])], floats((4096, 256), (4096,)), "pointwise"),
        (
            lambda x, at: [sg.gather(sg.transpose(x), at)],
            [(float32, (512, 512)), (int32, (512,))],
            "pointwise",
        ),
    ],
)
def test_which_nests_are_done_in_tiles(build: Build, inputs: Inputs, kind: str):
    assert {kind for kernel in loops(build, *inputs) for kind in kinds(emitted(kernel))} == {kind}


def bank_conflicts(plan: tiles.TransposeSchedule, load: Load) -> int:
    """Return the most threads that meet in a bank as they write at the same time, 128 bytes together."""
    size, pitch = load.dtype.size, plan.pitch(load)
    reach = max(plan.width * size, 4)
    worst = 0
    for start in range(0, tiles.THREADS, 128 // reach):
        threads = range(start, start + 128 // reach)
        places = [(t % plan.lines) * pitch * size + t // plan.lines * plan.width * size for t in threads]
        groups = [at // 4 * 4 // reach % (128 // reach) for at in places]
        words = {(at // 4, group) for at, group in zip(places, groups, strict=True)}
        worst = max(worst, *(sum(g == group for _, g in words) for group in groups))
    return worst


@pytest.mark.parametrize("dtype", [uint8, float16, float32, float64], ids=lambda d: d.name)
@pytest.mark.parametrize("shape", [(512, 512), (513, 511), (32, 8192), (8192, 16)])
def test_threads_write_to_different_banks(dtype: DType, shape: tuple[int, int]):
    i, j = Index("i", shape[0]), Index("j", shape[1])
    load = Load("x", (j, i), dtype)
    buffers = {"x": Buffer(dtype, shape[::-1]), "y": Buffer(dtype, shape, written=True)}
    plan = tiles.transpose(Nest((i, j), (Store("y", (i, j), load),)), buffers)
    assert plan is not None and bank_conflicts(plan, load) == 1


GRAPHS: dict[str, tuple[Build, Inputs]] = {
    **{
        f"{name} {rows}": (transpose(), [(DTYPES[name], (rows, columns))])
        for name in ("uint8", "bfloat16", "float32", "float64", "bool")
        for rows, columns in ((1024, 1024), (1026, 1030), (1025, 1023), (16, 16384), (65536, 24))
    },
    "channels last": (transpose(0, 2, 3, 1), floats((64, 64, 56, 56))),
    "channels first": (transpose(0, 3, 1, 2), floats((64, 56, 56, 64))),
    **FUSED,
    "dropout": (lambda x: [sg.nn.dropout(sg.transpose(x), 0.5)], floats((1023, 511))),
}


@needs_nvrtc
@pytest.mark.takes_long(2)
@pytest.mark.parametrize("architecture", nvrtc.ARCHITECTURES)
def test_tiles_stay_in_registers(architecture: str, monkeypatch: pytest.MonkeyPatch):
    """All functions on the architecture that they are written for, a part of them on each of the others."""
    monkeypatch.setattr(tiles, "LEAST", 1)
    others = [a for a in nvrtc.ARCHITECTURES if a != "sm_90"]
    part = slice(None) if architecture == "sm_90" else slice(others.index(architecture), None, len(others))
    graphs = [*GRAPHS.values()][part]
    asked = {f.name: f for build, inputs in graphs for f in functions(loops(build, *inputs))}
    assert asked
    made = nvrtc.inspect(list(asked.values()), architecture)
    assert all(f.kind == "transposed" for f in asked.values())
    for name, used in made.usage.items():
        text = asked[name].text
        assert used.stack == used.spilled == 0 and used.registers <= 80 and used.shared <= 48 << 10, text


@needs_nvrtc
def test_all_elements_of_a_thread_are_on_their_way_before_the_first_is_used():
    """64 bytes of each of 256 threads, of which eight blocks fit a multiprocessor: 128 KiB."""
    (function,) = functions(loops(transpose(), *floats((65536, 1024))))
    made = nvrtc.inspect([function], "sm_90")
    before, after = made.ptx.split("bar.sync")
    reads, kept = ["ld.global.nc.v4.f32"] * 4, ["st.shared.v4.f32"] * 4
    assert re.findall(r"ld\.global\S*|st\.shared\S*", before) == reads + kept
    assert re.findall(r"ld\.shared\S*|st\.global\S*", after) == ["ld.shared.v4.f32", "st.global.v4.f32"] * 4
    used = made.usage[function.name]
    assert used.registers <= 32 and used.shared <= 227 << 7
