"""Whatever a kernel computes, the functions that are chosen for it compute the same."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import staticgraph as sg
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.stmt import Kernel
from tests.gpu.loops import check as check_loops
from tests.gpu.loops import emitted, floats, kinds, loops
from tests.gpu.printing import emit, emit_kernel, statements
from tests.gpu.running import compiled, run
from tests.kernel.cases import CASES, filled, unplaced
from tests.kernel.test_random_kernels import programs

pytestmark = pytest.mark.takes_long

MANY = 40  # kernels of one compilation


def check(cases: list[tuple[Kernel, Nest]]) -> None:
    """Compares what is chosen for nests with the meaning of kernels."""
    works = [emit([nest], kernel.buffers, (), ()) for kernel, nest in cases]
    unit = compiled(works)
    for (kernel, _), work in zip(cases, works, strict=True):
        arrays = filled(kernel.buffers)
        expected = {name: a.copy() for name, a in arrays.items()}
        interpret(kernel, expected)
        found = run(work, arrays, unit)
        for name in expected:
            rtol = 1e-5 if expected[name].dtype == np.float32 else 1e-9
            text = kernel_text(kernel)
            np.testing.assert_allclose(found[name], expected[name], rtol=rtol, atol=rtol, err_msg=text)


def test_cases():
    check([(case.placed(), Nest(case.domain, case.stores)) for case in CASES])


@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(st.lists(programs(), min_size=MANY, max_size=MANY))
def test_random_nests(drawn):
    check([(unplaced("meaning", *program), Nest(*program[1:])) for program in drawn])


def test_products_are_for_the_product_templates():
    def forms(build, *shapes) -> list[str]:
        return [kind for kernel in loops(build, *floats(*shapes)) for kind in kinds(emitted(kernel))]

    templates = {"columns", "rows", "full", "pointwise", "loops"}
    assert templates.isdisjoint(forms(lambda a, b: [a @ b], (64, 32), (32, 48)))
    assert forms(lambda a, b: [sg.reduce_sum(a * b, 0)], (4096, 64), (4096, 64)) == ["columns"] * 2


def test_a_total_that_everything_is_divided_by():
    found = loops(lambda x: [x / sg.reduce_sum(x)], *floats((300, 500)))
    assert [kind for kernel in found for kind in kinds(emitted(kernel))] == ["full", "full", "pointwise"]
    check_loops(found)


def test_few_long_rows_go_through_memory():
    found = loops(lambda x: [sg.nn.softmax(x)], *floats((2, 40_000)))
    stages = [kind for kernel in found for kind in kinds(emitted(kernel))]
    assert set(stages) == {"full", "pointwise"}
    check_loops(found)


def test_long_rows_with_sums_over_them():
    """Rows that do not fit registers are a function, and sums over them are others."""

    def build(x: sg.Tensor, y: sg.Tensor) -> list[sg.Tensor]:
        z = sg.nn.softmax(x) * y
        return [z, sg.reduce_sum(z, 0)]

    found = loops(build, *floats((70, 17_000), (70, 17_000)))
    assert [kind for kernel in found for kind in kinds(emitted(kernel))] == ["rows", "columns"]
    check_loops(found)


def test_single_elements_of_long_rows_are_not_done_by_row():
    def build(x: sg.Tensor, y: sg.Tensor) -> list[sg.Tensor]:
        z = x * y
        return [z, sg.reduce_sum(z, 0)]

    found = loops(build, *floats((70, 17_000), (70, 17_000)))
    assert [kind for kernel in found for kind in kinds(emitted(kernel))] == ["pointwise", "columns"]


def test_loops_that_are_given_stay_as_they_are():
    case = CASES[0]
    kernel = case.placed()
    assert emit_kernel(kernel) == statements(kernel)
