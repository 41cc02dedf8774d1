"""Functions compiled with what the host's compiler has against undefined behaviour: `pytest -m slow`.

Other files of tests run once more in a process of their own, where every load and store, conversion, shift,
and sum of signed integers is checked. The first that is wrong ends that process.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = "-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all"
FILES = (
    "test_standin.py",
    "test_statements.py",
    "test_scalar_text.py",
    "test_pointwise.py",
    "test_rows.py",
    "test_columns.py",
    "test_scatter.py",
    "test_choose.py",
    "test_tile.py",
    "test_session.py",
    "test_transposed.py",
)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environment(host: str) -> dict[str, str]:
    """Of a process that may load what was compiled with the checks."""
    asked = [host, "-print-file-name=libasan.so"]
    library = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.isabs(library):
        pytest.skip("the compiler has no address sanitizer")
    options = "detect_leaks=0:detect_stack_use_after_return=0"  # threads have stacks that it does not know
    return {**os.environ, "LD_PRELOAD": library, "ASAN_OPTIONS": options, "TEST_SANITIZERS": CHECKS}


@pytest.mark.parametrize("name", FILES)
def test_no_function_is_undefined(environment: dict[str, str], name: str):
    file = str(Path(__file__).with_name(name))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", file]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


FAULTS = {
    "signed integer overflow": "int n = int(x[0]) + 2147483647; y[0] = n;",
    "is outside the range of representable values of type 'int'": "y[0] = int(x[0] * 3e9f);",
    "shift exponent 40 is too large": "y[0] = int(x[0]) << (40 * int(x[0]));",
    "misaligned address": "y[0] = reinterpret_cast<const float4*>(x + 1)->y;",
    "index 4 out of bounds for type 'float [4]'": "float k[4]; k[int(4 * x[0])] = 1.0f; y[0] = k[0];",
    "heap-buffer-overflow": "y[0] = x[1 << 12];",
}
PROGRAM = """
import sys
import numpy as np
from staticgraph.compiler.codegen.cuda.function import Parameter, call
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.runtime.gpu.simulator.build import Unit

x, y = Parameter("x", float32), Parameter("y", float32, written=True)
function = call("faulty", [x, y], sys.argv[1], (1, 1, 1), (1, 1, 1)).function
unit = Unit([function], sys.argv[2].split())
arrays = np.ones((2, 1 << 12), np.float32)
unit.run(function.name, [arrays[1].ctypes.data] * 2)
print("all is well")
"""


@pytest.mark.parametrize("what", [*FAULTS, None])
def test_undefined_behaviour_is_found(environment: dict[str, str], what: str | None):
    body = "y[0] = x[0];" if what is None else FAULTS[what]
    command = [sys.executable, "-c", PROGRAM, body, CHECKS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if what is None:
        assert done.stdout == "all is well\n", done.stderr[-2000:]
    else:
        assert not done.stdout and what in done.stderr, done.stderr[-2000:]
