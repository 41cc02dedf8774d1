"""TensorFlow 2 on the CPU: `Session.run` in the manner of TensorFlow 1, and functions compiled by XLA.

Sessions use the fused kernels of `tf.compat.v1.train`, resource variables, and as many threads within
operations as between them. XLA rows are `tf.function(jit_compile=True)` with the update written out, so
that it is part of the compiled step. Convolutions are NHWC, the only layout of the kernels for the CPU.
oneDNN is on for the training of convolutional nets, where it was faster, and off elsewhere.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
from collections.abc import Callable
from typing import Any

WITH_ONEDNN = ("lenet", "resnet18")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", str(int(any(name in sys.argv for name in WITH_ONEDNN))))

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from benchmarks.residual import Conv, is_statistic  # noqa: E402
from benchmarks.workloads import Batch, Data, chain  # noqa: E402

v1 = tf.compat.v1
Tensors = dict[str, Any]
Step = Callable[[], Any]
XLA = "TensorFlow XLA"

xla = False
cores = 1


def setup(row: str, threads: int) -> str:
    """Choose sessions or XLA, and the number of threads; the version."""
    global xla, cores
    xla, cores = row == XLA, threads
    if xla:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    else:
        v1.disable_v2_behavior()
        v1.enable_resource_variables()
    return f"tensorflow {tf.__version__}"


def placeholders(batch: Batch) -> list[Any]:
    return [v1.placeholder(array.dtype, array.shape) for array in batch]


def variables(data: Data) -> Tensors:
    make = tf.Variable if xla else v1.Variable
    return {name: make(value, name=name.replace(".", "_")) for name, value in data.weights.items()}


def session() -> Any:
    made = v1.Session(
        config=v1.ConfigProto(intra_op_parallelism_threads=cores, inter_op_parallelism_threads=cores)
    )
    made.run(v1.global_variables_initializer())
    return made


def runner(fetches: Any, feeds: list[Any], batches: tuple[Batch, ...]) -> Step:
    run, turn = session().run, itertools.cycle(batches)
    return lambda: run(fetches, dict(zip(feeds, next(turn), strict=True)))


def compiled(function: Callable[..., Any], batches: tuple[Batch, ...]) -> Step:
    """Return a function, compiled by XLA, that runs on the next batch."""
    made, turn = tf.function(function, jit_compile=True), itertools.cycle(batches)
    return lambda: made(*map(tf.convert_to_tensor, next(turn)))


def training(data: Data, loss: Callable[..., Any]) -> Step:
    """A step that trains, and returns the loss.

    `loss(weights, *batch)` gives the loss, or it and pairs of a variable and its new value.
    """
    weights = variables(data)
    trained = [w for name, w in weights.items() if not is_statistic(name)]

    def evaluated(*batch: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        result = loss(weights, *batch)
        return result if isinstance(result, tuple) else (result, [])

    if not xla:
        feeds = placeholders(data.batches[0])
        value, updates = evaluated(*feeds)
        train = optimizer(data).minimize(value, var_list=trained)
        run = runner([value, train, *(v1.assign(v, new) for v, new in updates)], feeds, data.batches)
        return lambda: float(run()[0])

    apply = update_rule(data, trained)

    def step(*batch: Any) -> Any:
        with tf.GradientTape() as tape:
            value, updates = evaluated(*batch)
        apply(tape.gradient(value, trained))
        for variable, new in updates:
            variable.assign(new)
        return value

    run = compiled(step, data.batches)
    return lambda: float(run())


def optimizer(data: Data) -> Any:
    rate = data.settings["rate"]
    match data.settings["optimizer"]:
        case "sgd":
            return v1.train.GradientDescentOptimizer(rate)
        case "adam":
            return v1.train.AdamOptimizer(rate)
    return v1.train.MomentumOptimizer(rate, data.settings["momentum"])


def update_rule(data: Data, trained: list[Any]) -> Callable[[Any], None]:
    """Return the function that changes the variables, inside a function for XLA."""
    rate, kind = data.settings["rate"], data.settings["optimizer"]
    slots = [[tf.Variable(tf.zeros_like(v)) for v in trained] for _ in range(0 if kind == "sgd" else 2)]
    time = tf.Variable(0.0)

    def sgd(gradients: Any) -> None:
        for v, g in zip(trained, gradients, strict=True):
            v.assign_sub(rate * g)

    def momentum(gradients: Any) -> None:
        for v, slot, g in zip(trained, slots[0], gradients, strict=True):
            v.assign_sub(rate * slot.assign(data.settings["momentum"] * slot + g))

    def adam(gradients: Any) -> None:
        t = time.assign_add(1.0)
        now = rate * tf.sqrt(1 - tf.pow(0.999, t)) / (1 - tf.pow(0.9, t))
        for v, m, s, g in zip(trained, *slots, gradients, strict=True):
            first, second = m.assign(0.9 * m + 0.1 * g), s.assign(0.999 * s + 0.001 * g * g)
            v.assign_sub(now * first / (tf.sqrt(second) + 1e-8))

    return {"sgd": sgd, "momentum": momentum, "adam": adam}[kind]


def function(data: Data, compute: Callable[..., Any]) -> Step:
    """A step that returns arrays."""
    if xla:
        run = compiled(compute, data.batches)

        def step() -> Any:
            result = run()
            return tuple(r.numpy() for r in result) if isinstance(result, tuple) else result.numpy()

        return step
    feeds = placeholders(data.batches[0])
    result = compute(*feeds)
    run = runner(list(result) if isinstance(result, tuple) else result, feeds, data.batches)
    return (lambda: tuple(run())) if isinstance(result, tuple) else run


def cross_entropy(logits: Any, y: Any) -> Any:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))


def layer_norm(x: Any, scale: Any, shift: Any, epsilon: float) -> Any:
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + epsilon) * scale + shift


def dense(x: Any, w: Any, b: Any) -> Any:
    return tf.nn.bias_add(tf.matmul(x, w), b)


def scalar(data: Data) -> Step:
    w = variables(data)
    return function(data, lambda x: w["a"] * x + w["b"])


def scalar_callable(data: Data) -> Step:
    """`Session.make_callable`, and the graph run in the calling thread: what counts where latency does."""
    w, (x,) = variables(data), placeholders(data.batches[0])
    call = session().make_callable(w["a"] * x + w["b"], [x], accept_options=True)
    options, turn = v1.RunOptions(inter_op_thread_pool=-1), itertools.cycle(data.batches)
    return lambda: call(next(turn)[0], options=options)


def two_layer(data: Data) -> Step:
    def loss(w: Tensors, x: Any, y: Any) -> Any:
        return tf.reduce_sum(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w["w1"])), w["w2"]) - y))

    return training(data, loss)


def lenet(data: Data) -> Step:
    def loss(w: Tensors, x: Any, y: Any) -> Any:
        for n in "12":
            x = tf.nn.bias_add(tf.nn.conv2d(x, w["conv" + n], 1, "VALID"), w["bias" + n])
            x = tf.nn.relu(tf.nn.max_pool2d(x, 2, 2, "VALID"))
        return cross_entropy(dense(tf.reshape(x, [len(data.batches[0][1]), -1]), w["dense"], w["bias3"]), y)

    return training(data, loss)


def mlp(data: Data) -> Step:
    def loss(w: Tensors, x: Any, y: Any) -> Any:
        x = tf.nn.relu(dense(x, w["w1"], w["b1"]))
        x = tf.nn.relu(dense(x, w["w2"], w["b2"]))
        return cross_entropy(dense(x, w["w3"], w["b3"]), y)

    return training(data, loss)


def logistic(data: Data) -> Step:
    return training(data, lambda w, x, y: cross_entropy(dense(x, w["w"], w["b"]), y))


def black_scholes(data: Data) -> Step:
    interest = data.settings["interest"]

    def prices(spot: Any, strike: Any, time: Any, volatility: Any) -> tuple[Any, Any]:
        deviation = volatility * tf.sqrt(time)
        d1 = (tf.math.log(spot / strike) + (interest + tf.square(volatility) / 2) * time) / deviation
        n1, n2 = (0.5 * (1 + tf.math.erf(d * math.sqrt(0.5))) for d in (d1, d1 - deviation))
        discounted = strike * tf.exp(-interest * time)
        call = spot * n1 - discounted * n2
        return call, call - spot + discounted

    return function(data, prices)


def norm_softmax(data: Data) -> Step:
    def value_and_gradients(x: Any, scale: Any, shift: Any) -> tuple[Any, ...]:
        h = layer_norm(x, scale, shift, data.settings["epsilon"])
        h = 0.5 * h * (1 + tf.math.erf(h * math.sqrt(0.5)))
        loss = tf.reduce_sum(tf.square(tf.nn.softmax(h)))
        return loss, *tf.gradients(loss, [x, scale, shift])

    return function(data, value_and_gradients)


def lstm(data: Data) -> Step:
    def loss(w: Tensors, x: Any, y: Any) -> Any:
        time, batch, width = data.batches[0][0].shape
        inputs = tf.reshape(dense(tf.reshape(x, [-1, width]), w["wx"], w["b"]), [time, batch, -1])
        units = w["wh"].shape[0]
        steps = tf.TensorArray(tf.float32, time, element_shape=[batch, 4 * units]).unstack(inputs)

        def cell(t: Any, h: Any, c: Any) -> list[Any]:
            i, f, g, o = tf.split(steps.read(t) + tf.matmul(h, w["wh"]), 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            return [t + 1, tf.sigmoid(o) * tf.tanh(c), c]

        zeros = tf.zeros([batch, units])
        start = [tf.constant(0), zeros, zeros]
        _, h, _ = tf.while_loop(lambda t, h, c: t < time, cell, start, maximum_iterations=time)
        return cross_entropy(dense(h, w["wo"], w["bo"]), y)

    return training(data, loss)


def transformer(data: Data) -> Step:
    heads, epsilon = data.settings["heads"], data.settings["epsilon"]
    batch, time, width = data.batches[0][0].shape
    mask = np.where(np.tril(np.ones((time, time), bool)), 0, -1e9).astype(np.float32)

    def loss(w: Tensors, x: Any, y: Any) -> Any:
        x, y = (tf.reshape(t, [batch * time, width]) for t in (x, y))
        h = layer_norm(x, w["scale1"], w["shift1"], epsilon)
        parts = tf.reshape(dense(h, w["qkv"], w["qkv_bias"]), [batch, time, 3, heads, width // heads])
        q, k, v = tf.unstack(tf.transpose(parts, [2, 0, 3, 1, 4]))
        scores = tf.matmul(q, k, transpose_b=True) * (1 / math.sqrt(width // heads)) + mask
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [0, 2, 1, 3])
        x = x + dense(tf.reshape(mixed, [batch * time, width]), w["out"], w["out_bias"])
        h = dense(layer_norm(x, w["scale2"], w["shift2"], epsilon), w["up"], w["up_bias"])
        h = 0.5 * h * (1 + tf.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h * h * h)))
        return tf.reduce_mean(tf.square(x + dense(h, w["down"], w["down_bias"]) - y))

    return training(data, loss)


def convolution(conv: Conv, x: Any, weights: Any) -> Any:
    margin = [conv.window // 2] * 2
    padding = [[0, 0], margin, margin, [0, 0]] if conv.window > 1 else "VALID"
    return tf.nn.conv2d(x, weights, conv.stride, padding)


def resnet18(data: Data) -> Step:
    net, decay, epsilon = (data.settings[name] for name in ("net", "decay", "epsilon"))

    def loss(w: Tensors, x: Any, y: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        updates = []

        def normalized(conv: Conv, x: Any) -> Any:
            h = convolution(conv, x, w[conv.name + ".w"])
            h, *moments = v1.nn.fused_batch_norm(h, w[conv.name + ".g"], w[conv.name + ".b"], epsilon=epsilon)
            for part, moment in zip("mv", moments, strict=True):
                variable = w[f"{conv.name}.{part}"]
                updates.append((variable, (1 - decay) * variable + decay * moment))
            return h

        h = tf.nn.relu(normalized(net.stem, x))
        for block in net.blocks:
            first, second = block.convs
            direct = normalized(block.shortcut, h) if block.shortcut else h
            h = tf.nn.relu(normalized(second, tf.nn.relu(normalized(first, h))) + direct)
        return cross_entropy(dense(tf.reduce_mean(h, [1, 2]), w["fc.w"], w["fc.b"]), y), updates

    return training(data, loss)


def resnet50(data: Data) -> Step:
    net = data.settings["net"]

    def infer(x: Any) -> Any:
        w = {name: tf.constant(value) for name, value in data.weights.items()}

        def biased(conv: Conv, x: Any) -> Any:
            return tf.nn.bias_add(convolution(conv, x, w[conv.name + ".w"]), w[conv.name + ".b"])

        h = tf.pad(tf.nn.relu(biased(net.stem, x)), [[0, 0], [1, 1], [1, 1], [0, 0]])  # no value is negative
        h = tf.nn.max_pool2d(h, 3, 2, "VALID")
        for block in net.blocks:
            direct = biased(block.shortcut, h) if block.shortcut else h
            first, second, third = block.convs
            inner = tf.nn.relu(biased(second, tf.nn.relu(biased(first, h))))
            h = tf.nn.relu(biased(third, inner) + direct)
        return dense(tf.reduce_mean(h, [1, 2]), w["fc.w"], w["fc.b"])

    return function(data, infer)


def heat(data: Data) -> Step:
    steps, factor = data.settings["steps"], data.settings["factor"]

    def advance(t: Any, u: Any) -> tuple[Any, Any]:
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return t + 1, u + tf.pad(factor * (around - 4 * u[1:-1, 1:-1]), [[1, 1], [1, 1]])

    return function(data, lambda u: tf.while_loop(lambda t, u: t < steps, advance, [tf.constant(0), u])[1])


def embedding(data: Data) -> Step:
    """The gradient of the table is IndexedSlices, and its update a scatter."""

    def loss(w: Tensors, words: Any, y: Any) -> Any:
        return cross_entropy(dense(tf.reduce_mean(tf.gather(w["table"], words), 1), w["w"], w["b"]), y)

    if not xla:
        return training(data, loss)
    weights, rate = variables(data), data.settings["rate"]

    def step(words: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            value = loss(weights, words, y)
        rows, *others = tape.gradient(value, [weights[name] for name in ("table", "w", "b")])
        weights["table"].scatter_sub(tf.IndexedSlices(rate * rows.values, rows.indices))
        for name, gradient in zip("wb", others, strict=True):
            weights[name].assign_sub(rate * gradient)
        return value

    run = compiled(step, data.batches)
    return lambda: float(run())


def dag(data: Data) -> Step:
    weights = variables(data)

    def compute(x: Any) -> Any:
        w, c = (tf.identity(weights[name]) for name in "wc")  # read once
        return chain(x, w, c, data.settings["nodes"], tf.matmul, tf.tanh)

    return function(data, compute)
