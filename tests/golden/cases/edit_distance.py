"""`tf.edit_distance`: normalized and not, of numbers and of strings, of sequences without elements."""

from tests.golden.runner import error, shape, value


def sparse(tf, rows, dtype="int64", sizes=None):
    """A sparse matrix with the elements of each row in its first columns."""
    places = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    values = tf.constant([x for row in rows for x in row], getattr(tf, dtype))
    indices = tf.reshape(tf.constant(places, tf.int64), [-1, 2])
    return tf.SparseTensor(indices, values, sizes or [len(rows), max(map(len, rows))])


def distance(guess, truth, dtype="int64", **options):
    return lambda tf: tf.edit_distance(sparse(tf, guess, dtype), sparse(tf, truth, dtype), **options)


GUESS = [[1, 2, 3, 4], [5], [], [1, 1], []]
TRUTH = [[1, 3, 4], [5], [2, 2], [], []]
WORDS = [*map(list, ("kitten", "flaw", "same"))], [*map(list, ("sitting", "lawn", "same"))]


def cube(tf):
    guess = tf.SparseTensor([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]], [7, 8, 9, 9], [2, 2, 3])
    truth = tf.SparseTensor([[0, 0, 0], [0, 0, 1], [1, 1, 0], [2, 0, 0]], [7, 1, 8, 9], [3, 2, 2])
    return tf.edit_distance(guess, truth)


def ranks(tf):
    guess = tf.SparseTensor([[0, 0]], [1], tf.placeholder_with_default(tf.constant([2, 2], tf.int64), [2]))
    return tf.edit_distance(guess, tf.SparseTensor([[0, 0, 0]], [1], [2, 2, 2]))


CASES = [
    value("normalized", distance(GUESS, TRUTH)),
    value("not normalized", distance(GUESS, TRUTH, normalize=False)),
    value("words", distance(*WORDS, dtype="string", normalize=False)),
    value("words normalized", distance(*WORDS, dtype="string")),
    value("float elements", distance([[1.5, 2.5]], [[2.5, 1.5]], "float32")),
    value("three axes", cube),
    shape("of known sizes", distance(GUESS, TRUTH)),
    shape("of three axes", cube),
    shape("of fed tensors", lambda tf: tf.edit_distance(*[tf.sparse_placeholder(tf.int32)] * 2)),
    error("other numbers of axes", ranks),
    error("a dense tensor", lambda tf: tf.edit_distance([[1]], sparse(tf, [[1]]))),
]
