"""Input that TensorFlow refuses: what is computed of it would be numbers that nobody meant."""

import numpy as np

from tests.golden.cases.legacy import old
from tests.golden.runner import error

NAN = float("nan")
BOX, ONE = [[0.0, 0.0, 1.0, 1.0]], [1.0]


def fed(tf, value, dtype="float32"):
    """A value of which nothing is known when the graph is built."""
    return tf.placeholder_with_default(np.array(value, dtype), None)


def of_kinds(tf):
    """A value as a constant, and one that only a run knows."""
    return {"known": tf.constant, "fed": lambda value: fed(tf, value)}


def suppression(name, threshold, kind):
    def build(tf):
        share = of_kinds(tf)[kind](threshold)
        share.set_shape([])
        return getattr(tf.image, name)(BOX, ONE, 1, share)

    return build


def weighted(losses, weights, kind, function=None):
    def build(tf):
        make = of_kinds(tf)[kind]
        weigh = function or (lambda tf, *of: tf.losses.compute_weighted_loss(*of))
        return weigh(tf, make(np.ones(losses, np.float32)), make(np.ones(weights, np.float32)))

    return build


def squares(tf, losses, weights):
    return tf.losses.mean_squared_error(losses, losses, weights)


def density(make, value, kind):
    """The logarithm of the density at a value, of a distribution that checks its arguments."""
    return lambda tf: make(tf, of_kinds(tf)[kind]).log_prob(of_kinds(tf)[kind](np.float32(value)))


DENSITIES = {
    "Bernoulli": (lambda tf, _: tf.distributions.Bernoulli(probs=0.3, dtype=tf.float32, validate_args=True),
                  (0, 1, 2, -1, 0.5)),
    "Binomial": (lambda tf, _: tf.contrib.distributions.Binomial(3.0, probs=0.3, validate_args=True),
                 (0, 3, 4, -1, 1.5)),
    "Poisson": (lambda tf, _: tf.contrib.distributions.Poisson(2.0, validate_args=True), (0, 5, -1, 1.5)),
    "Geometric": (lambda tf, _: tf.contrib.distributions.Geometric(probs=0.3, validate_args=True),
                  (0, 5, -1, 1.5)),
    "NegativeBinomial": (
        lambda tf, _: tf.contrib.distributions.NegativeBinomial(2.0, probs=0.3, validate_args=True),
        (0, 5, -1, 1.5)),
    "Multinomial": (lambda tf, _: tf.distributions.Multinomial(3.0, probs=[0.5, 0.5], validate_args=True),
                    ([1, 2], [2, 2], [1.5, 1.5], [4, -1])),
    "DirichletMultinomial": (
        lambda tf, _: tf.distributions.DirichletMultinomial(3.0, [0.5, 0.5], validate_args=True),
        ([1, 2], [2, 2], [1.5, 1.5], [4, -1])),
    "Dirichlet": (lambda tf, _: tf.distributions.Dirichlet([1.0, 2.0], validate_args=True),
                  ([0.25, 0.75], [0.5, 0.6], [-0.5, 1.5])),
    "Exponential": (lambda tf, make: tf.distributions.Exponential(make(-1.0), validate_args=True), (1,)),
    "Normal": (lambda tf, make: tf.distributions.Normal(0.0, make(-1.0), validate_args=True), (1,)),
    "Laplace": (lambda tf, make: tf.distributions.Laplace(0.0, make(0.0), validate_args=True), (1,)),
}
STATISTICS = {
    "mode of Beta": lambda ds, cd, no: ds.Beta([0.5, 2.0], [1.0, 2.0], **no).mode(),
    "mode of Gamma": lambda ds, cd, no: ds.Gamma([0.5, 2.0], [1.0, 2.0], **no).mode(),
    "mode of Dirichlet": lambda ds, cd, no: ds.Dirichlet([0.5, 2.0], **no).mode(),
    "mean of StudentT": lambda ds, cd, no: ds.StudentT([1.0, 2.0], 0.0, 1.0, **no).mean(),
    "variance of StudentT": lambda ds, cd, no: ds.StudentT([0.5, 3.0], 0.0, 1.0, **no).variance(),
    "mean of InverseGamma": lambda ds, cd, no: cd.InverseGamma([0.5, 2.0], 1.0, **no).mean(),
    "variance of InverseGamma": lambda ds, cd, no: cd.InverseGamma([1.5, 3.0], 1.0, **no).variance(),
    "mean of Cauchy": lambda ds, cd, no: cd.Cauchy(0.0, 1.0, **no).mean(),
    "mean of Normal": lambda ds, cd, no: ds.Normal(0.0, 1.0, **no).mean(),
}


