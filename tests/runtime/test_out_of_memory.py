"""A run that needs more memory than there is: one error with the sizes, and the session goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.lower.buffer_assignment import size_text

ROOT = Path(__file__).resolve().parents[2]
ROOM = 1 << 30  # bytes that the process may still take
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by RLIMIT_AS")

PROGRAM = f"""
import resource, sys
import numpy as np
import staticgraph as sg
k = sg.placeholder(sg.int32, [], name="k")
rows = sg.placeholder(sg.float32, [None, 4], name="rows")
wide = sg.placeholder(sg.float64, [None], name="wide")
half = sg.placeholder(sg.bfloat16, [None], name="half")
v = sg.Variable(np.zeros(1000, np.float32), name="v")
update = v.assign_add(sg.ones([1000]))
kept = sg.while_loop(lambda i, a: i < k, lambda i, a: (i + 1, sg.tanh(a * v)), [0, v])[1]
one, many = np.float32(1), 3 * 10**8
situations = {{
    "fetch": (sg.fill([k, 1000], 1.0), {{k: 10**6}}),
    "temporary": (sg.reduce_sum(sg.cumsum(sg.matmul(sg.ones([k, 1]), sg.ones([1, k])), 0)), {{k: 10**5}}),
    "open temporary": (
        sg.reduce_sum(sg.cumsum(sg.matmul(rows, rows, transpose_b=True), 0)),
        {{rows: np.ones((10**5, 4), np.float32)}},
    ),
    "sorted": (sg.reduce_sum(sg.nn.top_k(sg.fill([k], 1.0), k)[0]), {{k: 10**9}}),
    "rows of a loop": (sg.gradients(sg.reduce_sum(kept), v), {{k: 10**6}}),
    "new value": (sg.assign(v, sg.fill([k], 1.0), validate_shape=False), {{k: 10**9}}),
    "tile": (sg.tile(v, [k]), {{k: 10**7}}),
    "more than 64 bits": (sg.fill([k, k, k, k], 1.0), {{k: 2**31 - 1}}),
    "more than addresses": (sg.broadcast_to(v[:1], [k, k, k, k]), {{k: 65536}}),
    "constant": (sg.cumsum(sg.ones([10**5, 10**5])), {{}}),
    "initializer": (sg.Variable(sg.zeros([10**5, 10**5])).initializer, {{}}),
    "feed": (sg.reduce_sum(wide), {{wide: np.broadcast_to(one, many)}}),
    "feed of bfloat16": (sg.reduce_sum(sg.cast(half, sg.float32)), {{half: np.broadcast_to(one, 8 * many)}}),
    "a function of Python": (sg.py_func(lambda n: np.ones(10**10, np.float32), [k], sg.float32), {{k: 1}}),
    "a matrix": (sg.reduce_sum(sg.linalg.sqrtm(sg.ones([k, k]))), {{k: 30000}}),
}}
with sg.Session() as sess:
    sess.run(v.initializer)
    sess.run(update)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + {ROOM}, used + {ROOM}))
    for name, (fetch, feeds) in situations.items():
        for again in range(2):
            try:
                sess.run(fetch, feeds)
            except sg.errors.ResourceExhaustedError as error:
                told = str(error)
            else:
                told = "no error"
            assert sess.run(v)[0] == 1, name
            assert sess.run(sg.reduce_sum(rows), {{rows: np.ones((2, 4))}}) == 8
        print(name, "=", " ".join(told.split()))
    sess.run(update)
    assert sess.run(v)[0] == 2
"""


@pytest.mark.takes_long
def test_each_situation():
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SG_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(line.split(" = ", 1) for line in done.stdout.splitlines())
    assert len(told) == 15
    for name, text in told.items():
        assert "memory" in text or "Unable to allocate" in text, (name, text)
        assert "hint: " in text or "Python" in name, (name, text)
    for name in ("fetch", "temporary", "open temporary", "rows of a loop", "new value", "tile"):
        assert "the step needs" in told[name] and "at most" in told[name], told[name]
    assert "wide:0 is fed" in told["feed"]


def test_a_limit_of_the_session_says_so():
    x = sg.placeholder(sg.float32, [None])
    with sg.Session(memory_limit=1000) as sess, pytest.raises(sg.errors.ResourceExhaustedError) as caught:
        sess.run(sg.cumsum(x), {x: np.ones(1000)})
    assert "of memory and may have 1.0 KB" in str(caught.value)


def test_sizes_are_told_in_units():
    assert [size_text(n) for n in (12, 1536, 3 << 60, 10**40)] == ["12 B", "1.5 KB", "3.0 EB", "8.7e+21 EB"]
