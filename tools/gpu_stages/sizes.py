"""The training steps that are tried: those of the benchmark, at the sizes of a card.

Only NumPy is imported here, so that the file loads beside every peer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.workloads import WORKLOADS, Data


@dataclass(frozen=True, slots=True)
class Step:
    """A workload of the benchmark with other arguments. `speed`: whether peers are timed at it."""

    title: str
    workload: str
    sizes: dict[str, Any] = field(default_factory=dict)
    speed: bool = True

    @property
    def name(self) -> str:
        """The function that a peer has for it."""
        return WORKLOADS[self.workload].make.__name__

    def data(self, small: bool = False, sizes: dict[str, Any] | None = None) -> Data:
        """Weights and batches: at the size for tests, at other sizes, or at its own."""
        work = WORKLOADS[self.workload]
        return work.make(**work.fixed, **(work.small if small else self.sizes if sizes is None else sizes))


# What has not been measured beside all peers comes first.
STEPS = {
    "resnet18": Step("ResNet-18, 128 images of 32x32", "resnet18", {"batch": 128}),
    "mlp": Step("784-1024-1024-10 net, batch 256, Adam", "mlp"),
    "lstm": Step("LSTM, T=100, batch 32, 128 units", "lstm"),
    "transformer": Step(
        "transformer block, B=16, T=512, D=1024, 16 heads",
        "transformer",
        {"batch": 16, "time": 512, "width": 1024, "heads": 16},
    ),
    "small_mlp": Step("two-layer net 64-1000-100-10, SGD", "two_layer_sgd"),
    "lenet": Step("LeNet, batch 64", "lenet", speed=False),
}
