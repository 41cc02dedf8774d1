"""Kinds of operations that random programs are made of: each adds a few statements to a generator `g`.

A template returns False if there is nothing that it fits.
"""

from tests.witness.programs import Code, Item

FLOAT, INT, BOOL = "float64", "int32", "bool"
TEMPLATES = []
MOST = 96  # elements of a value

# Functions of one number: the largest argument that is allowed, and a bound of the result.
UNARY = [
    ("tf.tanh", 50, lambda b: 1), ("tf.sin", 50, lambda b: 1), ("tf.cos", 50, lambda b: 1),
    ("tf.sigmoid", 20, lambda b: 1), ("tf.square", 6, lambda b: b * b), ("tf.negative", 1e3, lambda b: b),
    ("tf.exp", 2, lambda b: 8), ("tf.nn.softplus", 20, lambda b: b + 1), ("tf.nn.elu", 6, lambda b: b),
    ("tf.nn.relu", 50, lambda b: b), ("tf.abs", 50, lambda b: b), ("tf.atan", 50, lambda b: 2),
    ("tf.erf", 4, lambda b: 1), ("tf.expm1", 2, lambda b: 8), ("tf.sinh", 2, lambda b: 4),
    ("tf.cosh", 2, lambda b: 4), ("tf.asinh", 6, lambda b: 3), ("tf.nn.softsign", 20, lambda b: 1),
    ("tf.nn.relu6", 50, lambda b: 6), ("tf.nn.selu", 6, lambda b: 2 * b),
    ("tf.nn.leaky_relu", 20, lambda b: b), ("tf.identity", 1e3, lambda b: b),
    ("tf.stop_gradient", 1e3, lambda b: b), ("tf.floor", 50, lambda b: b + 1),
    ("tf.sign", 50, lambda b: 1), ("tf.zeros_like", 1e3, lambda b: 1), ("tf.ones_like", 1e3, lambda b: 1),
    ("tf.nn.swish", 20, lambda b: b),
]
POSITIVE = ["tf.sqrt", "tf.rsqrt", "tf.log", "tf.reciprocal", "tf.log1p"]  # of 1.5 + x * x


def template(weight=1):
    """Decorator: add a template, as often as `weight` says."""

    def declare(function):
        TEMPLATES.extend([function] * weight)
        return function

    return declare


def broadcast(a, b):
    """The shape of two broadcast together, None if they do not fit."""
    out = []
    for i in range(max(len(a), len(b))):
        n = a[-1 - i] if i < len(a) else 1
        m = b[-1 - i] if i < len(b) else 1
        if n != m and 1 not in (n, m):
            return None
        out.append(m if n == 1 else n)
    return tuple(reversed(out))


def size(shape):
    made = 1
    for n in shape:
        made *= n
    return made


@template(5)
def unary(g):
    x = g.pick()
    path, most, bound = g.choose(UNARY)
    if x is None:
        return False
    x = g.calm(x, most)
    g.add(path, [x], FLOAT, x.shape, bound(x.bound))
    return True


@template(2)
def positive(g):
    x = g.pick()
    if x is None:
        return False
    inner = g.add("tf.square", [g.calm(x)], FLOAT, x.shape, 16.0)
    inner = g.add("tf.add", [inner, 1.5], FLOAT, x.shape, 18.0)
    g.add(g.choose(POSITIVE), [inner], FLOAT, x.shape, 5.0)
    return True


@template(7)
def binary(g):
    x = g.pick()
    if x is None:
        return False
    y = g.pick(where=lambda v: broadcast(v.shape, x.shape) is not None)
    shape = broadcast(x.shape, y.shape)
    if size(shape) > MOST:
        return False
    path = g.choose(["tf.add", "tf.subtract", "tf.multiply", "tf.multiply", "tf.maximum", "tf.minimum",
                     "tf.squared_difference", "tf.divide", "tf.atan2", "tf.pow"])
    x, y = g.calm(x, 10.0), g.calm(y, 10.0)
    if path in ("tf.divide", "tf.pow"):
        base = g.add("tf.add", [g.add("tf.cos", [y], FLOAT, y.shape, 1.0), 2.0], FLOAT, y.shape, 3.0)
        g.add(path, [x, base] if path == "tf.divide" else [base, g.calm(x, 2.0)], FLOAT, shape, 10.0)
        return True
    if path == "tf.atan2":
        y = g.add(
            "tf.add", [g.add("tf.exp", [g.calm(y, 2.0)], FLOAT, y.shape, 8.0), 0.5], FLOAT, y.shape, 9.0
        )
    bounds = {"tf.multiply": x.bound * y.bound, "tf.squared_difference": (x.bound + y.bound) ** 2}
    g.add(path, [x, y], FLOAT, shape, bounds.get(path, x.bound + y.bound))
    return True


