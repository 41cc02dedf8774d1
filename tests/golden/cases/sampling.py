"""Candidate samplers, and the losses over what they draw."""

from tests.golden.draws import given, ints, positive, real
from tests.golden.runner import answer, error, runs, value

CLASSES = 7
TABLE, BIASES, INPUTS = real(CLASSES, 4), real(CLASSES), real(3, 4)
ONE = ints(3, 1, low=0, high=CLASSES - 1, dtype="int64")
TWO = ints(3, 2, low=0, high=CLASSES - 1, dtype="int64")
DRAWN = given([3, 0, 5, 6, 2], "int64")
EXPECTED = positive(5)

WEIGHTS = {"unigrams": [5.0, 1.0, 2.0, 1.0, 2.0, 3.0, 0.5, 9.0, 2.0, 1.0, 4.0], "distortion": 0.75}
SAMPLERS = {
    "log_uniform": ("log_uniform", 50, {}),
    "uniform": ("uniform", 50, {}),
    "uniform of a power of two": ("uniform", 64, {}),
    "fixed_unigram": ("fixed_unigram", 11, WEIGHTS),
    "fixed_unigram with reserved classes": ("fixed_unigram", 13, dict(num_reserved_ids=2, **WEIGHTS)),
}
REPLACED = list(SAMPLERS)[:3]


def by_seeds(name, number, unique, graph, op):
    kind, below, options = SAMPLERS[name]

    def build(tf):
        tf.set_random_seed(graph)
        sampler = getattr(tf.nn, kind + "_candidate_sampler")
        return sampler([[0, 3]], 2, number, unique, below, seed=op, **options)

    return build


def shard(tf):
    sampler = tf.nn.fixed_unigram_candidate_sampler
    options = {"unigrams": [5.0, 1.0, 2.0, 1.0, 2.0, 3.0], "num_reserved_ids": 2, "num_shards": 2, "shard": 1}
    return sampler([[0, 1]], 2, 2, True, 4, seed=3, **options)


def sampled(loss, num_true=1, tables=1, **options):
    """The loss of given candidates, so that nothing is random."""

    def build(tf, table, biases, inputs, labels, drawn, true_expected, expected):
        weights = table if tables == 1 else tf.split(table, [4, 3])
        return getattr(tf.nn, loss)(
            weights, biases, labels, inputs, 5, CLASSES, num_true,
            sampled_values=(drawn, true_expected, expected), **options,
        )

    return build


def shapes(tf):
    """Static shapes of what the default sampler draws, and of the losses."""
    table, biases, inputs = tf.zeros([50, 4]), tf.zeros([50]), tf.zeros([3, 4])
    labels = tf.constant([[1], [2], [3]], tf.int64)
    drawn = tf.nn.log_uniform_candidate_sampler(labels, 1, 6, True, 50)
    losses = [
        tf.nn.nce_loss(table, biases, labels, inputs, 6, 50),
        tf.nn.sampled_softmax_loss(table, biases, labels, inputs, 6, 50),
    ]
    return [tensor.shape.as_list() for tensor in [*drawn, *losses]]


def hits(tf, true, drawn):
    return list(tf.nn.compute_accidental_hits(true, drawn, 2))


CASES = [
    [runs("%s, %d of graph seed %d, op seed %s" % (name, n, graph, op), by_seeds(name, n, False, graph, op))
     for name in REPLACED for n in (4, 9) for graph, op in ((5, 1), (3, 7))],
    [runs("%s, %d different ones" % (name, n), by_seeds(name, n, True, 5, 1))
     for name in SAMPLERS for n in (4, 11)],
    runs("fixed_unigram of a shard", shard),
    runs("every candidate", lambda tf: list(tf.nn.all_candidate_sampler([[0, 3]], 2, 4, True))),
    runs("all of a uniform range", lambda tf: tf.nn.uniform_candidate_sampler([[0]], 1, 4, False, 1, seed=1)),
    [[value("%s, %s" % (loss, label), sampled(loss, num_true, **options), TABLE, BIASES, INPUTS, labels,
            DRAWN, positive(3, num_true), EXPECTED)
      for label, num_true, labels, options in (
          ("one true class", 1, ONE, {}),
          ("two true classes", 2, TWO, {}),
          ("accidental hits removed", 1, ONE, {"remove_accidental_hits": True}),
          ("accidental hits kept", 1, ONE, {"remove_accidental_hits": False}),
          ("two tables", 1, ONE, {"tables": 2}),
          ("two tables one after the other", 2, TWO, {"tables": 2, "partition_strategy": "div"}))]
     for loss in ("nce_loss", "sampled_softmax_loss")],
    value("compute_accidental_hits", hits, TWO, DRAWN),
    answer("shapes of losses", shapes),
    error("true classes that are no matrix",
          lambda tf: tf.nn.uniform_candidate_sampler([1, 2], 1, 3, True, 9)[0]),
    error("more than there are", lambda tf: tf.nn.uniform_candidate_sampler([[1]], 1, 10, True, 9)[0]),
]
