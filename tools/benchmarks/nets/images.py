"""Nets for images: MobileNetV2, a U-Net and a DCGAN, which `benchmarks.sizes.nets` has for all libraries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.nets.net import CPU, GPU, SMALL, Entry
from benchmarks.sizes import nets


def mobilenet(*arguments: Any) -> nets.Net:
    """MobileNetV2 by gradient descent in small steps.

    Its normalized layers amplify rounding: of the gradient of the first windows, 1 percent is noise in
    float32 (PyTorch in float64 is the witness). Steps of Adam would go the way of noise at once.
    """
    return replace(nets.mobilenet(*arguments), optimizer="descent", rate=1e-5)


FEW = ((1, 4, 1, 1), (2, 4, 2, 2))

NETS = {
    "mobilenet": Entry(
        "MobileNetV2, training", mobilenet,
        {SMALL: ((8, FEW, 8), 2), CPU: ((32,), 8), GPU: ((64,), 128)},
    ),
    "unet": Entry(
        "U-Net, training", nets.unet,
        {SMALL: ((8, 2, 2), 2), CPU: ((64, 16, 3), 4), GPU: ((128, 64, 4), 16)},
    ),
    "dcgan": Entry(
        "DCGAN, training with two optimizers", nets.dcgan,
        {SMALL: ((2,), 3), CPU: ((32,), 16), GPU: ((64,), 128)},
    ),
}  # fmt: skip
