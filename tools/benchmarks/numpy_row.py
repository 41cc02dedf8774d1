"""NumPy, with gradients derived and written by hand: the work whose gradient is short.

OpenBLAS from the wheel, updates in place, `out=` where that is natural; erf is SciPy's where it is installed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workloads import Data, chain

try:
    from scipy.special import erf
except ImportError:  # right, and slow: good enough for a reference
    erf = np.frompyfunc(math.erf, 1, 1)

Array = np.ndarray
Step = Callable[[], Any]
f32 = np.float32


def setup(row: str, threads: int) -> str:
    """The version. OpenBLAS has read its number of threads from the environment."""
    return f"numpy {np.__version__}"


def training(data: Data, gradients: Callable[..., tuple[Any, dict[str, Array]]]) -> Step:
    """A step that trains, and returns the loss. `gradients(weights, *batch)`: the loss and its gradients."""
    weights = {name: value.copy() for name, value in data.weights.items()}
    first, second = ({name: np.zeros_like(value) for name, value in weights.items()} for _ in range(2))
    turn, counter, rate = itertools.cycle(data.batches), itertools.count(1), f32(data.settings["rate"])

    def sgd() -> float:
        loss, found = gradients(weights, *next(turn))
        for name, g in found.items():
            g *= rate
            weights[name] -= g
        return float(loss)

    def adam() -> float:
        loss, found = gradients(weights, *next(turn))
        time = next(counter)
        now = f32(rate * math.sqrt(1 - 0.999**time) / (1 - 0.9**time))
        for name, g in found.items():
            m, v = first[name], second[name]
            m *= f32(0.9)
            m += f32(0.1) * g
            v *= f32(0.999)
            g *= g
            g *= f32(0.001)
            v += g
            change = np.sqrt(v, out=g)
            change += f32(1e-8)
            np.divide(m, change, out=change)
            change *= now
            weights[name] -= change
        return float(loss)

    return adam if data.settings["optimizer"] == "adam" else sgd


def cross_entropy(logits: Array, y: Array) -> tuple[Any, Array]:
    """The mean loss and its gradient by the logits."""
    shifted = logits - logits.max(1, keepdims=True)
    e = np.exp(shifted)
    total = e.sum(1, keepdims=True)
    rows = np.arange(len(y))
    loss = (np.log(total[:, 0]) - shifted[rows, y]).mean()
    e /= total
    e[rows, y] -= 1
    e /= f32(len(y))
    return loss, e


def scalar(data: Data) -> Step:
    a, b = (f32(data.weights[name]) for name in "ab")
    turn = itertools.cycle(data.batches)
    return lambda: float(a * next(turn)[0] + b)


def two_layer(data: Data) -> Step:
    def gradients(w: dict[str, Array], x: Array, y: Array) -> tuple[Any, dict[str, Array]]:
        h = x @ w["w1"]
        np.maximum(h, 0, out=h)
        error = h @ w["w2"]
        error -= y
        loss = np.vdot(error, error)
        error *= 2
        back = error @ w["w2"].T
        back *= h > 0
        return loss, {"w1": x.T @ back, "w2": h.T @ error}

    return training(data, gradients)


def mlp(data: Data) -> Step:
    def gradients(w: dict[str, Array], x: Array, y: Array) -> tuple[Any, dict[str, Array]]:
        values = [x]
        for n in "12":
            h = values[-1] @ w["w" + n]
            h += w["b" + n]
            values.append(np.maximum(h, 0, out=h))
        logits = values[-1] @ w["w3"]
        logits += w["b3"]
        loss, back = cross_entropy(logits, y)
        found = {}
        for n in "321":
            h = values.pop()
            found["w" + n], found["b" + n] = h.T @ back, back.sum(0)
            if values:
                back = back @ w["w" + n].T
                back *= h > 0
        return loss, found

    return training(data, gradients)


def logistic(data: Data) -> Step:
    def gradients(w: dict[str, Array], x: Array, y: Array) -> tuple[Any, dict[str, Array]]:
        loss, back = cross_entropy(x @ w["w"] + w["b"], y)
        return loss, {"w": x.T @ back, "b": back.sum(0)}

    return training(data, gradients)


def black_scholes(data: Data) -> Step:
    turn, interest = itertools.cycle(data.batches), f32(data.settings["interest"])

    def step() -> tuple[Array, Array]:
        spot, strike, time, volatility = next(turn)
        deviation = volatility * np.sqrt(time)
        d1 = (np.log(spot / strike) + (interest + volatility * volatility / 2) * time) / deviation
        n1, n2 = ((1 + erf(d * f32(math.sqrt(0.5)))) / 2 for d in (d1, d1 - deviation))
        discounted = strike * np.exp(-interest * time)
        call = spot * n1 - discounted * n2
        return call, call - spot + discounted

    return step


def norm_softmax(data: Data) -> Step:
    turn, epsilon = itertools.cycle(data.batches), f32(data.settings["epsilon"])
    density = f32(1 / math.sqrt(2 * math.pi))

    def step() -> tuple[Any, ...]:
        x, scale, shift = next(turn)
        centred = x - x.mean(1, keepdims=True)
        inverse = 1 / np.sqrt((centred * centred).mean(1, keepdims=True) + epsilon)
        centred *= inverse
        u = centred * scale + shift
        below = (f32(0.5) * (1 + erf(u * f32(math.sqrt(0.5))))).astype(np.float32)
        y = u * below
        e = np.exp(y - y.max(1, keepdims=True))
        e /= e.sum(1, keepdims=True)
        loss = np.vdot(e, e)
        back = 2 * e * (e - (e * e).sum(1, keepdims=True))
        back *= below + u * density * np.exp(u * u * f32(-0.5))
        by_scale, by_shift = (back * centred).sum(0), back.sum(0)
        back *= scale
        along = (back * centred).mean(1, keepdims=True)
        return loss, inverse * (back - back.mean(1, keepdims=True) - centred * along), by_scale, by_shift

    return step


def heat(data: Data) -> Step:
    turn, steps, factor = itertools.cycle(data.batches), data.settings["steps"], f32(data.settings["factor"])

    def step() -> Array:
        u = next(turn)[0].copy()
        c = u[1:-1, 1:-1]
        change, four = np.empty_like(c), np.empty_like(c)
        for _ in range(steps):
            np.add(u[:-2, 1:-1], u[2:, 1:-1], out=change)
            change += u[1:-1, :-2]
            change += u[1:-1, 2:]
            change -= np.multiply(c, f32(4), out=four)
            change *= factor
            c += change
        return u

    return step


def embedding(data: Data) -> Step:
    weights = {name: value.copy() for name, value in data.weights.items()}
    turn, rate = itertools.cycle(data.batches), f32(data.settings["rate"])

    def step() -> float:
        words, y = next(turn)
        h = weights["table"][words].mean(1)
        loss, back = cross_entropy(h @ weights["w"] + weights["b"], y)
        rows = back @ weights["w"].T
        rows *= -rate / f32(words.shape[1])
        np.add.at(weights["table"], words.ravel(), np.repeat(rows, words.shape[1], axis=0))
        weights["w"] -= rate * (h.T @ back)
        weights["b"] -= rate * back.sum(0)
        return float(loss)

    return step


def dag(data: Data) -> Step:
    turn, w, c = itertools.cycle(data.batches), data.weights["w"], data.weights["c"]
    return lambda: chain(next(turn)[0], w, c, data.settings["nodes"], np.matmul, np.tanh)
