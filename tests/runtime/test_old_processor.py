"""A processor with nothing but the 16-byte vectors that all of its family have gives the same results.

This one has more: it is told to do without, in a process of its own.
"""

import subprocess
import sys

import numpy as np

import staticgraph as sg

OLD = """
import sys
from dataclasses import replace
from staticgraph.runtime.devices import cpu_jit

new = cpu_jit.host()
del cpu_jit._PER_THREAD.writer  # it writes for the new one
old = replace(new, cpu="", features="", vector_bytes=16)
cpu_jit.host = lambda: old

import numpy as np
from tests.runtime.test_old_processor import results
np.savez(sys.argv[1], *results())
"""


def results() -> list[np.ndarray]:
    """What some graphs give that have a bit of everything in them."""
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
        ]
        sess.run(sg.global_variables_initializer())
        feeds = {x: image, y: labels}
        losses = [sess.run([loss, train], feeds)[0] for _ in range(3)]
        return [np.array(losses), *sess.run(others, feeds), *sess.run([w, v])]


def test_results_without_wide_vectors(tmp_path, monkeypatch):
    monkeypatch.setenv("SG_CACHE_DIR", "")
    path = tmp_path / "results.npz"
    subprocess.run([sys.executable, "-W", "error", "-c", OLD, str(path)], check=True, timeout=120)
    with np.load(path) as file:
        old = [file[name] for name in file.files]
    new = results()
    assert len(old) == len(new)
    for a, b in zip(old, new, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