def shared(first, second):
    """The sizes of two queues of one name."""

    def build(tf):
        return [getattr(tf, kind)(*args, shared_name="q").size() for kind, *args in (first, second)]

    return build


def recurrent(lengths, kind):
    def build(tf):
        with_steps = tf.ones([2, 3, 2])
        inputs = with_steps if kind == "known" else tf.placeholder_with_default(with_steps, [None, None, 2])
        cell = tf.nn.rnn_cell.BasicRNNCell(2)
        made = tf.constant(lengths) if kind == "known" else fed(tf, lengths, "int32")
        outputs, _ = tf.nn.dynamic_rnn(cell, inputs, made, dtype=tf.float32)
        checked(tf, outputs)

    return build


def checked(tf, outputs):
    """Runs outputs after variables have values."""
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(outputs)


QUEUE = ("FIFOQueue", 3, "int32", [()])

def sparse(tf, shape, at=(0, 0)):
    return tf.SparseTensor([list(at)[: len(shape)]], [1], tf.cast(shape, tf.int64))


def sparse_of(tf, kind, *shapes):
    """Sparse tensors of shapes that are known, or fed."""
    known = kind == "known"
    return [sparse(tf, np.array(s) if known else tf.reshape(fed(tf, s, "int64"), [len(s)])) for s in shapes]


SPARSE = [
    [error("%s of sparse tensors of %s, %s" % (name, shapes, kind),
           lambda tf, name=name, shapes=shapes, kind=kind: getattr(tf.sparse, name)(*sparse_of(
               tf, kind, *shapes)).values)
     for name in ("maximum", "minimum", "add") for shapes in (([1], [2]), ([3, 2], [3, 4]))
     for kind in ("known", "fed")],
    [error("sparse tensors joined of two widths, %s" % kind,
           lambda tf, kind=kind: tf.sparse.concat(0, sparse_of(tf, kind, [3, 2], [3, 4])).values)
     for kind in ("known", "fed")],
    [error("a sparse tensor put into %s, %s" % (shape, kind),
           lambda tf, shape=shape, kind=kind: tf.sparse.reset_shape(
               sparse_of(tf, kind, [2, 5])[0], np.array(shape, np.int64)).dense_shape)
     for shape in ([2, 4], [2], [2, 5, 1]) for kind in ("known", "fed")],
]


def split_by(tf, value):
    return old(tf).string_split(["a|b"], tf.placeholder_with_default(value, None)).values


def queue_of(tf, *components):
    return tf.FIFOQueue(10, ["int32"] * 3, [(), (), ()]).enqueue_many(components)


BUILT = {
    "a queue of columns of two lengths": lambda tf: queue_of(tf, [1, 2, 3], [1, 2], [1, 2, 3]),
    "a queue of columns, one of unknown length": lambda tf: queue_of(
        tf, [1, 2, 3], [1, 2], tf.placeholder(tf.int32)),
    "slices of columns of two lengths": lambda tf: tf.data.Dataset.from_tensors(
        (np.arange(7), np.arange(8))).apply(tf.data.experimental.unbatch()),
    "a padded shape of another rank": lambda tf: tf.data.Dataset.range(9).padded_batch(
        5, tf.placeholder(tf.int64, [2])),
    "an initial value that is a tensor": lambda tf: tf.constant_initializer(tf.constant([1.0])),
    "an initial value that is a variable": lambda tf: tf.constant_initializer(tf.Variable([1.0])),
    "a template without a name": lambda tf: tf.make_template(None, lambda: 1),
    "a state of another width": lambda tf: tf.nn.rnn_cell.BasicLSTMCell(2, state_is_tuple=False)(
        tf.zeros([3, 4]), tf.zeros([3, 6])),
    "a name scope that is neither": lambda tf: tf.variable_scope("s", auxiliary_name_scope="x").__enter__(),
    "a separator that is a vector": lambda tf: split_by(tf, ["|"]),
    "several separators": lambda tf: split_by(tf, ["|", ","]),
}
TEXT_NUMBERS = [
    error("%s of strings" % name, lambda tf, name=name: getattr(tf, name + "_initializer")(dtype=tf.string))
    for name in (
        "random_normal", "truncated_normal", "orthogonal", "uniform_unit_scaling", "variance_scaling",
    )
]

