"""CPU seconds to write a graph to messages and files and to read it back, in staticgraph or TensorFlow 1.

    python tools/benchmarks/graph_files.py staticgraph 5000 50000

The program is the same for both libraries, and runs in Python 3.7, which TensorFlow 1.15 needs. It prints a
JSON object: seconds by what was timed, for a graph with so many variables, and for one with so many nodes.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any


class Times:
    """Seconds of CPU time by what was timed."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def add(self, name: str, work: Callable[[], Any]) -> Any:
        """Time `work`; returns its result."""
        gc.collect()
        begun = time.process_time()
        result = work()
        self.seconds[name] = time.process_time() - begun
        return result


def variables(sg: Any, count: int, folder: str, times: Times) -> None:
    """A graph of `count` variables: its checkpoint, its meta graph and its messages."""
    prefix = os.path.join(folder, "model")
    with sg.Graph().as_default() as graph, sg.Session() as session:
        for number in range(count):
            sg.get_variable(f"v{number}", [4])
        session.run(sg.global_variables_initializer())
        saver = sg.train.Saver()
        times.add("Saver.save", lambda: saver.save(session, prefix))
        times.add("Saver.restore", lambda: saver.restore(session, prefix))
        times.add("export_meta_graph", saver.export_meta_graph)
        message = times.add("as_graph_def", graph.as_graph_def)
        times.add("SerializeToString", message.SerializeToString)
    with sg.Graph().as_default():
        times.add("import_meta_graph", lambda: sg.train.import_meta_graph(prefix + ".meta"))


def nodes(sg: Any, count: int, folder: str, times: Times) -> None:
    """A chain of `count` nodes: its messages, its event file and, if `sg` has that, its saved graph."""
    with sg.Graph().as_default() as graph:
        x = y = sg.placeholder(sg.float32, [4])
        one = sg.constant(1.0)
        for _ in range(count // 4):
            y = sg.nn.relu(sg.add(sg.tanh(y) * x, one))
        times.add("FileWriter", lambda: sg.summary.FileWriter(folder, graph).close())
        message = graph.as_graph_def()
        data = message.SerializeToString()
        message = times.add("FromString", lambda: type(message).FromString(data))
        if hasattr(sg, "save"):
            path = os.path.join(folder, "net.sg")
            times.add("save", lambda: sg.save(path, {"y": y}, {"x": x}))
            times.add("load", lambda: sg.load(path))
    with sg.Graph().as_default():
        times.add("import_graph_def", lambda: sg.import_graph_def(message, name=""))


def main() -> None:
    """Measure and print."""
    library, *counts = sys.argv[1:]
    sg, times = importlib.import_module(library), Times()
    for at, work in enumerate((variables, nodes)):
        with tempfile.TemporaryDirectory() as folder:
            work(sg, int(counts[at]), folder, times)
    print(json.dumps(times.seconds))


if __name__ == "__main__":
    main()
