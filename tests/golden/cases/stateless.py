"""Random tensors that follow from a seed alone: TensorFlow's numbers."""

from tests.golden.draws import given
from tests.golden.runner import error, runs, value

SEEDS = ([1, 2], [0, 0], [-5, 123456789012])


def drawn(function, seed, *args, **options):
    return lambda tf: getattr(tf.random, function)([3, 5], seed, *args, **options)


CASES = [
    [[runs("%s by %s" % (name, seed), drawn(name, seed)),
      runs("%s by %s, float64" % (name, seed), lambda tf, n=name, s=seed: getattr(tf.random, n)(
          [7], s, dtype=tf.float64))]
     for name in ("stateless_uniform", "stateless_normal", "stateless_truncated_normal") for seed in SEEDS],
    runs("in bounds", drawn("stateless_uniform", [3, 4], -2.0, 5.0)),
    runs("moved and scaled", drawn("stateless_normal", [3, 4], 2.0, 0.5)),
    [runs("integers, %s" % dtype, lambda tf, d=dtype: tf.random.stateless_uniform(
        [9], [3, 4], -4, 100, getattr(tf, d)), exact=True) for dtype in ("int32", "int64")],
    value("by a fed seed", lambda tf, seed: tf.random.stateless_uniform([4], seed), given([7, 8], "int32")),
    [runs("%s by %s" % (name, seed), lambda tf, n=name, s=seed: getattr(tf.random, n)(
        [[0.1, 2.0, -1.0], [0.0, 0.0, 1.0]], 6, s), exact=True)
     for name in ("stateless_multinomial", "stateless_categorical") for seed in SEEDS],
    [error(name, lambda tf, call=call: call(tf)) for name, call in (
        ("three seeds", lambda tf: tf.random.stateless_uniform([2], [1, 2, 3])),
        ("integers without a bound", lambda tf: tf.random.stateless_uniform([2], [1, 2], dtype=tf.int32)),
    )],
]
