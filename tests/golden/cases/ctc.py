"""Connectionist temporal classification: losses, their gradients, and decoders."""

from tests.golden.draws import generator, given, real
from tests.golden.runner import FLOAT32, error, runs, value


def sparse(tf, rows):
    """Rows of labels as a SparseTensor."""
    indices = [[row, place] for row, labels in enumerate(rows) for place in range(len(labels))]
    values = [label for labels in rows for label in labels]
    shape = [len(rows), max(len(labels) for labels in rows)]
    return tf.SparseTensor(indices, tf.constant(values, tf.int32), shape)


LABELS = [[0, 1, 1], [2, 0], [3]]


def loss(rows=LABELS, steps=(6, 5, 3), **options):
    return lambda tf, x: tf.nn.ctc_loss(sparse(tf, rows), x, list(steps), **options)


def decoded(name, seed, steps=(7, 5, 0), **options):
    def build(tf):
        logits = generator(seed).uniform(-3.0, 3.0, [7, 3, 4]).astype("float32")
        paths, scores = getattr(tf.nn, name)(tf.constant(logits), list(steps), **options)
        return [part for path in paths for part in (path.indices, path.values, path.dense_shape)] + [scores]

    return build


DENSE = [[1, 2, 2], [3, 1, 0], [4, 0, 0]]


def dense(labels=DENSE, lengths=(3, 2, 1), steps=(6, 6, 6), **options):
    return lambda tf, x: tf.nn.ctc_loss_v2(tf.constant(labels), x, list(lengths), list(steps), **options)


def sparse_v2(blank):
    return lambda tf, x: tf.nn.ctc_loss_v2(sparse(tf, [[0, 3, 3], [2, 0], [3]]), x, None, [6, 5, 3],
                                           blank_index=blank)


def collapsed(tf):
    labels = [[1, 1, 2, 2, 1], [3, 3, 3, 0, 0], [5, 4, 4, 4, 7]]
    left, lengths = tf.nn.collapse_repeated(tf.constant(labels), tf.constant([5, 3, 0], tf.int64))
    return [left, lengths, *tf.nn.ctc_unique_labels(tf.constant(labels))]


def loss_v2(label, *draws, **options):
    return value("ctc_loss_v2" + label, *draws, dtypes=FLOAT32, tolerance=3, **options)


V2 = [
    loss_v2("", dense(), real(6, 3, 5)),
    # TensorFlow has a gradient of steps that are not used, on which the loss does not depend.
    loss_v2(" of fewer steps", dense(steps=(6, 5, 3)), real(6, 3, 5), grad=False),
    loss_v2(", batch major", dense(logits_time_major=False), real(3, 6, 5)),
    loss_v2(" with another blank", dense([[0, 1, 1], [3, 0, 9], [4, 9, 9]], blank_index=2), real(6, 3, 5)),
    loss_v2(" with the last blank", dense([[0, 1, 1], [3, 0, 9], [2, 9, 9]], blank_index=-1), real(6, 3, 5)),
    [loss_v2(" of sparse labels, blank %d" % blank, sparse_v2(blank), real(6, 3, 5)) for blank in (1, 4, -1)],
    runs("collapse_repeated, ctc_unique_labels", collapsed, times=1),
    error("ctc_loss_v2 of sparse labels without a blank",
          lambda tf: sparse_v2(None)(tf, tf.zeros([6, 3, 5]))),
]

CASES = [
    V2,
    value("ctc_loss", loss(), real(6, 3, 5), dtypes=FLOAT32, tolerance=3),
    value("ctc_loss of large logits", loss(), real(6, 3, 5, low=-30, high=30), dtypes=FLOAT32, tolerance=5),
    value("ctc_loss, batch major", loss(time_major=False), real(3, 6, 5), dtypes=FLOAT32, tolerance=3),
    value("ctc_loss, repeated labels apart", loss(ctc_merge_repeated=False), real(6, 3, 5), dtypes=FLOAT32,
          tolerance=3),
    value("ctc_loss, collapsed", loss([[0, 0, 1, 1, 0], [2, 2], [3]], preprocess_collapse_repeated=True),
          real(6, 3, 5), dtypes=FLOAT32, tolerance=3),
    value("ctc_loss, just enough steps", loss(steps=(4, 2, 1)), real(6, 3, 5), dtypes=FLOAT32, tolerance=3),
    value("ctc_loss of one label",
          lambda tf, x: tf.nn.ctc_loss(sparse(tf, [[1]]), x, [1]), given([[[0.5, 0.25, -1.0]]]),
          dtypes=FLOAT32),
    value("ctc_loss, longer outputs ignored",
          loss(steps=(2, 5, 3), ignore_longer_outputs_than_inputs=True), real(6, 3, 5), dtypes=FLOAT32,
          grad=False),
    [runs("ctc_greedy_decoder %d %s" % (seed, merge),
          decoded("ctc_greedy_decoder", "greedy %d" % seed, merge_repeated=merge), times=1)
     for seed in range(3) for merge in (True, False)],
    [runs("ctc_beam_search_decoder %d %s %s" % (seed, width, merge),
          decoded("ctc_beam_search_decoder", "beam %d" % seed, (7, 5, 3), beam_width=width, top_paths=3,
                  merge_repeated=merge), times=1)
     for seed in range(4) for width in (3, 6, 100) for merge in (True, False)],
    runs("ctc_beam_search_decoder_v2", decoded("ctc_beam_search_decoder_v2", "v2", beam_width=10), times=1),
    error("ctc_beam_search_decoder of nothing", lambda tf: decoded(
        "ctc_beam_search_decoder", "beam", beam_width=5, top_paths=2)(tf)[0]),
    error("ctc_loss of dense labels", lambda tf: tf.nn.ctc_loss([[1]], tf.zeros([2, 1, 3]), [2])),
    error("ctc_loss without logits", lambda tf: tf.nn.ctc_loss(sparse(tf, [[1]]), sequence_length=[2])),
    error("ctc_loss of too few steps",
          lambda tf: tf.nn.ctc_loss(sparse(tf, [[1, 1]]), tf.zeros([4, 1, 3]), [2])),
    error("ctc_loss of a matrix", lambda tf: tf.nn.ctc_loss(sparse(tf, [[1]]), tf.zeros([2, 3]), [2])),
]
