"""Random kernels, placed and scheduled: compiled, they do what they mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.lower_expressions import place
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.schedule_cpu.schedule import schedule
from tests.codegen.native import run
from tests.kernel.cases import filled, unplaced
from tests.kernel.test_random_kernels import programs


@pytest.mark.takes_long
@settings(max_examples=75)
@given(programs(), st.sampled_from([16, 32, 64]))
def test_compiled_kernels_keep_the_meaning(program, vector_bytes: int):
    buffers, domain, stores = program
    arrays = filled(buffers)
    expected = {name: a.copy() for name, a in arrays.items()}
    interpret(unplaced("meaning", buffers, domain, stores), expected)
    placed = place("random", buffers, domain, stores)
    for kernel in (placed, schedule(placed, vector_bytes)):
        found = run(kernel, arrays, vector_bytes)
        for name in found:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, err_msg=kernel_text(kernel))
