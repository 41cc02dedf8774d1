"""Small graphs that are saved in many tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.graph import Graph
from staticgraph.runtime.files.loaded import LoadedGraph, load
from staticgraph.runtime.session import Session
from staticgraph.saved.saving import save


def line(path: Path, **options: Any) -> Path:
    """`y = w * x + b` with a training step, saved with w = [1, 2] and b = 3; a file of some 5 kB."""
    graph = Graph()
    with graph.as_default():
        x = sg.placeholder(sg.float32, [None, 2], name="x")
        target = sg.placeholder(sg.float32, [None, 2], name="target")
        w = sg.Variable(np.array([1, 2], np.float32), name="w")
        b = sg.Variable(3.0, name="b", trainable=False)
        y = sg.add(w * x, b, name="y")
        loss = sg.reduce_mean(sg.square(y - target), name="loss")
        step = w.assign_sub(0.1 * sg.gradients(loss, [w])[0])
        with Session() as session:
            session.run([w.initializer, b.initializer])
            save(path, **{"outputs": {"y": y, "loss": loss}, "session": session, "step": step, **options})
    return path


def again(path: Path) -> tuple[LoadedGraph, bool]:
    """The loaded graph, and whether saving it gives the same bytes."""
    net = load(path)
    copy = path.with_name("again.sg")
    net.save(copy)
    return net, copy.read_bytes() == path.read_bytes()
