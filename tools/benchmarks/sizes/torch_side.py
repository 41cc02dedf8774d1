"""PyTorch, eager and compiled with dynamic shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.sizes.nets import Net

COMPILED = {  # arguments of torch.compile, by the name of the row; other rows are eager
    "torch.compile dynamic": {"dynamic": True},
    "torch.compile": {"dynamic": False},
    "torch.compile graphs": {"dynamic": False, "mode": "reduce-overhead"},
}
ORDERS = {4: torch.channels_last, 5: torch.channels_last_3d}  # of windows, by their rank
compiled: dict[str, Any] | None = None
device = "cpu"


def setup(row: str, threads: int, on: str = "cpu") -> str:
    """Choose eager or compiled; the version."""
    global compiled, device
    compiled, device = COMPILED.get(row), "cuda" if on == "gpu" else on
    torch.set_num_threads(threads)
    if device == "cuda":  # float32 with all its bits, as the other rows compute it
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    return f"torch {torch.__version__}"


def _weight(name: str, value: np.ndarray) -> torch.Tensor:
    """Windows are OIHW, what a convolution of torch wants, in the order of channels_last."""
    if value.ndim < 3:
        return torch.from_numpy(value.copy()).to(device)
    last = (2, 3) if name.endswith("depth") else (value.ndim - 1, value.ndim - 2)
    made = torch.from_numpy(value.transpose(*last, *range(value.ndim - 2)).copy())
    order = ORDERS.get(value.ndim, torch.contiguous_format)
    return made.to(device).contiguous(memory_format=order)


def _feed(array: np.ndarray) -> torch.Tensor:
    made = torch.from_numpy(array.astype(np.int64) if array.dtype == np.int32 else array).to(device)
    return made.movedim(-1, 1) if made.ndim in ORDERS else made


def _arrays(made: Any) -> Any:
    """Return a result, or a list of them, as arrays."""
    return [part.cpu().numpy() for part in made] if isinstance(made, list) else made.cpu().numpy()


def step_of(net: Net) -> Callable[..., Any]:
    """A function from arrays to the losses or the result."""
    w = {name: _weight(name, value) for name, value in net.weights.items()}

    def compute(*feeds: torch.Tensor) -> Any:
        result = net.compute(Ops, w, *feeds)
        return [loss for loss, _ in result] if net.rate else result

    function = torch.compile(compute, **compiled) if compiled else compute
    if not net.rate:

        def infer(*arrays: np.ndarray) -> Any:
            with torch.inference_mode():
                made = function(*map(_feed, arrays))
                if net.moves:
                    made, moved = made
                    w.update(moved)
                return _arrays(made)

        return infer

    prefixes = ["d.", "g."] if any(name.startswith("g.") for name in w) else [""]
    groups = [[v.requires_grad_() for name, v in w.items() if name.startswith(p)] for p in prefixes]
    # Threads that add a sparse gradient do not know of `no_grad`: the optimizers see tensors that need none.
    values = [[v.detach() for v in group] for group in groups]
    if net.optimizer == "adam":
        optimizers: list[Any] = [torch.optim.Adam(group, net.rate, fused=True) for group in values]
    else:
        optimizers = [torch.optim.SGD(group, net.rate) for group in values]

    def step(*arrays: np.ndarray) -> Any:
        losses = function(*map(_feed, arrays))
        for number, group in enumerate(groups):
            kept = number + 1 < len(groups)
            gradients = torch.autograd.grad(losses[number], group, retain_graph=kept)
            for value, gradient in zip(values[number], gradients, strict=True):
                value.grad = gradient
        for optimizer in optimizers:
            optimizer.step()
        return [loss.item() for loss in losses]

    return step


class Ops:
    """The operations of nets; images are NCHW, seen in the order of channels_last."""

    library = torch
    relu, tanh, relu6 = F.relu, torch.tanh, F.relu6

    @staticmethod
    def conv(x: Any, w: Any, stride: int = 1) -> Any:
        return F.conv2d(x, w, None, stride, (w.shape[2] - 1) // 2)

    @staticmethod
    def depthwise(x: Any, w: Any, stride: int) -> Any:
        return F.conv2d(x, w, None, stride, 1, groups=w.shape[0])

    @staticmethod
    def conv_transpose(x: Any, w: Any, size: int) -> Any:
        return F.conv_transpose2d(x, w, None, 2, (w.shape[2] - 2) // 2)

    @staticmethod
    def bias(x: Any, b: Any) -> Any:
        return x + (b.view(1, -1, 1, 1) if x.ndim == 4 else b)

    @staticmethod
    def norm(x: Any, scale: Any, shift: Any) -> Any:
        return F.batch_norm(x, None, None, scale, shift, True, 0.1, 1e-5)

    @staticmethod
    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        return F.layer_norm(x, scale.shape, scale, shift, 1e-5)

    @staticmethod
    def pool(x: Any) -> Any:
        return F.max_pool2d(x, 2)

    @staticmethod
    def leaky_relu(x: Any) -> Any:
        return F.leaky_relu(x, 0.2)

    @staticmethod
    def mean(x: Any) -> Any:
        return x.mean((2, 3))

    @staticmethod
    def channels(parts: Any) -> Any:
        return torch.cat(parts, 1)

    @staticmethod
    def channels_last(x: Any) -> Any:
        return x.permute(0, 2, 3, 1)

    @staticmethod
    def images(x: Any, size: int, width: int) -> Any:
        return x.view(-1, size, size, width).permute(0, 3, 1, 2)

    @staticmethod
    def flat(x: Any) -> Any:
        return x.permute(0, 2, 3, 1).flatten(1)

    @staticmethod
    def reshape(x: Any, shape: Any) -> Any:
        return x.reshape(shape)

    @staticmethod
    def matmul(x: Any, w: Any) -> Any:
        return x @ w

    @staticmethod
    def transposed(x: Any) -> Any:
        return x.T

    @staticmethod
    def lookup(table: Any, ids: Any) -> Any:
        return F.embedding(ids, table)

    @staticmethod
    def first_rows(table: Any, x: Any) -> Any:
        return table[: x.shape[0]]

    @staticmethod
    def last_row(x: Any) -> Any:
        return x[-1:]

    @staticmethod
    def cross_entropy(y: Any, logits: Any) -> Any:
        return F.cross_entropy(logits, y)

    @staticmethod
    def binary(logits: Any, label: float) -> Any:
        return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, label))

    @staticmethod
    def attention(qkv: Any, heads: int) -> Any:
        width = qkv.shape[1] // 3
        q, k, v = qkv.view(-1, 3, heads, width // heads).permute(1, 2, 0, 3).unsqueeze(1).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return mixed[0].transpose(0, 1).reshape(-1, width)

    @staticmethod
    def lstm(x: Any, wx: Any, wh: Any, b: Any) -> Any:
        """The function of nn.LSTM, which has its own code for whole sequences."""
        zero = x.new_zeros(1, x.shape[1], wh.shape[0])
        weights = [wx.T.contiguous(), wh.T.contiguous(), b, torch.zeros_like(b)]
        return torch.lstm(x, (zero, zero), weights, True, 1, 0.0, True, False, False)[0]
