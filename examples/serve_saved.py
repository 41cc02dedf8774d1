"""Uses the net that digits_cnn.py saved, without the code that built it: the file is all there is.

python examples/serve_saved.py [digits.sg]
"""

from __future__ import annotations

import sys
import time

import numpy as np

import staticgraph as sg

SHADES = " .:-=+*#%@"


def show(image: np.ndarray) -> str:
    """An image of 8 by 8 as text."""
    return "\n".join("".join(SHADES[int(v * 9)] * 2 for v in row) for row in image[..., 0])


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else "digits.sg"
    start = time.perf_counter()
    net = sg.load(path)
    print(net)
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit('the digits to read come from scikit-learn: pip install "staticgraph[examples]"')
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[..., None]
    made = net(images=images[:3])
    print(f"loaded and run in {(time.perf_counter() - start) * 1e3:.0f} ms")
    for image, digit, p in zip(images, made["digit"], made["probabilities"], strict=False):
        print(f"\n{show(image)}\nthis is a {digit}, with probability {p[digit]:.3f}")
    right = net(images=images)["digit"] == digits.target
    print(f"\nof all {len(images)} digits, {right.mean():.2%} are read right")


if __name__ == "__main__":
    main()
