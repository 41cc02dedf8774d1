"""A processor with shorter vectors, or without instructions that this one has, gives the same results.

This one has more: it is told to do without, in a process of its own.
"""

import functools
import subprocess
import sys

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.cpu import jit as cpu_jit

pytestmark = pytest.mark.takes_long

OLD = """
import sys
from dataclasses import replace
from staticgraph.runtime.cpu import jit as cpu_jit

new = cpu_jit.host()
cpu_jit._PER_THREAD.writers.clear()  # they write for the new one
old = replace(new, cpu="", features=sys.argv[2], vector_bytes=int(sys.argv[3]))
cpu_jit.host = lambda: old

import numpy as np
from tests.runtime.test_old_processor import results
np.savez(sys.argv[1], *results())
"""


@functools.cache
def results() -> list[np.ndarray]:
    """Return the results of some graphs that have a bit of everything in them."""
    rng = np.random.default_rng(7)
    image = rng.normal(size=(4, 9, 9, 3)).astype(np.float32)
    labels = np.array([0, 2, 1, 4], np.int32)
    graph = sg.Graph()
    with graph.as_default(), sg.Session(graph=graph) as sess:
        x = sg.placeholder(sg.float32, [None, 9, 9, 3])
        y = sg.placeholder(sg.int32, [None])
        w = sg.Variable(rng.normal(size=(3, 3, 3, 10)).astype(np.float32) / 5)
        v = sg.Variable(rng.normal(size=(90, 5)).astype(np.float32) / 9)
        h = sg.nn.max_pool(sg.nn.relu(sg.nn.conv2d(x, w, 1, "SAME")), 3, 3, "VALID")
        scores = sg.matmul(sg.reshape(h, [-1, 90]), v)
        loss = sg.reduce_mean(sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores))
        train = sg.train.AdamOptimizer(0.01).minimize(loss)
        wide = sg.cast(x, sg.float64)
        others = [
            sg.tanh(x) + sg.exp(-sg.abs(x)),
            sg.sqrt(sg.reduce_sum(wide * wide, axis=[1, 2])),
            sg.cast(sg.cast(x, sg.float16) * 2.0, sg.float32),
            sg.cast(x * 100.0, sg.int32) // 7,
            sg.argmax(x, axis=-1),
            sg.cumsum(x, axis=1),
            sg.where(x > 0.0, x, sg.transpose(x, [0, 2, 1, 3])),
            sg.gather(sg.reshape(x, [-1, 27]), y),
            sg.nn.softmax(sg.reshape(x, [12, 81])),
            *sg.gradients(sg.reduce_sum(sg.square(sg.nn.embedding_lookup(w[0, 0], y % 3))), [w]),
            sg.matmul(sg.reshape(wide, [36, 27]), sg.reshape(wide, [36, 27]), transpose_a=True),
            sg.nn.avg_pool(x, 2, 2, "SAME"),
            sg.erf(x) + sg.log1p(sg.square(x)) + sg.sin(x * 30.0) + sg.pow(sg.abs(x), 1.7),
            sg.igamma(sg.abs(x) + 0.5, sg.square(x)),
            sg.reduce_sum(sg.cast(x * 50.0, sg.int8), [1, 2]),
            sg.reduce_logsumexp(wide, [0, 1, 2]),
            sg.cast(sg.reduce_max(x, [1, 2]), sg.float16),
        ]
        sess.run(sg.global_variables_initializer())
        feeds = {x: image, y: labels}
        losses = [sess.run([loss, train], feeds)[0] for _ in range(3)]
        return [np.array(losses), *sess.run(others, feeds), *sess.run([w, v])]


@pytest.mark.parametrize(
    ("features", "vector_bytes"),
    [("", 16), ("+avx", 32), ("+avx2,+fma,+f16c", 32)],
)
def test_results_on_an_older_processor(features: str, vector_bytes: int, tmp_path, monkeypatch):
    """Nothing but what all of a family have, then vectors of 32 bytes, multiply-adds and conversions."""
    if not set(features.split(",")) <= {"", *cpu_jit.host().features.split(",")}:
        pytest.skip("this processor has less")
    monkeypatch.setenv("SG_CACHE_DIR", "")
    path = tmp_path / "results.npz"
    subprocess.run(
        [sys.executable, "-W", "error", "-c", OLD, str(path), features, str(vector_bytes)],
        check=True,
        timeout=120,
    )
    with np.load(path) as file:
        old = [file[name] for name in file.files]
    new = results()
    assert len(old) == len(new)
    for a, b in zip(old, new, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
