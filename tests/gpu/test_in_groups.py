"""Functions that are compiled in groups, in several threads."""

import threading

import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import CudaFunction, Parameter, call
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.runtime.gpu.cuda import nvrtc
from staticgraph.runtime.gpu.cuda import nvrtc as in_groups
from staticgraph.runtime.switches import current


def functions(count: int, size: int) -> list[CudaFunction]:
    """As many, whose texts have about so many characters."""
    x = Parameter("x", float32, written=True)
    bodies = (f"x[{n}] = {n}; // " + "-" * size for n in range(count))
    return [call("f", [x], body, (1, 1, 1), (1, 1, 1)).function for body in bodies]


@pytest.mark.parametrize(
    ("count", "size", "groups"),
    [(0, 1, []), (5, 10, [5]), (5, in_groups.TOGETHER, [1] * 5), (4, 20_000, [2, 2])],
)
def test_groups_keep_the_order_and_are_about_alike(count, size, groups):
    made = functions(count, size)
    parts = in_groups.groups(made)
    assert list(map(len, parts)) == groups
    assert [function for part in parts for function in part] == made


def test_threads_have_the_switches_of_who_asks(monkeypatch, tmp_path):
    seen = []

    def compiled(part, architecture):
        seen.append((current("cache_dir"), threading.current_thread().name.startswith("nvrtc")))
        return b"".join(f.name.encode() for f in part)

    monkeypatch.setattr(nvrtc, "compile", compiled)
    made = functions(3, in_groups.TOGETHER)
    with sg.options(cache_dir=str(tmp_path)):
        found = list(in_groups.compiled(made, "sm_90"))
    assert found == [([f], f.name.encode()) for f in made]
    assert seen == [(str(tmp_path), True)] * 3


@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed")
def test_what_the_compiler_refuses_is_told(tmp_path):
    good, bad = functions(1, in_groups.TOGETHER)[0], call("g", [], "y = 1;", (1, 1, 1), (1, 1, 1)).function
    with sg.options(cache_dir=str(tmp_path)), pytest.raises(nvrtc.CompileError, match="y"):
        list(in_groups.compiled([good, bad], "sm_90"))
    assert len(list(tmp_path.glob("*.entry"))) == 1, "what did compile is kept"
