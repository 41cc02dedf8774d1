"""PyTorch on the CPU, eager and compiled (inductor).

Batches enter by `from_numpy`, without a copy; labels are int64, torch's own type for them. Optimizers are
the fused ones of torch.optim, gradients are set to None, attention is `scaled_dot_product_attention`,
inference runs in inference mode. Dense weights lie [out, in] as in nn.Linear. Images of the residual
networks are in the channels_last format, those of LeNet are not: each is the faster way here. The small
nets are compiled as a whole step, update included (`WHOLE_STEP`), the others as the loss, with autograd
and the optimizer outside: again what was faster. The update of a table row by row stays outside: the
compiler knows no sparse gradients.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.residual import Conv, is_statistic
from benchmarks.workloads import Batch, Data, chain

Tensors = dict[str, torch.Tensor]
Step = Callable[[], Any]
WHOLE_STEP = ("w1", "w")  # weights by which the two-layer nets and the logistic regression are known
COMPILED = "torch.compile"

compiled = False


def setup(row: str, threads: int) -> str:
    """Choose eager or compiled, and the number of threads; the version."""
    global compiled
    compiled = row == COMPILED
    torch.set_num_threads(threads)
    return f"torch {torch.__version__}"


def maybe_compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(function, dynamic=False, fullgraph=True) if compiled else function


def turns(batches: tuple[Batch, ...]) -> Callable[[], list[torch.Tensor]]:
    """The next batch, as tensors."""
    long = [tuple(a.astype(np.int64) if a.dtype == np.int32 else a for a in batch) for batch in batches]
    turn = itertools.cycle(long)
    return lambda: [torch.from_numpy(array) for array in next(turn)]


def images_first(batches: tuple[Batch, ...], last: bool) -> tuple[Batch, ...]:
    """Batches whose images are seen as NCHW: in place for channels_last, else as a copy."""
    moved = [(batch[0].transpose(0, 3, 1, 2), *batch[1:]) for batch in batches]
    return tuple(batch if last else (np.ascontiguousarray(batch[0]), *batch[1:]) for batch in moved)


def weight(name: str, value: np.ndarray, last: bool) -> torch.Tensor:
    """A weight as torch wants it: OIHW, or [out, in] for dense layers."""
    if value.ndim == 4:
        made = torch.from_numpy(value.transpose(3, 2, 0, 1).copy())
        return made.contiguous(memory_format=torch.channels_last) if last else made
    return torch.from_numpy((value.T if value.ndim == 2 and name != "table" else value).copy())


def training(
    data: Data,
    loss: Callable[..., torch.Tensor],
    batches: Any = None,
    weights: Any = None,
    last: bool = False,
) -> Step:
    """A step that trains, and returns the loss."""
    values = {name: weight(name, value, last) for name, value in (weights or data.weights).items()}
    batch = turns(batches or data.batches)
    if compiled and data.settings["optimizer"] != "momentum" and whole(values):
        return whole_step(data, values, loss, batch)
    trained = [v.requires_grad_() for name, v in values.items() if not is_statistic(name)]
    optimizer = optimizer_of(data, trained)
    function = maybe_compiled(loss)

    def step() -> float:
        value = function(values, *batch())
        value.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return value.item()

    return step


def whole(values: Tensors) -> bool:
    return len(values) == 2 and any(name in values for name in WHOLE_STEP)


def optimizer_of(data: Data, trained: list[torch.Tensor]) -> torch.optim.Optimizer:
    rate, momentum = data.settings["rate"], data.settings.get("momentum", 0)
    if data.settings["optimizer"] == "adam":
        return torch.optim.Adam(trained, rate, fused=True)
    return torch.optim.SGD(trained, rate, momentum=momentum, fused=True)


def whole_step(data: Data, values: Tensors, loss: Callable[..., torch.Tensor], batch: Any) -> Step:
    """Gradients and update in one compiled function."""
    rate, difference = data.settings["rate"], torch.func.grad_and_value(loss)
    first, second = ({name: torch.zeros_like(v) for name, v in values.items()} for _ in range(2))
    time = torch.zeros(())

    def sgd(values: Tensors, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        gradients, value = difference(values, x, y)
        for name, gradient in gradients.items():
            values[name].sub_(rate * gradient)
        return value

    def adam(values: Tensors, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        gradients, value = difference(values, x, y)
        time.add_(1)
        now = rate * torch.sqrt(1 - 0.999**time) / (1 - 0.9**time)
        for name, g in gradients.items():
            first[name].mul_(0.9).add_(g, alpha=0.1)
            second[name].mul_(0.999).addcmul_(g, g, value=0.001)
            values[name].sub_(now * first[name] / (torch.sqrt(second[name]) + 1e-8))
        return value

    function = maybe_compiled(adam if data.settings["optimizer"] == "adam" else sgd)
    return lambda: function(values, *batch()).item()


def function(data: Data, compute: Callable[..., Any]) -> Step:
    """A step that returns arrays."""
    made, batch = maybe_compiled(compute), turns(data.batches)

    def step() -> Any:
        with torch.inference_mode():
            result = made(*batch())
            return tuple(r.numpy() for r in result) if isinstance(result, tuple) else result.numpy()

    return step


def scalar(data: Data) -> Step:
    a, b = (torch.from_numpy(data.weights[name].copy()) for name in "ab")
    made, batch = maybe_compiled(lambda a, b, x: a * x + b), turns(data.batches)

    def step() -> float:
        with torch.inference_mode():
            return made(a, b, *batch()).item()

    return step


def two_layer(data: Data) -> Step:
    def loss(w: Tensors, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        error = F.linear(F.relu(F.linear(x, w["w1"])), w["w2"]) - y
        return (error * error).sum()

    return training(data, loss)


def lenet(data: Data) -> Step:
    weights = dict(data.weights)
    side = math.isqrt(len(weights["dense"]) // 20)
    by_channel = (
        weights["dense"].reshape(side, side, 20, 10).transpose(2, 0, 1, 3)
    )  # flattened as C, H, W here
    weights["dense"] = by_channel.reshape(-1, 10)

    def loss(w: Tensors, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        for n in "12":
            x = F.relu(F.max_pool2d(F.conv2d(x, w["conv" + n], w["bias" + n]), 2))
        return F.cross_entropy(F.linear(x.flatten(1), w["dense"], w["bias3"]), y)

    return training(data, loss, images_first(data.batches, last=False), weights)


def mlp(data: Data) -> Step:
    def loss(w: Tensors, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = F.relu(F.linear(x, w["w1"], w["b1"]))
        x = F.relu(F.linear(x, w["w2"], w["b2"]))
        return F.cross_entropy(F.linear(x, w["w3"], w["b3"]), y)

    return training(data, loss)


def logistic(data: Data) -> Step:
    return training(data, lambda w, x, y: F.cross_entropy(F.linear(x, w["w"], w["b"]), y))


def black_scholes(data: Data) -> Step:
    interest = data.settings["interest"]

    def prices(
        spot: torch.Tensor, strike: torch.Tensor, time: torch.Tensor, volatility: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        deviation = volatility * torch.sqrt(time)
        d1 = (torch.log(spot / strike) + (interest + volatility * volatility / 2) * time) / deviation
        n1, n2 = (0.5 * (1 + torch.erf(d * math.sqrt(0.5))) for d in (d1, d1 - deviation))
        discounted = strike * torch.exp(-interest * time)
        call = spot * n1 - discounted * n2
        return call, call - spot + discounted

    return function(data, prices)


def norm_softmax(data: Data) -> Step:
    epsilon, batch = data.settings["epsilon"], turns(data.batches)

    def loss(x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        return F.softmax(F.gelu(F.layer_norm(x, x.shape[-1:], scale, shift, epsilon)), -1).square().sum()

    made = maybe_compiled(loss)

    def step() -> tuple[Any, ...]:
        inputs = [tensor.requires_grad_() for tensor in batch()]
        value = made(*inputs)
        return value.item(), *(g.numpy() for g in torch.autograd.grad(value, inputs))

    return step


def lstm(data: Data) -> Step:
    return lstm_cells(data) if compiled else lstm_native(data)


def lstm_cells(data: Data) -> Step:
    """The cell written out, in a Python loop: what the compiler gets."""
    width = len(data.weights["wh"])

    def loss(w: Tensors, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        inputs = F.linear(x, w["wx"], w["b"])
        h = c = x.new_zeros(x.shape[1], width)
        for now in inputs.unbind(0):
            i, f, g, o = torch.addmm(now, h, w["wh"].t()).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return F.cross_entropy(F.linear(h, w["wo"], w["bo"]), y)

    return training(data, loss)


def lstm_native(data: Data) -> Step:
    """nn.LSTM, in oneDNN. Its second bias stays zero."""
    values = {name: weight(name, value, False) for name, value in data.weights.items()}
    net = torch.nn.LSTM(values["wx"].shape[1], values["wh"].shape[1])
    names = {"weight_ih_l0": "wx", "weight_hh_l0": "wh", "bias_ih_l0": "b"}
    for name, parameter in net.named_parameters():
        parameter.data = values[names[name]] if name in names else torch.zeros_like(parameter)
        parameter.requires_grad_(name in names)
    out, bias = values["wo"].requires_grad_(), values["bo"].requires_grad_()
    trained = [p for p in net.parameters() if p.requires_grad]
    optimizer, batch = optimizer_of(data, [*trained, out, bias]), turns(data.batches)

    def step() -> float:
        x, y = batch()
        loss = F.cross_entropy(F.linear(net(x)[0][-1], out, bias), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step


def transformer(data: Data) -> Step:
    heads, epsilon = data.settings["heads"], data.settings["epsilon"]

    def loss(w: Tensors, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        batch, time, width = x.shape
        h = F.layer_norm(x, (width,), w["scale1"], w["shift1"], epsilon)
        parts = F.linear(h, w["qkv"], w["qkv_bias"]).view(batch, time, 3, heads, width // heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        x = x + F.linear(mixed.reshape(batch, time, width), w["out"], w["out_bias"])
        h = F.layer_norm(x, (width,), w["scale2"], w["shift2"], epsilon)
        h = F.gelu(F.linear(h, w["up"], w["up_bias"]), approximate="tanh")
        return F.mse_loss(x + F.linear(h, w["down"], w["down_bias"]), y)

    return training(data, loss)


def resnet18(data: Data) -> Step:
    net, decay, epsilon = (data.settings[name] for name in ("net", "decay", "epsilon"))

    def normalized(w: Tensors, conv: Conv, x: torch.Tensor) -> torch.Tensor:
        h = F.conv2d(x, w[conv.name + ".w"], None, conv.stride, conv.window // 2)
        mean, variance, scale, shift = (w[f"{conv.name}.{part}"] for part in "mvgb")
        return F.batch_norm(h, mean, variance, scale, shift, True, decay, epsilon)

    def loss(w: Tensors, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        h = F.relu(normalized(w, net.stem, x))
        for block in net.blocks:
            first, second = block.convs
            direct = normalized(w, block.shortcut, h) if block.shortcut else h
            h = F.relu(normalized(w, second, F.relu(normalized(w, first, h))) + direct)
        return F.cross_entropy(F.linear(h.mean((2, 3)), w["fc.w"], w["fc.b"]), y)

    return training(data, loss, images_first(data.batches, last=True), last=True)


class ResNet50(torch.nn.Module):  # type: ignore[misc]
    """Its weights are parameters, so that the compiler may freeze and pack them."""

    def __init__(self, data: Data) -> None:
        super().__init__()
        self.net = data.settings["net"]
        for name, value in data.weights.items():
            made = torch.nn.Parameter(weight(name, value, last=True), requires_grad=False)
            self.register_parameter(name.replace(".", "_"), made)

    def biased(self, conv: Conv, x: torch.Tensor) -> torch.Tensor:
        w, b = getattr(self, conv.name + "_w"), getattr(self, conv.name + "_b")
        return F.conv2d(x, w, b, conv.stride, conv.window // 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.max_pool2d(F.relu(self.biased(self.net.stem, x)), 3, 2, 1)
        for block in self.net.blocks:
            direct = self.biased(block.shortcut, h) if block.shortcut else h
            first, second, third = block.convs
            inner = F.relu(self.biased(second, F.relu(self.biased(first, h))))
            h = F.relu(self.biased(third, inner) + direct)
        return F.linear(h.mean((2, 3)), self.fc_w, self.fc_b)


def resnet50(data: Data) -> Step:
    net: Any = ResNet50(data).eval()
    if compiled:
        from torch._inductor import config

        config.freezing = True
        net = torch.compile(net, dynamic=False)
    batch = turns(images_first(data.batches, last=True))

    def step() -> np.ndarray:
        with torch.no_grad() if compiled else torch.inference_mode():
            return net(*batch()).numpy()

    return step


def heat(data: Data) -> Step:
    return heat_steps(data) if compiled else heat_in_place(data)


def heat_steps(data: Data) -> Step:
    """One time step is compiled, and called in a loop."""
    steps, factor = data.settings["steps"], data.settings["factor"]
    batch = turns(data.batches)

    def advance(u: torch.Tensor) -> torch.Tensor:
        c = u[1:-1, 1:-1]
        return u + F.pad(factor * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * c), [1] * 4)

    made = maybe_compiled(advance)

    def step() -> np.ndarray:
        with torch.inference_mode():
            (u,) = batch()
            for _ in range(steps):
                u = made(u)
            return u.numpy()

    return step


def heat_in_place(data: Data) -> Step:
    steps, factor = data.settings["steps"], data.settings["factor"]
    batch = turns(data.batches)

    def step() -> np.ndarray:
        with torch.inference_mode():
            u = batch()[0].clone()
            c, around = u[1:-1, 1:-1], (u[2:, 1:-1], u[1:-1, :-2], u[1:-1, 2:])
            change = torch.empty_like(c)
            for _ in range(steps):
                torch.add(u[:-2, 1:-1], around[0], out=change)
                change.add_(around[1]).add_(around[2]).add_(c, alpha=-4)
                c.add_(change, alpha=factor)
            return u.numpy()

    return step


def embedding(data: Data) -> Step:
    values = {name: weight(name, value, False).requires_grad_() for name, value in data.weights.items()}
    rate, batch = data.settings["rate"], turns(data.batches)
    sparse, rest = torch.optim.SGD([values["table"]], rate), optimizer_of(data, [values["w"], values["b"]])
    head = maybe_compiled(lambda h, w, b, y: F.cross_entropy(F.linear(h, w, b), y))

    def step() -> float:
        words, y = batch()
        loss = head(
            F.embedding_bag(words, values["table"], mode="mean", sparse=True), values["w"], values["b"], y
        )
        loss.backward()
        for optimizer in (sparse, rest):
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step


def dag(data: Data) -> Step:
    w, c = (torch.from_numpy(data.weights[name].copy()) for name in "wc")
    return function(data, lambda x: chain(x, w, c, data.settings["nodes"], torch.mm, torch.tanh))
