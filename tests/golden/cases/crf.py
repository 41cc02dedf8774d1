"""Linear chains of tags: likelihoods, their gradients, the best tags."""

from tests.golden.draws import contrib, generator, given, ints, real
from tests.golden.runner import FLOAT32, answer, runs, value

LENGTHS = given([5, 2, 1], "int32")
TAGS = ints(3, 5, low=0, high=3)


def crf(name, *order):
    """A function of contrib.crf, with its arguments in this order."""
    return lambda tf, *args: getattr(contrib(tf).crf, name)(*(args[n] for n in order))


def likelihood(tf):
    inputs = tf.constant(generator("likelihood").uniform(-2.0, 2.0, [2, 3, 4]).astype("float32"))
    with tf.variable_scope("crf", initializer=tf.constant_initializer(0.3)):
        found, transitions = contrib(tf).crf.crf_log_likelihood(
            inputs, tf.constant([[0, 1, 3], [2, 0, 0]]), tf.constant([3, 1])
        )
    return [found, transitions, *tf.gradients(found, [inputs, transitions])]


def decoded(time, lengths):
    def build(tf):
        rng = generator("decode %d" % time)
        scores = tf.constant(rng.uniform(-2.0, 2.0, [3, time, 4]).astype("float32"))
        transitions = tf.constant(rng.uniform(-2.0, 2.0, [4, 4]).astype("float32"))
        return list(contrib(tf).crf.crf_decode(scores, transitions, tf.constant(lengths)))

    return build


def viterbi(tf):
    rng = generator("viterbi")
    tags, score = contrib(tf).crf.viterbi_decode(rng.uniform(-2, 2, [6, 3]), rng.uniform(-2, 2, [3, 3]))
    return [[int(tag) for tag in tags], round(float(score), 6)]


def multitag(tf, inputs, transitions, lengths):
    allowed = inputs > -0.5
    return tf.contrib.crf.crf_multitag_sequence_score(inputs, allowed, lengths, transitions)


CASES = [
    value("crf_unary_score", crf("crf_unary_score", 1, 2, 0), real(3, 5, 4), TAGS, LENGTHS, dtypes=FLOAT32),
    value("crf_binary_score", crf("crf_binary_score", 1, 2, 0), real(4, 4), TAGS, LENGTHS, dtypes=FLOAT32),
    value("crf_sequence_score", crf("crf_sequence_score", 0, 2, 3, 1), real(3, 5, 4), real(4, 4), TAGS,
          LENGTHS, dtypes=FLOAT32),
    value("crf_multitag_sequence_score", multitag, real(3, 5, 4), real(4, 4), LENGTHS, dtypes=FLOAT32,
          tolerance=3),
    value("crf_multitag_sequence_score of one", multitag, real(3, 1, 4), real(4, 4), LENGTHS, dtypes=FLOAT32),
    value("crf_log_norm", crf("crf_log_norm", 0, 2, 1), real(3, 5, 4), real(4, 4), LENGTHS, dtypes=FLOAT32,
          tolerance=3),
    value("crf_log_norm of one step", crf("crf_log_norm", 0, 2, 1), real(3, 1, 4), real(4, 4),
          given([1, 1, 0], "int32"), dtypes=FLOAT32, grad=False),
    runs("crf_log_likelihood", likelihood, times=1, tolerance=3),
    [runs("crf_decode %d %s" % (time, lengths), decoded(time, lengths), times=1)
     for time, lengths in ((5, [5, 2, 1]), (4, [4, 4, 4]), (3, [1, 3, 2]), (1, [1, 1, 1]))],
    answer("viterbi_decode", viterbi),
]
