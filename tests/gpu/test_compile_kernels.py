"""The tool that compiles all kernels without a GPU collects them, and finds what a GPU would not like."""

import numpy as np
import pytest
from compile_kernels import lines
from kernel_text.collector import Collector, Found, collecting, run_thrice
from kernel_text.compiling import Report, compiled, faults
from kernel_text.programs import KINDS, programs

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import CudaFunction, Parameter, call
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.runtime.gpu.cuda import nvrtc
from staticgraph.runtime.gpu.cuda.nvrtc import Usage

Y = Parameter("y", float32, written=True)


def function(body: str, threads: int = 32) -> CudaFunction:
    return call("each", [Y], body, (1, 1, 1), (threads, 1, 1)).function


def test_a_step_leaves_its_functions_and_their_grids():
    with collecting() as found:
        (run,) = (run for name, run in programs(["steps"]) if name == "step small_mlp small")
        run()
    kinds = {each.function.kind for each in found.values()}
    assert "merged" in kinds and len(kinds) > 3  # of the captured run as well
    assert all(min(grid) > 0 for each in found.values() for grid in each.grids)
    assert any(each.grids for each in found.values())


def test_a_loop_that_zeros_do_not_end_is_left():
    with collecting() as found, sg.Graph().as_default():
        x = sg.placeholder(sg.float32, [3])
        y = sg.while_loop(lambda v: sg.reduce_sum(v) < 100.0, lambda v: v * 2.0 + 1.0, [x])
        with sg.Session() as session:
            run_thrice(lambda: session.run(y, {x: np.ones(3)}))
    assert Collector.left < 0 and found


def test_every_kind_has_programs():
    names = [name for name, _ in programs(KINDS)]
    assert len(names) == len(set(names)) and {name.split()[0] for name in names} == {
        "ops",
        "step",
        "row",
        "net",
    }


@pytest.mark.parametrize(
    ("found", "used", "text"),
    [
        (Found(function("", 1024)), Usage(80, 0, 0, 0), "80 registers for each of 1024 threads"),
        (Found(function("")), Usage(8, 0, 0, 50_000), "declares 50000 bytes"),
        (Found(function("SG_SHARED(float, s, 60000);")), None, "asks for 240000 bytes"),
        (Found(function(""), {(1, 70_000, 1)}), None, "a grid of 1 x 70000 x 1"),
        (Found(function(""), {(0, 1, 1)}), None, "a grid of 0 x 1 x 1"),
    ],
)
def test_what_a_gpu_would_refuse_is_a_fault(found: Found, used: Usage | None, text: str):
    (fault,) = faults(found, used, "sm_90")
    assert text in fault


def test_what_is_in_order_has_no_fault():
    assert not list(faults(Found(function(""), {(7, 65_535, 1)}), Usage(64, 0, 0, 1000), "sm_90"))


@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not here: pip install nvidia-cuda-nvrtc")
def test_errors_and_warnings_name_the_function():
    right, wrong = function("y[0] = 1.0f;"), function("y[0] = undeclared;")
    doubtful = function("unsigned n = -1; y[n] = 1.0f; int unused = 0;")
    asked = {each.name: Found(each) for each in (right, wrong, doubtful)}
    report = compiled(asked, "sm_90", 2, lambda done, count: None)
    assert [name for name, _ in report.errors] == [wrong.name]
    assert report.usage.keys() == {right.name, doubtful.name} and not report.spilling
    assert [text.split(":")[0] for text in report.warnings] == ["each"]
    assert "change of sign" in next(iter(report.warnings))


def test_a_report_is_read_from_above():
    report = Report(
        {"f": Usage(255, 80, 120, 0), "little": Usage(32, 8, 12, 0)},
        [("g", "an error")],
        faults=[("f", "a fault")],
    )
    report.warnings["h: doubtful"] += 3
    told = "\n".join(lines(report, ["net: Error"]))
    for text in (
        "2 functions, at most 255",
        "1 errors\n  g: an error",
        "1 spilling functions\n  f: 120 bytes",
        "3 x h: doubtful",
        "net: Error",
    ):
        assert text in told, told