CASES = [
    SPARSE,
    [error(title, build) for title, build in BUILT.items()],
    TEXT_NUMBERS,
    [error("%s at %s, %s" % (name, value, kind), density(make, value, kind))
     for name, (make, values) in DENSITIES.items() for value in values for kind in ("known", "fed")],
    [error("%s, allow_nan_stats=%s" % (name, allowed),
           lambda tf, make=make, allowed=allowed: make(
               tf.distributions, tf.contrib.distributions, {"allow_nan_stats": allowed}))
     for name, make in STATISTICS.items() for allowed in (False, True)],
    [error("%s with threshold %s, %s" % (name, threshold, kind), suppression(name, threshold, kind))
     for name in ("non_max_suppression", "non_max_suppression_with_scores", "non_max_suppression_padded")
     for threshold in (0.0, 1.0, 1.2, -0.1, NAN)
     for kind in ("known", "fed")],
    [error("%slosses %s with weights %s, %s" % (name, losses, weights, kind),
           weighted(losses, weights, kind, function))
     for name, function in (("", None), ("squared ", squares))
     for losses, weights in (([2, 2], [2, 1]), ([2, 2], []), ([2, 2], [2]), ([2, 1], [2, 3]),
                             ([1, 3], [2, 3]), ([2, 3], [1, 1]), ([3], [3, 1]), ([3], [1, 3]), ([], [1]))
     for kind in ("known", "fed")],
    [error("tridiagonal_solve of %s, %s" % (list(shape), form),
           lambda tf, shape=shape, form=form: tf.linalg.tridiagonal_solve(
               tf.ones(shape), tf.ones(shape[-1:]), diagonals_format=form))
     for shape, form in (((3, 4), "compact"), ((4, 4), "compact"), ((2, 4), "compact"), ((4,), "compact"),
                         ((3, 4), "matrix"), ((4, 4), "other"))],
    [error("shared queue with another %s" % what, shared(one, other)) for what, one, other in (
        ("name of its operation", QUEUE, QUEUE),
        ("capacity", QUEUE, ("FIFOQueue", 4, "int32", [()])),
        ("dtype", QUEUE, ("FIFOQueue", 3, "float32", [()])),
        ("shape", QUEUE, ("FIFOQueue", 3, "int32", [(2,)])),
        ("number of known shapes", QUEUE, ("FIFOQueue", 3, "int32")),
        ("kind", QUEUE, ("PaddingFIFOQueue", 3, "int32", [()])),
        ("least size", ("RandomShuffleQueue", 3, 0, "int32"), ("RandomShuffleQueue", 3, 1, "int32")),
        ("dtype of elements", ("PriorityQueue", 3, "int32", [()]), ("PriorityQueue", 3, "int64", [()])),
    )],
    [error("dynamic_rnn of lengths %s, %s" % (lengths, kind), recurrent(lengths, kind))
     for lengths in ([1, 3], [1], [1, 2, 3]) for kind in ("known", "fed")],
    [error("histogram over %s, %s" % (limits, kind),
           lambda tf, limits=limits, kind=kind: tf.histogram_fixed_width(
               [1.0], tf.reshape(of_kinds(tf)[kind](np.float32(limits)), [2]), nbins=4))
     for limits in ([0, 2], [2, 1], [1, 1]) for kind in ("known", "fed")],
]  # fmt: skip
