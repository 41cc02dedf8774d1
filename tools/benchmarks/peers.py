"""The rows of the benchmark: which file runs each, in which environment, and at which workloads."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.workloads import WORKLOADS

OURS = "staticgraph"
OPEN = "staticgraph open"  # the first size of every feed is left open; no column of the table
CALLABLE = frozenset({"scalar_callable"})
LARGE = frozenset({"dag_10000", "dag_100000"})
CONVOLUTIONAL = frozenset({"lenet", "resnet18", "resnet50"})
INFERENCE = frozenset({"scalar", "black_scholes", "resnet50", "dag_1000"}) | LARGE


@dataclass(frozen=True, slots=True)
class Peer:
    """A column of the table: its file, the folder of its environment, the package that shows that it is
    installed, and the workloads that it has no good way to do, or that take it minutes to compile.
    """

    file: str
    folder: str
    package: str
    lacks: frozenset[str]


PEERS = {
    OURS: Peer("staticgraph_row", "", "staticgraph", frozenset()),
    "NumPy": Peer("numpy_row", "numpy", "numpy", CALLABLE | CONVOLUTIONAL | {"lstm", "transformer"}),
    "PyTorch": Peer("torch_row", "torch", "torch", CALLABLE),
    "torch.compile": Peer("torch_row", "torch", "torch", CALLABLE | LARGE),
    "JAX": Peer("jax_row", "jax", "jax", CALLABLE | {"dag_100000"}),
    "TensorFlow": Peer("tensorflow_row", "tensorflow", "tensorflow", frozenset({"dag_100000"})),
    "TensorFlow XLA": Peer("tensorflow_row", "tensorflow", "tensorflow", CALLABLE | LARGE),
    "PyTensor": Peer("pytensor_row", "pytensor", "pytensor", CONVOLUTIONAL | LARGE | {"dag_1000"}),
    "ONNX Runtime": Peer("onnxruntime_row", "onnx", "onnxruntime", frozenset(WORKLOADS) - INFERENCE),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A peer that can be run here."""

    name: str
    python: str

    @property
    def module(self) -> str:
        return PEERS[OURS if self.name == OPEN else self.name].file

    def does(self, workload: str) -> bool:
        """Return True if it takes part in this workload."""
        return workload not in PEERS[self.name].lacks


def installed(folder: Path | None) -> list[Row]:
    """Our row, and each peer that has an environment in `folder` or is installed in ours."""
    rows = []
    for name, peer in PEERS.items():
        python = folder / peer.folder / "bin" / "python" if folder and peer.folder else None
        if python is not None and python.exists():
            rows.append(Row(name, str(python.absolute())))
        elif importlib.util.find_spec(peer.package):
            rows.append(Row(name, sys.executable))
    return rows
