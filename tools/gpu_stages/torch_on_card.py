"""PyTorch on a card. The losses are those of the benchmark's row for the processor; what is around them, the
copies of batches, the optimizer and the captured graph, is as one writes it for a card.

A captured graph holds the whole step, update included, and reads its batch from tensors that stay.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from benchmarks import torch_row
from benchmarks.residual import is_statistic
from benchmarks.workloads import Data
from gpu_stages.sizes import Step

Tensors = dict[str, torch.Tensor]
MODES = {  # of torch.compile, by the name of the row; None: eager
    "torch": None,
    "torch.compile": "default",
    "torch.compile, reduce-overhead": "reduce-overhead",
    "torch.compile, max-autotune": "max-autotune",
    "torch in a CUDA graph": None,
    "torch.compile in a CUDA graph": "default",
}
DEVICE = "cuda"
WARM_UP = 3  # steps before a capture, as PyTorch asks for


def made(row: str, step: Step, dtype: str | None = None) -> Callable[[], float]:
    """A function that does a step, and returns the loss. `dtype`: that of autocast."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    mode, captured = MODES[row], row.endswith("in a CUDA graph")

    def training(
        data: Data,
        loss: Callable[..., torch.Tensor],
        batches: Any = None,
        weights: Any = None,
        last: bool = False,
    ) -> Callable[[], float]:
        values = {
            name: torch_row.weight(name, value, last).to(DEVICE)
            for name, value in (weights or data.weights).items()
        }
        loss = loss if dtype is None else torch.autocast(DEVICE, getattr(torch, dtype))(loss)
        compiled = torch.compile(loss, mode=mode, dynamic=False, fullgraph=True) if mode else loss
        return _step(data, values, compiled, torch_row.turns(batches or data.batches), captured)

    torch_row.training = training  # what the row's functions end with
    return getattr(torch_row, step.name)(step.data())


def _step(
    data: Data, values: Tensors, loss: Callable[..., torch.Tensor], batch: Any, captured: bool
) -> Callable[[], float]:
    trained = [value.requires_grad_() for name, value in values.items() if not is_statistic(name)]
    optimizer = _optimizer(data, trained, captured)
    batches = [[tensor.pin_memory() for tensor in batch()] for _ in data.batches]
    slots = [torch.empty_like(tensor, device=DEVICE) for tensor in batches[0]]
    turn = itertools.cycle(batches)

    def whole() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        value = loss(values, *slots)
        value.backward()
        optimizer.step()
        return value

    def fill(tensors: list[torch.Tensor]) -> None:
        for slot, tensor in zip(slots, tensors, strict=True):
            slot.copy_(tensor, non_blocking=True)

    fill(batches[0])  # labels must be labels while the capture is prepared
    run = _captured(whole, values, optimizer) if captured else whole

    def step() -> float:
        fill(next(turn))
        return run().item()

    return step


def _captured(
    whole: Callable[[], torch.Tensor], values: Tensors, optimizer: torch.optim.Optimizer
) -> Callable[[], torch.Tensor]:
    """The step as a graph. What warming up changed is put back."""
    before = {name: value.detach().clone() for name, value in values.items()}
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            whole()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value = whole()
    with torch.no_grad():
        for name, tensor in values.items():
            tensor.copy_(before[name])
        for state in optimizer.state.values():
            for kept in state.values():
                if isinstance(kept, torch.Tensor):
                    kept.zero_()

    def replayed() -> torch.Tensor:
        graph.replay()
        return value

    return replayed


def _optimizer(data: Data, trained: list[torch.Tensor], captured: bool) -> torch.optim.Optimizer:
    rate, momentum = data.settings["rate"], data.settings.get("momentum", 0)
    if data.settings["optimizer"] == "adam":
        return torch.optim.Adam(trained, rate, fused=True, capturable=captured)
    return torch.optim.SGD(trained, rate, momentum=momentum, fused=True)
