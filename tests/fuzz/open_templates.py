"""Kinds of steps over axes of open size: each adds a value or two to `g`, if one of its values fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.open_steps import Label, Steps, called, order_of, replaced, template


@template(3)
def unary(g: Steps) -> None:
    """A function of single numbers."""
    tf, x = g.tf, g.some()
    made = g.random.choice((tf.tanh, tf.sigmoid, tf.square, tf.nn.relu, tf.exp, tf.nn.softplus, tf.atan))
    g.add(made(g.calm(x.tensor)), x.labels)


@template(5)
def binary(g: Steps) -> None:
    """A function of two numbers, of values that are broadcast."""
    tf, x = g.tf, g.some()
    fitting = [
        v for v in g.values
        if v.rank <= x.rank and all(a in (b, 1) for a, b in zip(v.labels[::-1], x.labels[::-1], strict=False))
    ]  # fmt: skip
    y = g.random.choice(fitting)
    made = g.random.choice((tf.add, tf.subtract, tf.multiply, tf.maximum, tf.squared_difference))
    pair = [g.calm(x.tensor), y.tensor]
    g.random.shuffle(pair)
    g.add(made(*pair), x.labels)


@template(4)
def reduced(g: Steps) -> None:
    """A sum, a mean or so over some axes."""
    tf, x = g.tf, g.some(1, 2, 3)
    axes = sorted(g.random.sample(range(x.rank), g.random.randint(1, x.rank)))
    keep = g.random.randrange(2) == 0
    made = g.random.choice(
        (tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_logsumexp, tf.math.reduce_euclidean_norm)
    )
    x_ = g.tf.cos(x.tensor) + 1.5 if made is tf.math.reduce_euclidean_norm else g.calm(x.tensor)
    labels = [1 if i in axes else n for i, n in enumerate(x.labels) if keep or i not in axes]
    g.add(made(x_, axes, keepdims=keep), labels)


@template(2)
def normal(g: Steps) -> None:
    """A softmax or a normalisation."""
    tf, x = g.tf, g.some(1, 2, 3)
    axis, calm = g.axis(x), g.calm(x.tensor)

    def batch() -> Any:
        mean, variance = tf.nn.moments(calm, [axis], keep_dims=True)
        return tf.nn.batch_normalization(calm, mean, variance, 0.5, 1.2, 1e-2)

    made = g.random.choice(
        (
            lambda: tf.nn.softmax(calm, axis=axis), lambda: tf.nn.log_softmax(calm, axis=axis), batch,
            lambda: tf.nn.l2_normalize(calm, axis), lambda: calm - tf.reduce_mean(calm, axis, keepdims=True),
        )
    )()  # fmt: skip
    g.add(made, x.labels)


@template(3)
def scanned(g: Steps) -> None:
    """A running total or product."""
    tf, x = g.tf, g.some(1, 2, 3)
    made = g.random.choice((tf.cumsum, tf.cumsum, tf.cumprod))
    more = {"exclusive": g.random.randrange(2) == 0, "reverse": g.random.randrange(2) == 0}
    calm = g.calm(x.tensor) if made is tf.cumsum else 1 + 0.01 * g.calm(x.tensor)
    g.add(made(calm, g.axis(x), **more), x.labels)


@template(6)
def sliced(g: Steps) -> None:
    """A part with a beginning, an end and a step of either sign, some of them computed of sizes."""
    x = g.some(1, 2, 3)
    axis = g.axis(x)
    n = g.size(x, axis)
    half = n // 2
    a, b = g.random.randrange(4), g.random.randrange(1, 4)
    step = g.random.choice((1, 1, 2, 3, -1, -2, -3))
    parts = [
        (a, None, step), (None, -b, step), (-b, None, step), (a, -b, 1), (None, None, step), (half, None, 1),
        (None, half, 1), (None, n - half, 1), (a, half, 1), (n - half, None, -1), (-a - 1, None, -2),
        (0, b, 1), (None, b, -1),
    ]  # fmt: skip
    start, stop, step = part = g.random.choice(parts)
    key = [slice(None)] * x.rank
    key[axis] = slice(start, stop, step)
    if isinstance(n, int):
        label: Label = len(range(*slice(start, stop, step).indices(n)))
    else:
        texts = [
            "half" if p is half else "rest" if p is not None and not isinstance(p, int) else p for p in part
        ]
        label = f"{x.labels[axis]}{texts}"
    g.add(x.tensor[tuple(key)], replaced(x.labels, axis, label))


@template(3)
def put_together(g: Steps) -> None:
    """Values along an axis, one after the other."""
    tf, x = g.tf, g.some(1, 2, 3)
    axis = g.axis(x)
    others = [
        v for v in g.values
        if v.rank == x.rank and all(i == axis or v.labels[i] == x.labels[i] for i in range(x.rank))
    ]  # fmt: skip
    y = g.random.choice(others)
    a, b = x.labels[axis], y.labels[axis]
    label = a + b if isinstance(a, int) and isinstance(b, int) else f"({a}+{b})"
    made = tf.concat([x.tensor, y.tensor], axis)
    g.add(made, replaced(x.labels, axis, label))
    if g.random.randrange(2):
        sizes = tf.stack([tf.shape(y.tensor)[axis], tf.shape(x.tensor)[axis]])
        one, two = tf.split(made, sizes, axis, num=2)
        g.add(one, y.labels)
        g.add(two * 2.0, x.labels)


@template(5)
def moved(g: Steps) -> None:
    """The same numbers at other places."""
    tf, x = g.tf, g.some(1, 2, 3)
    axis, order = g.axis(x), list(range(x.rank))
    n, label = g.size(x, axis), x.labels[axis]
    g.random.shuffle(order)
    low, high, k = g.random.randrange(3), g.random.randrange(3), g.random.randrange(-3, 4)
    pads = [[low, high] if i == axis else [0, 0] for i in range(x.rank)]
    padded = label + low + high if isinstance(label, int) else f"{label}+{low}+{high}"
    flat = "*".join(map(str, x.labels))
    twice = 2 * label if isinstance(label, int) else f"2*{label}"
    paired = label + 2 if isinstance(label, int) else f"{label}+1+1"
    cases = [
        lambda: (tf.transpose(x.tensor, order), [x.labels[i] for i in order]),
        lambda: (tf.reverse(x.tensor, [axis]), x.labels),
        lambda: (tf.roll(x.tensor, k, axis), x.labels),
        lambda: (tf.roll(x.tensor, n // 2, axis), x.labels),
        lambda: (tf.pad(x.tensor, pads), replaced(x.labels, axis, padded)),
        lambda: (tf.pad(x.tensor, [[1, 1] if i == axis else [0, 0] for i in order_of(x)], "SYMMETRIC"),
                 replaced(x.labels, axis, paired)),
        lambda: (tf.tile(x.tensor, [2 if i == axis else 1 for i in range(x.rank)]),
                 replaced(x.labels, axis, twice)),
        lambda: (tf.reshape(x.tensor, [-1]), [flat if x.rank > 1 else label]),
        lambda: (tf.reshape(x.tensor, tf.shape(x.tensor)[::-1]), x.labels[::-1]),
        lambda: (tf.expand_dims(x.tensor, axis), [*x.labels[:axis], 1, *x.labels[axis:]]),
        lambda: (tf.broadcast_to(x.tensor, tf.concat([[2], tf.shape(x.tensor)], 0)), [2, *x.labels]),
    ]  # fmt: skip
    tensor, labels = g.random.choice(cases)()
    if len(labels) <= 3:
        g.add(tensor, labels)


@template(3)
def gathered(g: Steps) -> None:
    """Numbers at places that depend on sizes."""
    tf, x = g.tf, g.some(1, 2, 3)
    axis = g.axis(x)
    n, label = g.size(x, axis), x.labels[axis]
    places = tf.floormod(tf.range(n) * 7 + 3, tf.maximum(n, 1))
    kind = g.random.randrange(4)
    if kind == 0 and x.rank >= 2:
        rows, columns = g.size(x, 0), g.size(x, 1)
        at = tf.stack([tf.range(rows), tf.floormod(tf.range(rows), tf.maximum(columns, 1))], 1)
        fits = tf.cond(tf.equal(columns, 0), lambda: at[:0], lambda: at)
        g.add(tf.gather_nd(x.tensor, fits), [f"nd({x.labels[0]},{x.labels[1]})", *x.labels[2:]])
    elif kind == 1:
        g.add(tf.gather(x.tensor, places[::-2], axis=axis), replaced(x.labels, axis, f"half of {label}"))
    else:
        g.add(tf.gather(x.tensor, places, axis=axis), x.labels)


@template(3)
def sorted_out(g: Steps) -> None:
    """Sorts and choices of the greatest."""
    tf, x = g.tf, g.some(1, 2, 3)
    n, label = g.size(x, x.rank - 1), x.labels[-1]
    kind = g.random.randrange(5)
    if kind == 0:
        g.add(tf.sort(x.tensor, g.axis(x), g.random.choice(("ASCENDING", "DESCENDING"))), x.labels)
    elif kind == 1:
        values, at = tf.nn.top_k(x.tensor, tf.minimum(n, 3))
        g.add(
            values * 2.0,
            [*x.labels[:-1], called("few", label, lambda n: min(n, 3))],
        )
        g.whole[f"top{len(g.whole)}"] = at
    elif kind == 2:
        values, _ = tf.nn.top_k(x.tensor, (n + 1) // 2, sorted=True)
        g.add(values, [*x.labels[:-1], called("more", label, lambda n: (n + 1) // 2)])
    elif kind == 3:
        g.whole[f"order{len(g.whole)}"] = tf.argsort(x.tensor, g.axis(x))
    else:
        axis = g.axis(x)
        g.whole[f"best{len(g.whole)}"] = tf.argmax(
            tf.pad(x.tensor, [[0, i == axis] for i in order_of(x)]), axis
        )


@template(3)
def product(g: Steps) -> None:
    """Products of matrices."""
    tf, x = g.tf, g.some(2, 3)
    if x is None:
        return
    a = g.calm(x.tensor) * 0.3
    batch, (rows, columns) = x.labels[:-2], x.labels[-2:]
    kind = g.random.randrange(5)
    if kind == 0:
        g.add(tf.matmul(a, a, transpose_b=True), [*batch, rows, rows])
    elif kind == 1:
        g.add(tf.matmul(a, a, transpose_a=True), [*batch, columns, columns])
    elif kind == 2:
        g.add(tf.einsum("ij,kj->ik" if x.rank == 2 else "bij,bkj->bik", a, a), [*batch, rows, rows])
    elif kind == 3:
        made = tf.tensordot(a, a, [[0], [0]])
        if x.rank == 2:
            g.add(made, [columns, columns])
        else:
            g.add(tf.reduce_sum(made, [2, 3]), x.labels[1:])
    else:
        g.add(tf.einsum("ij->j" if x.rank == 2 else "bij->jb", a), [columns, *batch])


@template(3)
def convolved(g: Steps) -> None:
    """Convolutions and pools with strides."""
    tf, x = g.tf, g.some(2)
    if x is None:
        return
    picture = g.calm(x.tensor)[None, :, :, None]
    step, padding = g.random.choice((1, 1, 2, 3)), g.random.choice(("SAME", "VALID"))
    if padding == "VALID":
        picture = tf.pad(picture, [[0, 0], [2, 1], [1, 2], [0, 0]])
    filters = tf.cast(tf.constant(np.cos(np.arange(18.0)).reshape(3, 3, 1, 2)), g.dtype)
    kind = g.random.randrange(6)
    if kind == 0:
        made = tf.nn.conv2d(picture, filters, [1, step, step, 1], padding)
    elif kind == 1:
        made = tf.nn.max_pool(picture, [1, 2, 3, 1], [1, step, step, 1], padding)
    elif kind == 2:
        made = tf.nn.avg_pool(picture, [1, 3, 2, 1], [1, step, step, 1], padding)
    elif kind == 3:
        made = tf.nn.depthwise_conv2d(picture, filters, [1, step, step, 1], padding)
    elif kind == 4:
        made = tf.nn.conv1d(picture[0], filters[0], step, padding)[:, :, None]
    else:
        made = tf.nn.conv2d(picture, filters, [1, 1, 1, 1], padding, dilations=[1, 2, 1, 1])
    made = made[0] if kind != 4 else made[:, :, 0, :]
    text = f"{padding} {step} {kind} of"
    g.add(made[:, :, -1], [f"{text} {x.labels[0]}", f"{text} {x.labels[1]} across"])


@template(3)
def looped(g: Steps) -> None:
    """Loops of as many rounds as a size says, and recurrent nets."""
    tf, x = g.tf, g.some(2)
    if x is None:
        return
    calm, rows = g.calm(x.tensor), g.size(x, 0)
    start = tf.zeros_like(tf.reduce_sum(calm, 0))
    kind = g.random.randrange(6)
    if kind == 0:
        _, made = tf.while_loop(
            lambda i, a: i < rows, lambda i, a: (i + 1, a * 0.9 + tf.tanh(calm[i])), [0, start]
        )
        g.add(made, x.labels[1:])
    elif kind == 1:
        g.add(tf.scan(lambda a, row: a * 0.5 + tf.sin(row), calm, start), x.labels)
    elif kind == 2:
        g.add(tf.map_fn(lambda row: tf.cumsum(row) - row[::-1], calm), x.labels)
    elif kind == 3:
        _, made = tf.while_loop(
            lambda i, a: i < rows // 2,
            lambda i, a: (i + 1, tf.concat([a, calm[i : i + 1]], 0)),
            [0, calm[:0]],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, None])],
        )  # fmt: skip
        g.add(made, [f"{x.labels[0]}//2 rounds", x.labels[1]])
    elif kind == 4:
        lengths = tf.floormod(tf.range(rows) * 5, g.size(x, 1) + 1)
        g.add(tf.reverse_sequence(calm, lengths, seq_axis=1, batch_axis=0), x.labels)
    else:
        cell = tf.nn.rnn_cell.BasicRNNCell(2, name=f"cell{len(g.values)}")
        lengths = tf.floormod(tf.range(rows) * 3 + 1, g.size(x, 1) + 1)
        made, state = tf.nn.dynamic_rnn(cell, calm[:, :, None], lengths, dtype=g.dtype)
        g.add(made[:, :, 0], x.labels)
        g.add(state, [x.labels[0], 2])


@template(3)
def summed_up(g: Steps) -> None:
    """Sums of segments, and updates of places."""
    tf, x = g.tf, g.some(1, 2, 3)
    n, label = g.size(x, 0), x.labels[0]
    ids = tf.range(n)
    kind = g.random.randrange(6)
    if kind == 0:
        made = g.random.choice((tf.segment_sum, tf.segment_mean, tf.segment_max))
        g.add(made(x.tensor, ids // 2), [f"segments of {label}", *x.labels[1:]])
    elif kind == 1:
        made = g.random.choice((tf.unsorted_segment_sum, tf.unsorted_segment_mean))
        g.add(made(x.tensor, tf.floormod(ids * 7, 5), 5), [5, *x.labels[1:]])
    elif kind == 2:
        g.add(tf.unsorted_segment_sum(x.tensor, ids // 3, n), x.labels)
    elif kind == 3:
        g.add(tf.scatter_nd(((ids * 3) % tf.maximum(n, 1))[:, None], x.tensor, tf.shape(x.tensor)), x.labels)
    elif kind == 4:
        g.add(tf.tensor_scatter_add(x.tensor, (ids // 2)[:, None], x.tensor * 2.0), x.labels)
    else:
        places = tf.floormod(ids, 3)
        hot = tf.one_hot(places, 3, dtype=g.dtype)
        g.add(tf.reshape(hot, [n, *[1] * (x.rank - 1), 3])[..., 0] * x.tensor, x.labels)


@template(3)
def chosen(g: Steps) -> None:
    """What the numbers themselves decide: choices, masks, drops."""
    tf, x = g.tf, g.some(1, 2, 3)
    flat, kind = tf.reshape(x.tensor, [-1]), g.random.randrange(7)
    if kind == 0:
        g.add(tf.where(x.tensor > 0.2, x.tensor, tf.sin(x.tensor)), x.labels)
    elif kind == 1:
        g.add(tf.boolean_mask(x.tensor, x.tensor > 0.2), [f"mask{len(g.values)}"])
    elif kind == 2:
        g.whole[f"where{len(g.whole)}"] = tf.where(x.tensor < -0.1)
    elif kind == 3:
        g.add(tf.nn.dropout(x.tensor, rate=0.4, seed=3), x.labels)
    elif kind == 4:
        _, at, counts = tf.unique_with_counts(tf.cast(flat * 2.0, tf.int32))
        g.whole[f"at{len(g.whole)}"], g.whole[f"counts{len(g.whole)}"] = at, counts
    elif kind == 5:
        n = g.size(x, 0)
        mask = tf.sequence_mask(tf.floormod(tf.range(n) * 2, n + 1), n, dtype=g.dtype)
        g.add(mask, [x.labels[0]] * 2)
    else:
        n = tf.size(x.tensor)
        g.add(tf.cond(n > 8, lambda: x.tensor * 2.0, lambda: tf.cos(x.tensor)), x.labels)


@template(3)
def transformed(g: Steps) -> None:
    """Fourier transforms, triangles and diagonals."""
    tf, x = g.tf, g.some(1, 2, 3)
    if x.rank == 1:
        real = tf.concat([x.tensor, [0.5]], 0)
        labels: tuple[Label, ...] = (called("one more than", x.labels[0], lambda n: n + 1),)
    else:
        real, labels = x.tensor, x.labels
    low = tf.cast(real, tf.float32)
    half = replaced(labels, len(labels) - 1, f"half of {labels[-1]}, 1")
    kind = g.random.randrange(7)
    pair = tf.complex(low, tf.cos(low))
    if kind == 0:
        g.add(
            tf.cast(tf.abs(tf.signal.rfft(low) + 0.1), g.dtype),
            half,
        )
    elif kind == 1:
        g.add(tf.cast(tf.real(tf.signal.ifft(pair)), g.dtype), labels)
    elif kind == 2:
        g.add(
            tf.cast(tf.signal.irfft(pair), g.dtype),
            replaced(labels, len(labels) - 1, f"twice {labels[-1]}, -2"),
        )
    elif kind == 3 and len(labels) > 1:
        g.add(tf.cast(tf.imag(tf.signal.fft2d(pair)), g.dtype), labels)
    elif kind == 4 and len(labels) > 1:
        g.add(
            tf.cast(tf.real(tf.signal.rfft2d(low)), g.dtype),
            half,
        )
    elif kind == 5 and len(labels) > 1:
        g.add(tf.linalg.band_part(real, g.random.choice((-1, 0, 1)), g.random.choice((-1, 0, 1))), labels)
    elif kind == 6 and len(labels) == 2:
        square = tf.matmul(g.calm(real), g.calm(real), transpose_b=True)
        scaled = square / tf.cast(tf.shape(real)[1] + 1, g.dtype)
        made = tf.linalg.set_diag(scaled, tf.diag_part(scaled) + 3.0)
        g.add(tf.cholesky(made) if g.random.randrange(2) else tf.matrix_inverse(made), [labels[0]] * 2)
