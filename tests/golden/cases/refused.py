"""Input that TensorFlow refuses: what is computed of it would be numbers that nobody meant."""

import numpy as np

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


CASES = [
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
]  # fmt: skip
