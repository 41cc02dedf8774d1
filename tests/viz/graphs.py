"""Graphs that the tests draw, and how they look at a drawing."""

import subprocess
import sys

import numpy as np

import staticgraph as sg
from staticgraph.draw.model import Box, Drawing
from staticgraph.draw.recorded import recorded


def layer() -> sg.Tensor:
    """y = relu(x W + b), with W and b in a scope."""
    x = sg.placeholder(sg.float32, [None, 64], name="x")
    with sg.name_scope("layer"):
        w = sg.Variable(np.zeros((64, 10), np.float32), name="W")
        b = sg.Variable(np.zeros(10, np.float32), name="b")
        return sg.nn.relu(sg.matmul(x, w) + b, name="y")


def training() -> list:
    """A loss and a step that changes the variables of `layer`."""
    return _trained(layer())


def scaled_training() -> list:
    """The same of an eighth of the layer: rules make a product of the quotient."""
    return _trained(layer() / 8.0)


def _trained(y: sg.Tensor) -> list:
    loss = sg.reduce_mean(y, name="loss")
    return [loss, sg.train.GradientDescentOptimizer(0.5).minimize(loss)]


def chain(length: int) -> sg.Tensor:
    """tanh and exp by turns, without scopes."""
    y = sg.placeholder(sg.float32, [4], name="x")
    for _ in range(length // 2):
        y = sg.exp(sg.tanh(y))
    return y


def tangle(size: int) -> sg.Tensor:
    """Operations without scopes, and without a pattern that repeats."""
    draw = np.random.default_rng(0).integers
    made = [sg.placeholder(sg.float32, [4], name="x")]
    while len(made) < size:
        a, b = (made[-1 - int(draw(min(len(made), 20)))] for _ in range(2))
        made.append([lambda a, b: a + b, lambda a, b: a * b, lambda a, b: sg.tanh(a)][int(draw(3))](a, b))
    return made[-1]


def drawn(*fetches) -> Drawing:
    """The drawing of what `fetches` need, as it was built."""
    roots = [getattr(f, "op", f) for f in fetches]
    return recorded(roots[0].graph, roots, roots)


def by_title(drawing: Drawing) -> dict[str, Box]:
    found = {box.title: box for box in drawing.boxes}
    assert len(found) == len(drawing.boxes), "two boxes have one title"
    return found


def arrows(drawing: Drawing) -> set[tuple[str, str, str]]:
    """Every link as the titles of its ends and its text."""
    titles = {box.key: box.title for box in drawing.boxes}
    return {(titles[link.source], titles[link.target], link.text) for link in drawing.links}


def outputs_of(program: str) -> set[str]:
    """The outputs of a program whose sets and dicts have two orders: one, if it does not depend on them."""
    program = f"import sys; sys.path.insert(0, '.'); {program}"
    return {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in "12"
    }
