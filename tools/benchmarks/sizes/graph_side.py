"""Graphs and sessions, of this project and of TensorFlow: the same program for both."""

from __future__ import annotations

import math
import os
from typing import Any, Callable, Dict, List, Tuple

import numpy as np

from benchmarks.sizes.nets import Net

OURS = "staticgraph"
lib: Any = None
ours = False
cores = 1
device = "cpu"
compiles: Any = None  # of our session


def setup(row: str, threads: int, on: str = "cpu") -> str:
    """Import the library; the version."""
    global lib, ours, cores, device
    ours, cores, device = row == OURS, threads, on
    if ours:
        import staticgraph

        lib = Ops.library = staticgraph
        lib.set_num_threads(threads)
        return f"staticgraph {lib.__version__}"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow.compat.v1 as lib_v1

    lib = lib_v1
    lib.disable_v2_behavior()
    lib.enable_resource_variables()
    return f"tensorflow {lib.__version__}"


def session() -> Any:
    """A session whose variables are initialized."""
    global compiles
    if ours:
        made = lib.Session(open_sizes=True, device=device)
        compiles = made.compiles
    else:
        options = {"intra_op_parallelism_threads": cores, "inter_op_parallelism_threads": cores}
        made = lib.Session(config=lib.ConfigProto(**options))
    made.run(lib.global_variables_initializer())
    return made


def step_of(net: Net) -> Callable[..., Any]:
    """Build the graph; a function from arrays to the losses or the result."""
    feeds = [lib.placeholder(dtype, shape) for dtype, shape in net.feeds]
    fetches = parts(net, variables(net), feeds)
    run = session().run
    alone = not net.rate and len(fetches[0]) == 1

    def step(*arrays: np.ndarray) -> Any:
        results = run(fetches, {feeds[i]: array for i, array in enumerate(arrays)})[0]
        return results[0] if alone else results

    return step


def variables(net: Net) -> Dict[str, Any]:
    """Make the variables of a net."""
    return {name: lib.Variable(value, name=name.replace(".", "_")) for name, value in net.weights.items()}


def parts(net: Net, w: Dict[str, Any], feeds: List[Any]) -> Tuple[List[Any], List[Any]]:
    """Build what a step computes: its losses or results, and the operations that change variables."""
    made = net.compute(Ops, w, *feeds)
    if net.moves:
        result, moved = made
        return [result], [w[name].assign(value).op for name, value in moved.items()]
    if not net.rate:
        return made if isinstance(made, list) else [made], []
    kind = lib.train.AdamOptimizer if net.optimizer == "adam" else lib.train.GradientDescentOptimizer
    changes = []
    for loss, prefix in made:
        trained = [variable for name, variable in w.items() if name.startswith(prefix)]
        changes.append(kind(net.rate).minimize(loss, var_list=trained))
    return [loss for loss, _ in made], changes


def programs() -> int | None:
    """The programs that were compiled for steps, that of the initializers apart; None if nobody counts."""
    return len(compiles) - 1 if ours else None


