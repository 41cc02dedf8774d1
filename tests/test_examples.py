"""The examples, run as a user runs them, and what they promise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from pages import gallery

pytestmark = pytest.mark.takes_long

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))

import two_layer_net  # noqa: E402


def run(script: str, *args: str, cwd: Path) -> str:
    """Return the output of an example, which must end well and print no warning."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / script), *args],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


WAYS = [two_layer_net.fed_weights, two_layer_net.assigned_weights, two_layer_net.minimized]


# The loss falls by twelve orders of magnitude, far below what float32 resolves: there a hundred steps agree.
PRECISIONS = [(np.float64, 500), (np.float32, 100)]


@cache
def loss_of_numpy(dtype: type, steps: int) -> float:
    """Results of the twin, computed once for all ways."""
    assert dtype is two_layer_net.DTYPE
    return two_layer_net.in_numpy(steps)


@pytest.mark.by_turns("way")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("dtype", "steps"), PRECISIONS)
def test_two_layer_net_trains_to_the_loss_of_numpy(way, dtype, steps, monkeypatch):
    monkeypatch.setattr(two_layer_net, "DTYPE", dtype)
    rel = 1e-5 if dtype is np.float64 else 1e-4  # NumPy's library adds in an order that the processor decides
    assert way(steps) == pytest.approx(loss_of_numpy(dtype, steps), rel=rel)


@pytest.mark.parametrize("way", WAYS)
def test_two_layer_net_ends_where_numpy_ends(way):
    assert way(500) == pytest.approx(loss_of_numpy(two_layer_net.DTYPE, 500), abs=1e-5)


def test_two_layer_net_prints_and_draws(tmp_path):
    text = run("two_layer_net.py", "--steps", "5", "--svg", "net.svg", cwd=tmp_path)
    losses = re.findall(r"(\S+) +[\d.]+ ms +-?\d+ us", text)
    assert len(losses) == 4
    assert np.allclose([float(x) for x in losses], float(losses[0]), rtol=1e-5)
    assert "<svg" in (tmp_path / "net.svg").read_text()


def test_a_step_is_one_native_call():
    (x_data, y_data), (w1_data, w2_data) = two_layer_net.data()
    x, y = two_layer_net.placeholders()
    loss = two_layer_net.net(x, y, sg.Variable(w1_data), sg.Variable(w2_data))
    train = sg.train.GradientDescentOptimizer(1e-6).minimize(loss)
    feeds = {x: x_data, y: y_data}
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        step = sess.executable([loss, train], feeds)
        before = step.calls
        for _ in range(7):
            sess.run([loss, train], feed_dict=feeds)
        assert step.calls == before + 7
        assert sess.executable([loss, train], feeds) is step
        assert not step.compiled.program.host_calls


def test_digits_are_read_and_the_saved_file_serves_them(tmp_path):
    text = run("digits_cnn.py", cwd=tmp_path)
    accuracy = float(re.search(r"accuracy on the test digits: ([\d.]+)%", text)[1])
    assert accuracy >= 98.0
    assert "<svg" in (tmp_path / "digits_cnn.svg").read_text()
    served = run("serve_saved.py", "digits.sg", cwd=tmp_path)
    assert float(re.search(r"([\d.]+)% are read right", served)[1]) >= 98.0


def test_a_script_of_tensorflow_1_learns_its_text():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "staticgraph", "run", str(EXAMPLES / "legacy_char_rnn.py")],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    losses = [float(x) for x in re.findall(r"loss (\S+)", done.stdout)]
    assert losses[-1] < 0.1 * losses[0]
    assert "Loops within loops, and each in its place,\ncarry a state" in done.stdout


# Each with fewer steps than a user takes, a pattern of what it prints, and the picture that it draws.
DRAWN = [
    (
        "reaction_diffusion.py",
        "--steps=1500 --size=96",
        r"covers ([\d.]+)%",
        (5, 60),
        "reaction_diffusion.png",
    ),
    ("gaussian_process.py", "--steps=100", r"noise ([\d.]+) ", (0.1, 0.25), "gaussian_process.svg"),
    ("predator_prey.py", "--steps=200", r"learned ([\d.]+) ", (1.0, 1.25), "predator_prey.svg"),
    ("digits_vae.py", "--epochs=4", r"-> ([\d.]+)", (20, 32), "digits_vae.png"),
]


@pytest.mark.parametrize("script, options, told, between, picture", DRAWN, ids=lambda value: str(value)[:12])
def test_what_is_learned_and_drawn(script, options, told, between, picture, tmp_path):
    text = run(script, *options.split(), cwd=tmp_path)
    low, high = between
    assert low < float(re.search(told, text)[1]) < high
    start = b"<svg" if picture.endswith("svg") else b"\x89PNG"
    assert start in (tmp_path / picture).read_bytes()


def test_the_gallery_shows_every_example():
    page = EXAMPLES.parent / "docs" / "gallery.md"
    text = page.read_text()
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        *re.findall(r"\(\.\./examples/(\w+\.py)\)", text)
    }
    shown = {page.parent / name for _, pictures in gallery.sections(text) for name in pictures}
    assert shown == {*(page.parent / "gallery").iterdir()}
