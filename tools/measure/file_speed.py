"""Time of a saved net from its file to the first result, in fresh processes.

    python tools/measure/file_speed.py [digits | resnet50 | graphs] [--rounds 3] [--peer PYTHON]

`cold`: nothing is known of the net, and no cache of compiled code is used. `kernels`: the file has machine
code for this processor, and is trusted. `mapped`: the same, and the weights stay in the file. Times are those
of the best round, in milliseconds: to write the file, for `import staticgraph`, for the modules that the
first load and run import besides, to load, and for the first call after that.

`graphs`: CPU seconds to write and read graphs of 5,000 variables and of 50,000 nodes as messages and files,
and how they grow: the exponent between a quarter of that size and the whole. `--peer` is a Python that has
TensorFlow 1.15, to compare with.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tools")]

import digits_cnn  # noqa: E402

import staticgraph as sg  # noqa: E402
from benchmarks.residual import Conv, resnet50  # noqa: E402


@dataclass(frozen=True, slots=True)
class Net:
    """A net of images: their size, and what builds its outputs."""

    image: tuple[int, int, int]
    build: Callable[[sg.Tensor], sg.Tensor]


def digits(images: sg.Tensor) -> sg.Tensor:
    """The net of examples/digits_cnn.py."""
    return sg.nn.softmax(digits_cnn.build(images, sg.placeholder_with_default(False, [], name="training")))


def residual(images: sg.Tensor) -> sg.Tensor:
    """ResNet-50, with 25.6 million weights."""

    def convolution(conv: Conv, x: sg.Tensor) -> sg.Tensor:
        made = sg.layers.conv2d(
            x, conv.outputs, conv.window, conv.stride, padding="same", use_bias=False, name=conv.name
        )
        return sg.layers.batch_normalization(made)

    net = resnet50(64)
    x = sg.layers.max_pooling2d(sg.nn.relu(convolution(net.stem, images)), 3, 2, padding="same")
    for block in net.blocks:
        y = x
        for conv in block.convs[:-1]:
            y = sg.nn.relu(convolution(conv, y))
        shortcut = x if block.shortcut is None else convolution(block.shortcut, x)
        x = sg.nn.relu(convolution(block.convs[-1], y) + shortcut)
    return sg.nn.softmax(sg.layers.dense(sg.reduce_mean(x, [1, 2]), 1000))


NETS = {"digits": Net((8, 8, 1), digits), "resnet50": Net((224, 224, 3), residual)}
WAYS = {"cold": {}, "kernels": {"trusted": True}, "mapped": {"trusted": True, "mapped": True}}

CHILD = """
import json, sys, time
import numpy as np
begun = time.perf_counter()
import staticgraph as sg
imported = time.perf_counter()
import staticgraph.saved.saving, staticgraph.runtime.cached_run, llvmlite.binding
if OPTIONS.get("trusted"):
    import staticgraph.runtime.files.code.cpu
else:
    import staticgraph.runtime.cpu.compile
more = time.perf_counter()
net = sg.load("net.sg", **OPTIONS)
loaded = time.perf_counter()
net(images=np.ones(SHAPE, np.float32))
print(json.dumps([imported - begun, more - imported, loaded - more, time.perf_counter() - loaded]))
"""


def written(net: Net, path: Path, **options: object) -> float:
    """Write the net with random weights; the seconds that this took."""
    sg.reset_default_graph()
    images = sg.placeholder(sg.float32, [None, *net.image], name="images")
    outputs = {"probabilities": net.build(images)}
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        begun = time.perf_counter()
        sg.save(path, outputs, {"images": images}, session, **options)
        return time.perf_counter() - begun


def read(net: Net, folder: Path, options: dict[str, bool]) -> np.ndarray:
    """The seconds that a fresh process takes for each part."""
    program = CHILD.replace("OPTIONS", repr(options)).replace("SHAPE", repr((1, *net.image)))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SG_CACHE_DIR": ""}
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return np.array(json.loads(run.stdout))


SIZES = (5_000, 50_000)  # variables, and nodes


def graph_times(python: str, library: str, sizes: tuple[int, ...]) -> dict[str, float]:
    """Return the CPU seconds of a fresh process for each way to write or read a graph."""
    program = ROOT / "tools" / "benchmarks" / "graph_files.py"
    command = [python, str(program), library, *map(str, sizes)]
    environment = os.environ | {"PYTHONPATH": str(ROOT) if library == "staticgraph" else ""}
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout)


def graphs(rounds: int, peer: str | None) -> None:
    """Print a row for each way to write or read a graph: our seconds, the exponent, the peer's seconds."""

    def best(python: str, library: str, share: int) -> dict[str, float]:
        found = [graph_times(python, library, tuple(n // share for n in SIZES)) for _ in range(rounds)]
        return {name: min(times[name] for times in found) for name in found[0]}

    quarter, whole = (best(sys.executable, "staticgraph", share) for share in (4, 1))
    theirs = best(peer, "tensorflow", 1) if peer else {}
    print(f"{SIZES[0]} variables, {SIZES[1]} nodes{'':4}CPU s  exponent  TensorFlow")
    for name, seconds in whole.items():
        exponent = math.log(seconds / quarter[name], 4)
        print(f"{name:29}{seconds:10.3f}{exponent:10.2f}{theirs.get(name, math.nan):12.3f}")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description="Time from a file to the first result.")
    parser.add_argument("nets", nargs="*", choices=[[], *NETS, "graphs"], help="which nets (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes, of which the best counts")
    parser.add_argument("--peer", help="a Python that has TensorFlow 1.15, for `graphs`")
    options = parser.parse_args()
    if "graphs" in options.nets:
        options.nets.remove("graphs")
        graphs(options.rounds, options.peer)
        if not options.nets:
            return
    print(f"{'':16}{'write':>9}{'import':>9}{'+ more':>9}{'load':>9}{'first':>9}{'load+first':>12}  ms")
    for name in options.nets or NETS:
        net = NETS[name]
        for way, choices in WAYS.items():
            with tempfile.TemporaryDirectory() as folder:
                code = {"kernels": ["native"], "shapes": {"images": [1, *net.image]}} if choices else {}
                seconds = written(net, Path(folder, "net.sg"), **code)
                rounds = [read(net, Path(folder), choices) for _ in range(options.rounds)]
            best = 1e3 * min(rounds, key=lambda parts: parts[2:].sum())
            cells = "".join(f"{ms:9.1f}" for ms in (1e3 * seconds, *best))
            print(f"{name:9}{way:7}{cells}{best[2:].sum():12.1f}")


if __name__ == "__main__":
    main()