@template(2)
def chosen(g):
    x = g.pick()
    if x is None:
        return False
    y = g.of_shape(x.shape)
    rows = bool(x.shape) and g.chance(0.4)
    condition = g.pick(BOOL, x.shape[:1] if rows else x.shape)
    if condition is None:
        return compared(g, x.shape[:1] if rows else x.shape)
    g.add("tf.where", [condition, x, y], FLOAT, x.shape, max(x.bound, y.bound))
    return True


def compared(g, shape):
    """A comparison of this shape."""
    x, y = g.of_shape(shape), g.of_shape(shape)
    path = g.choose(["tf.less", "tf.greater", "tf.less_equal", "tf.greater_equal"])
    if x is y:
        y = 0.2
    g.add(path, [x, y], BOOL, shape, 1)
    return True


@template(2)
def truths(g):
    x = g.pick(BOOL)
    if x is None:
        return compared(g, g.choose([(), (), (3,), (2, 3)]))
    kind = g.random.randrange(4)
    if kind == 0:
        g.add("tf.logical_not", [x], BOOL, x.shape, 1)
    elif kind == 1:
        y = g.of_shape(x.shape, BOOL)
        g.add(g.choose(["tf.logical_and", "tf.logical_or", "tf.logical_xor"]), [x, y], BOOL, x.shape, 1)
    elif kind == 2:
        g.add(g.choose(["tf.reduce_any", "tf.reduce_all"]), [x], BOOL, (), 1)
    else:
        g.add("tf.cast", [x, Code("tf." + g.choose([FLOAT, INT]))], FLOAT, x.shape, 1)
        g.scope[-1].dtype = g.statements[-1].args[1].split(".")[1]
    return True


@template(3)
def integers(g):
    x = g.pick(INT)
    kind = g.random.randrange(6)
    if x is None or kind == 0:
        v = g.pick()
        if v is None:
            return False
        scaled = g.add("tf.multiply", [g.calm(v, 3.0), 2.3], FLOAT, v.shape, 7.0)
        g.add("tf.cast", [scaled, Code("tf.int32")], INT, v.shape, 7)
    elif kind == 1:
        g.add(
            g.choose(["tf.floordiv", "tf.floormod"]), [x, g.choose([2, 3, 5])], INT, x.shape, max(5, x.bound)
        )
    elif kind == 2:
        y = g.of_shape(x.shape, INT)
        path = g.choose(["tf.add", "tf.subtract", "tf.maximum", "tf.minimum"])
        made = g.add(path, [x, y], INT, x.shape, x.bound + y.bound)
        g.add("tf.floormod", [made, 7], INT, x.shape, 6)
    elif kind == 3 and x.shape:
        axis = g.random.randrange(len(x.shape))
        shape = x.shape[:axis] + x.shape[axis + 1 :]
        g.add(
            g.choose(["tf.reduce_sum", "tf.reduce_max", "tf.reduce_min"]), [x, axis], INT, shape, x.bound * 4
        )
    elif kind == 4:
        y = g.pick(rank=(1, 2, 3))
        if y is None:
            return False
        axis = g.random.randrange(len(y.shape))
        shape = y.shape[:axis] + y.shape[axis + 1 :]
        path = g.choose(["tf.argmax", "tf.argmin"])
        g.add(path, [y, axis], INT, shape, y.shape[axis], output_type=Code("tf.int32"))
    else:
        made = g.add("tf.floormod", [x, 5], INT, x.shape, 4)
        g.add("tf.cast", [made, Code("tf.float64")], FLOAT, x.shape, 4.0)
    return True


@template(4)
def reduced(g):
    x = g.pick(rank=(1, 2, 3, 4))
    if x is None:
        return False
    rank = len(x.shape)
    axes = g.choose([None, [0], [rank - 1], sorted(g.random.sample(range(rank), min(2, rank)))])
    keep = g.chance(0.4)
    gone = range(rank) if axes is None else axes
    shape = tuple(1 if i in gone else n for i, n in enumerate(x.shape) if keep or i not in gone)
    names = ["sum", "mean", "max", "min", "logsumexp", "prod", "euclidean_norm"]
    path = "tf.reduce_" + g.choose(names)
    count = x.size // max(1, size(shape))
    if path == "tf.reduce_prod":
        x = g.calm(x, 2.0)
        if count > 6:
            return False
    if path == "tf.reduce_euclidean_norm":
        x = g.add("tf.add", [g.calm(x, 3.0), 4.0], FLOAT, x.shape, 7.0)
        path, axes = "tf.norm", axes[0] if axes and len(axes) == 1 else axes
    product = x.bound ** min(count, 6)
    bound = {"tf.reduce_sum": x.bound * count, "tf.reduce_prod": product, "tf.norm": 7.0 * count}
    g.add(path, [g.calm(x, 20.0)], FLOAT, shape, bound.get(path, x.bound + 5), axis=axes, keepdims=keep)
    return True