class Ops:
    """The operations of nets."""

    library: Any = None

    @staticmethod
    def conv(x: Any, w: Any, stride: int = 1) -> Any:
        margin = (int(w.shape[0]) - 1) // 2
        pads = [[0, 0], [margin, margin], [margin, margin], [0, 0]]
        if stride == 1:
            return lib.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
        return lib.nn.conv2d(lib.pad(x, pads), w, [1, stride, stride, 1], "VALID")

    @staticmethod
    def depthwise(x: Any, w: Any, stride: int) -> Any:
        if stride == 1:
            return lib.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME")
        padded = lib.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])
        return lib.nn.depthwise_conv2d(padded, w, [1, stride, stride, 1], "VALID")

    @staticmethod
    def conv_transpose(x: Any, w: Any, size: int) -> Any:
        shape = lib.stack([lib.shape(x)[0], size, size, int(w.shape[2])])
        made = lib.nn.conv2d_transpose(x, w, shape, [1, 2, 2, 1], "SAME")
        return lib.reshape(made, [-1, size, size, int(w.shape[2])])

    @staticmethod
    def bias(x: Any, b: Any) -> Any:
        return lib.nn.bias_add(x, b)

    @staticmethod
    def norm(x: Any, scale: Any, shift: Any) -> Any:
        return lib.nn.fused_batch_norm(x, scale, shift, epsilon=1e-5)[0]

    @staticmethod
    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        mean, variance = lib.nn.moments(x, [-1], keep_dims=True)
        return (x - mean) * lib.rsqrt(variance + 1e-5) * scale + shift

    @staticmethod
    def pool(x: Any) -> Any:
        return lib.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")

    @staticmethod
    def relu(x: Any) -> Any:
        return lib.nn.relu(x)

    @staticmethod
    def relu6(x: Any) -> Any:
        return lib.nn.relu6(x)

    @staticmethod
    def leaky_relu(x: Any) -> Any:
        return lib.nn.leaky_relu(x, 0.2)

    @staticmethod
    def tanh(x: Any) -> Any:
        return lib.tanh(x)

    @staticmethod
    def mean(x: Any) -> Any:
        return lib.reduce_mean(x, [1, 2])

    @staticmethod
    def channels(parts: Any) -> Any:
        return lib.concat(parts, 3)

    @staticmethod
    def channels_last(x: Any) -> Any:
        return x

    @staticmethod
    def images(x: Any, size: int, width: int) -> Any:
        return lib.reshape(x, [-1, size, size, width])

    @staticmethod
    def flat(x: Any) -> Any:
        return lib.reshape(x, [-1, int(np.prod(x.shape.as_list()[1:]))])

    @staticmethod
    def reshape(x: Any, shape: Any) -> Any:
        return lib.reshape(x, list(shape))

    @staticmethod
    def matmul(x: Any, w: Any) -> Any:
        return lib.matmul(x, w)

    @staticmethod
    def transposed(x: Any) -> Any:
        return lib.transpose(x)

    @staticmethod
    def lookup(table: Any, ids: Any) -> Any:
        return lib.nn.embedding_lookup(table, ids)

    @staticmethod
    def first_rows(table: Any, x: Any) -> Any:
        return table[: lib.shape(x)[0]]

    @staticmethod
    def last_row(x: Any) -> Any:
        return x[-1:]

    @staticmethod
    def cross_entropy(y: Any, logits: Any) -> Any:
        each = lib.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        return lib.reduce_mean(each)

    @staticmethod
    def binary(logits: Any, label: float) -> Any:
        labels = lib.ones_like(logits) * label
        return lib.reduce_mean(lib.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))

    @staticmethod
    def attention(qkv: Any, heads: int) -> Any:
        width = int(qkv.shape[1]) // 3
        parts = lib.transpose(lib.reshape(qkv, [-1, 3, heads, width // heads]), [1, 2, 0, 3])
        q, k, v = lib.unstack(parts)
        scores = lib.matmul(q, k, transpose_b=True) / math.sqrt(width // heads)
        mask = lib.linalg.band_part(lib.ones_like(scores), -1, 0)
        mixed = lib.matmul(lib.nn.softmax(scores + (mask - 1.0) * 1e9), v)
        return lib.reshape(lib.transpose(mixed, [1, 0, 2]), [-1, width])

    @staticmethod
    def lstm(x: Any, wx: Any, wh: Any, b: Any) -> Any:
        units, keras_3 = int(wh.shape[0]), not ours and int(lib.__version__.split(".")[0]) > 1

        class Cell(object if keras_3 else lib.nn.rnn_cell.RNNCell):  # type: ignore[misc]
            """Gates in the order i, f, g, o."""

            state_size = (units, units)
            output_size = units

            def zero_state(self, batch_size: Any, dtype: Any) -> Any:
                return (lib.zeros([batch_size, units], dtype),) * 2

            def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
                h, c = state
                i, f, g, o = lib.split(inputs + lib.matmul(h, wh), 4, 1)
                c = lib.sigmoid(f) * c + lib.sigmoid(i) * lib.tanh(g)
                h = lib.sigmoid(o) * lib.tanh(c)
                return h, (h, c)

        batch = int(x.shape[1])
        projected = lib.reshape(
            lib.matmul(lib.reshape(x, [-1, int(x.shape[2])]), wx) + b, [-1, batch, 4 * units]
        )
        return lib.nn.dynamic_rnn(Cell(), projected, dtype=lib.float32, time_major=True)[0]