@template(5)
def moved(g):
    x = g.pick(rank=(1, 2, 3))
    if x is None:
        return False
    shape, rank = x.shape, len(x.shape)
    axis = g.random.randrange(rank)
    kind = g.random.randrange(15)
    swapped = list(range(rank))
    g.random.shuffle(swapped)

    def grown(extra):
        return shape[:axis] + (shape[axis] + extra,) + shape[axis + 1 :]

    if kind == 0:
        g.add("tf.transpose", [x, swapped], FLOAT, [shape[i] for i in swapped], x.bound)
    elif kind == 1:
        g.add("tf.reshape", [x, [-1]], FLOAT, (x.size,), x.bound)
    elif kind == 2:
        g.add("tf.reverse", [x, [axis]], FLOAT, shape, x.bound)
    elif kind == 3:
        low, high = g.random.randint(0, 1), g.random.randint(0, 2)
        pads = [[low, high] if i == axis else [0, 0] for i in range(rank)]
        g.add("tf.pad", [x, pads], FLOAT, grown(low + high), x.bound)
    elif kind == 4 and x.size < MOST // 2:
        g.add(
            "tf.tile", [x, [2 if i == axis else 1 for i in range(rank)]], FLOAT, grown(shape[axis]), x.bound
        )
    elif kind == 5:
        y = g.of_shape(shape)
        if x.size * 2 > MOST:
            return False
        g.add("tf.concat", [[x, y], axis], FLOAT, grown(shape[axis]), max(x.bound, y.bound))
    elif kind == 6 and x.size * 2 <= MOST:
        y = g.of_shape(shape)
        g.add(
            "tf.stack", [[x, y]], FLOAT, shape[:axis] + (2,) + shape[axis:], max(x.bound, y.bound), axis=axis
        )
    elif kind == 7:
        g.add("tf.expand_dims", [x, axis], FLOAT, shape[:axis] + (1,) + shape[axis:], x.bound)
    elif kind == 8:
        g.add("tf.roll", [x, g.random.randint(-2, 2), axis], FLOAT, shape, x.bound)
    elif kind == 9:
        begin = [g.random.randrange(n) for n in shape]
        sizes = [g.random.randint(1, n - b) for n, b in zip(shape, begin)]
        g.add("tf.slice", [x, begin, sizes], FLOAT, sizes, x.bound)
    elif kind == 10 and not x.variable:
        return item(g, x)
    elif kind == 11:
        path = g.choose(["tf.cumsum", "tf.cumprod"])
        kwargs = {"exclusive": g.chance(0.4), "reverse": g.chance(0.4)}
        x = g.calm(x, 1.6)
        g.add(path, [x, axis], FLOAT, shape, 1.6 ** shape[axis] * shape[axis], **kwargs)
    elif kind == 12 and rank == 2 and shape[0] == shape[1]:
        g.add(g.choose(["tf.matrix_diag_part", "tf.diag_part"]), [x], FLOAT, shape[:1], x.bound)
    elif kind == 13 and rank == 1:
        g.add(g.choose(["tf.diag", "tf.matrix_diag"]), [x], FLOAT, shape * 2, x.bound)
    elif kind == 14 and rank >= 2:
        g.add("tf.matrix_band_part", [x, g.choose([-1, 0, 1]), g.choose([-1, 0, 1])], FLOAT, shape, x.bound)
    else:
        return False
    return True


def item(g, x):
    """x[...] with slices, strides, numbers, new axes."""
    index, shape = [], []
    for n in x.shape:
        kind = g.random.randrange(5)
        if kind == 0:
            index.append(g.random.randrange(-n, n))
        elif kind == 1:
            low = g.random.randrange(n)
            high = g.random.randint(low + 1, n)
            index.append(slice(low, high))
            shape.append(high - low)
        elif kind == 2:
            index.append(slice(None, None, -1))
            shape.append(n)
        elif kind == 3:
            index.append(slice(None, None, 2))
            shape.append((n + 1) // 2)
        else:
            index += [slice(None), None]
            shape += [n, 1]
    made = type(x)(g.name(), x.dtype, shape, x.bound)
    g.statements.append(Item(made.name, x.name, index))
    g.scope.append(made)
    return True


@template(3)
def gathered(g):
    x = g.pick(rank=(1, 2, 3))
    if x is None:
        return False
    axis = 0 if x.variable else g.random.randrange(len(x.shape))
    n = x.shape[axis]
    found = g.pick(INT, rank=(0, 1))
    if found is not None and g.chance(0.5):
        at = g.add("tf.floormod", [found, n], INT, found.shape, n - 1)
        index_shape = found.shape
    else:
        index_shape = g.choose([(), (2,), (3,)])
        at = (
            [g.random.randrange(n) for _ in range(size(index_shape))]
            if index_shape
            else g.random.randrange(n)
        )
    shape = x.shape[:axis] + tuple(index_shape) + x.shape[axis + 1 :]
    if size(shape) > MOST:
        return False
    kind = g.random.randrange(3)
    if kind == 0 and len(x.shape) >= 2:
        rows = [[g.random.randrange(n) for n in x.shape[:2]] for _ in range(3)]
        g.add("tf.gather_nd", [x, rows], FLOAT, (3,) + x.shape[2:], x.bound)
    elif axis == 0 and g.chance(0.4) and index_shape:
        g.add("tf.nn.embedding_lookup", [x, at], FLOAT, shape, x.bound)
    else:
        g.add("tf.gather", [x, at], FLOAT, shape, x.bound, axis=axis)
    return True


@template(3)
def scattered(g):
    x = g.pick(rank=(1, 2))
    if x is None:
        return False
    n, rest = x.shape[0], x.shape[1:]
    ids = [g.random.randrange(4) for _ in range(n)]
    kind = g.random.randrange(6)
    if kind == 0:
        g.add("tf.unsorted_segment_sum", [x, ids, 4], FLOAT, (4,) + rest, x.bound * n)
    elif kind == 1:
        path = g.choose(["tf.segment_sum", "tf.segment_mean"])
        dense = sorted(ids)
        shape = (dense[-1] + 1,) + rest
        made = g.add(path, [x, dense], FLOAT, shape, x.bound * n)
        g.add("tf.reshape", [made, list(shape)], FLOAT, shape, x.bound * n)
        g.scope.remove(made)  # TF1 does not know its shape
    elif kind == 2:
        g.add("tf.scatter_nd", [[[i] for i in ids], x, [4] + list(rest)], FLOAT, (4,) + rest, x.bound * n)
    elif kind == 3:
        y = g.of_shape((4,) + rest)
        path = g.choose(["tf.tensor_scatter_add", "tf.tensor_scatter_sub"])
        g.add(path, [y, [[i] for i in ids], x], FLOAT, (4,) + rest, y.bound + x.bound * n)
    elif kind == 4:
        k = g.random.randint(1, x.shape[-1])
        made = g.add("tf.nn.top_k", [x, k], FLOAT, x.shape[:-1] + (k,), x.bound)
        values = type(made)(g.name(), FLOAT, made.shape, x.bound)
        g.statements.append(Item(values.name, made.name, [0]))
        g.scope.remove(made)
        g.scope.append(values)
    else:
        found = g.pick(INT, rank=(0, 1))
        if found is None:
            return False
        at = g.add("tf.floormod", [found, 4], INT, found.shape, 3)
        g.add("tf.one_hot", [at, 4], FLOAT, found.shape + (4,), 1.0, {"dtype": Code("tf.float64")})
    return True


@template(4)
def products(g):
    x = g.pick(rank=(2, 3))
    if x is None:
        return False
    x = g.calm(x)
    ta, tb = g.chance(0.3), g.chance(0.3)
    rows, depth = (x.shape[-1], x.shape[-2]) if ta else (x.shape[-2], x.shape[-1])
    wanted = x.shape[:-2]
    y = g.pick(where=lambda v: len(v.shape) == len(x.shape) and v.shape[:-2] == wanted
               and v.shape[-1 if tb else -2] == depth)
    if y is None:
        columns = g.random.randint(1, 3)
        y = g.constant(wanted + ((columns, depth) if tb else (depth, columns)))
    y = g.calm(y)
    shape = wanted + (rows, y.shape[-2 if tb else -1])
    bound = depth * x.bound * y.bound
    if len(x.shape) == 2 and not ta and not tb and g.chance(0.3):
        if g.chance(0.5):
            g.add("tf.einsum", ["ab,bc->ac", x, y], FLOAT, shape, bound)
        else:
            g.add("tf.tensordot", [x, y, 1], FLOAT, shape, bound)
    else:
        g.add("tf.matmul", [x, y], FLOAT, shape, bound, transpose_a=ta, transpose_b=tb)
    return True


@template(1)
def matrices(g):
    x = g.pick(shape=(3, 3)) if g.chance(0.8) else g.constant((3, 3))
    if x is None:
        return False
    low = g.add("tf.tanh", [x], FLOAT, (3, 3), 1.0)
    eye = g.constant((3, 3))
    g.statements[-1].args[0] = [[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]
    full = g.add("tf.add", [low, eye], FLOAT, (3, 3), 5.0)
    if g.chance(0.5):
        g.add("tf.matrix_inverse", [full], FLOAT, (3, 3), 1.0)
    else:
        g.add("tf.matrix_determinant", [full], FLOAT, (), 200.0)
    return True


@template(2)
def network(g):
    x = g.pick(rank=(1, 2))
    if x is None:
        return False
    x = g.calm(x)
    kind = g.random.randrange(7)
    if kind == 0:
        g.add(g.choose(["tf.nn.softmax", "tf.nn.log_softmax"]), [x], FLOAT, x.shape, 9.0)
    elif kind == 1:
        y = g.of_shape(x.shape)
        labels = g.add("tf.nn.softmax", [g.calm(y)], FLOAT, x.shape, 1.0)
        path = g.choose(
            ["tf.nn.softmax_cross_entropy_with_logits_v2", "tf.nn.sigmoid_cross_entropy_with_logits"]
        )
        shape = x.shape[:-1] if "softmax" in path else x.shape
        g.add(path, [], FLOAT, shape, 10.0, labels=labels.name, logits=x.name)
        g.statements[-1].touches = x.variable
    elif kind == 2 and len(x.shape) == 2:
        labels = [g.random.randrange(x.shape[1]) for _ in range(x.shape[0])]
        path = "tf.nn.sparse_softmax_cross_entropy_with_logits"
        g.add(path, [], FLOAT, x.shape[:1], 10.0, labels=labels, logits=x.name)
        g.statements[-1].touches = x.variable
    elif kind == 3 and len(x.shape) == 2:
        bias = g.of_shape(x.shape[1:])
        g.add("tf.nn.bias_add", [x, bias], FLOAT, x.shape, x.bound + bias.bound)
    elif kind == 4:
        shifted = g.add("tf.add", [x, 5.0], FLOAT, x.shape, 9.0)
        g.add("tf.nn.l2_normalize", [shifted, 0], FLOAT, x.shape, 1.0)
    elif kind == 5:
        g.add("tf.clip_by_value", [x, -0.8, 0.9], FLOAT, x.shape, 0.9)
    else:
        g.add("tf.nn.l2_loss", [x], FLOAT, (), x.bound**2 * x.size)
    return True


@template(1)
def images(g):
    x = g.pick(rank=(4,)) or g.constant((1, 4, 4, 2))
    x = g.calm(x, 3.0)
    if x.shape[1] < 2 or x.shape[2] < 2:
        return False
    padding, step = g.choose(["SAME", "VALID"]), g.choose([1, 2])
    kind = g.random.randrange(3)
    n, height, width, depth = x.shape

    def count(extent):
        return -(-extent // step) if padding == "SAME" else (extent - 2) // step + 1

    out = (n, count(height), count(width))
    if kind == 0:
        filters = g.of_shape((2, 2, depth, 2))
        g.add("tf.nn.conv2d", [x, g.calm(filters)], FLOAT, out + (2,), 8 * depth * 8.0,
              strides=[1, step, step, 1], padding=padding)
    else:
        path = "tf.nn.max_pool" if kind == 1 else "tf.nn.avg_pool"
        g.add(path, [x, [1, 2, 2, 1], [1, step, step, 1], padding], FLOAT, out + (depth,), x.bound)
    made = g.scope[-1]
    if made.size > MOST:
        g.add("tf.reduce_mean", [made], FLOAT, (n, depth if kind else 2), made.bound, axis=[1, 2])
        g.scope.remove(made)
    return True


@template(1)
def narrowed(g):
    """To float32 and back."""
    x = g.pick()
    if x is None:
        return False
    low = g.add("tf.cast", [x, Code("tf.float32")], "float32", x.shape, x.bound)
    low = g.add(g.choose(["tf.tanh", "tf.sin"]), [low], "float32", x.shape, 1.0)
    g.add("tf.cast", [low, Code("tf.float64")], FLOAT, x.shape, 1.0)
    return True
