"""When variables are read, and derivatives around assignments: programs on TensorFlow's resource variables.

All orders are told by control dependencies, so that TensorFlow defines them. A program reads a variable in
every way, then changes it, then uses what was read before: straight on, in a branch, in a loop, and with
Python between.
"""

import numpy as np

from tests.golden.runner import runs

START = [3.0, -1.0, 2.0]
RATE = 0.25


def variable(tf, name="v", start=START):
    return tf.get_variable(name, initializer=tf.constant(start), use_resource=True)


def after(tf, *earlier):
    return tf.control_dependencies(list(earlier))


def in_python(tf, x):
    made = tf.py_func(lambda a: np.float32(0.5) * a, [x], tf.float32)
    made.set_shape(x.shape)
    return made


# Each gives a tensor with the value that the variable has where it is made. TensorFlow's `cast` to the same
# dtype gives the variable itself, which is read later: tests/api/test_reads.py has it.
READS = {
    "read_value": lambda tf, v: v.read_value(),
    "value": lambda tf, v: v.value(),
    "convert_to_tensor": lambda tf, v: tf.convert_to_tensor(v),
    "add_n": lambda tf, v: tf.add_n([v]),
    "dropout": lambda tf, v: tf.nn.dropout(v, keep_prob=1.0),
    "identity": lambda tf, v: tf.identity(v),
    "operand": lambda tf, v: v * 1.0,
    "reshape": lambda tf, v: tf.reshape(v, [3]),
    "slice": lambda tf, v: v[:],
    "gather": lambda tf, v: tf.gather(v, [0, 1, 2]),
}


def descent(tf, v, x):
    return tf.train.GradientDescentOptimizer(RATE).minimize(tf.reduce_sum(v * v * x), var_list=[v])


def momentum(tf, v, x):
    return tf.train.MomentumOptimizer(RATE, 0.5).minimize(tf.reduce_sum(v * v * x), var_list=[v])


def sparse(tf, v, x):
    loss = tf.reduce_sum(tf.gather(v, [0, 2, 0]) * x)
    return tf.train.AdamOptimizer(RATE).minimize(loss, var_list=[v])


WRITES = {
    "assign": lambda tf, v, x: v.assign(2.0 * x),
    "assign_add": lambda tf, v, x: v.assign_add(x),
    "assign_sub": lambda tf, v, x: tf.assign_sub(v, x * RATE),
    "scatter_update": lambda tf, v, x: tf.scatter_update(v, [0, 2], x[:2]),
    "scatter_add": lambda tf, v, x: tf.scatter_add(v, [1, 1], x[1:]),
    "scatter_nd_update": lambda tf, v, x: tf.scatter_nd_update(v, [[2], [1]], x[:2]),
}
STEPS = {"descent": descent, "momentum": momentum, "sparse": sparse}


def changed(tf, v, x, write):
    """All values read before a write; and the changes."""
    old = [read(tf, v) for read in READS.values()]
    with after(tf, *old):
        done = write(tf, v, x)
    with after(tf, done):
        new = v.read_value()
        return tf.stack(old), tf.stack([new - each for each in old])


def straight(tf, v, x, write):
    return changed(tf, v, x, write)


def in_branch(tf, v, x, write):
    nothing = tf.zeros([len(READS), 3])
    return tf.cond(x[0] > 0.0, lambda: changed(tf, v, x, write), lambda: (nothing, nothing))


def in_loop(tf, v, x, write):
    """Each round reads the variable anew."""

    def body(i, old, change):
        more = changed(tf, v, x + tf.cast(i, tf.float32), write)
        return i + 1, old * 0.5 + more[0], change * 0.5 + more[1]

    nothing = tf.zeros([len(READS), 3])
    return tf.while_loop(lambda i, *_: i < 3, body, [0, nothing, nothing], parallel_iterations=1)[1:]


def around_python(tf, v, x, write):
    old = [read(tf, v) for read in READS.values()]
    with after(tf, *old):
        made = in_python(tf, tf.add_n(old))
    with after(tf, write(tf, v, made)):
        new = v.read_value()
        again = in_python(tf, new)
    with after(tf, again):
        return tf.stack(old), tf.stack([new - each for each in old]), again - v


def python_in_loop(tf, v, x, write):
    """A loop whose rounds call Python and change the variable, between two reads and two writes."""
    first = [read(tf, v) for read in READS.values()]
    with after(tf, *first):
        begun = v.assign_add(x)

    def body(i, total):
        old = v.read_value()
        with after(tf, write(tf, v, in_python(tf, old))):
            return i + 1, total + v.read_value() - old

    with after(tf, begun):
        between = v.read_value()
    with after(tf, between):
        done = tf.while_loop(lambda i, _: i < 3, body, [0, tf.zeros([3])], parallel_iterations=1)[1]
    with after(tf, done):
        end = v.assign_sub(x)
    with after(tf, end):
        return [tf.stack(first), between, done, tf.stack([v.read_value() - each for each in first])]


PLACES = {
    "straight": straight,
    "in a branch": in_branch,
    "in a loop": in_loop,
    "around Python": around_python,
    "Python in a loop": python_in_loop,
}


def program(place, write):
    return lambda tf: list(place(tf, variable(tf), tf.constant([1.0, 2.0, 0.5]), write))


# Derivatives: those of the sum of squares of all that was read, before and after


def loss_of(tf, v, x, write):
    old, change = changed(tf, v, x, write)
    with after(tf, change):
        return tf.reduce_sum(tf.square(old)) + tf.reduce_sum(change * x * v) + tf.reduce_sum(x * x)


def loss_in_branch(tf, v, x, write):
    return tf.cond(x[0] > 0.0, lambda: loss_of(tf, v, x, write), lambda: tf.reduce_sum(v * x))


def loss_in_loop(tf, v, x, write):
    def body(i, total):
        return i + 1, 0.5 * total + loss_of(tf, v, x, write)

    return tf.while_loop(lambda i, _: i < 3, body, [0, tf.constant(0.0)], parallel_iterations=1)[1]


LOSSES = {"straight": loss_of, "in a branch": loss_in_branch, "in a loop": loss_in_loop}


def derivative(loss, write):
    def build(tf):
        v, x = variable(tf), tf.constant([1.0, 2.0, 0.5])
        made = loss(tf, v, x, write)
        return [made, *tf.gradients(made, [x, v])]

    return build


# Idioms


def swapped(tf):
    v, w = variable(tf), variable(tf, "w", [5.0, 6.0, 7.0])
    a, b = v.read_value(), w.read_value()
    with after(tf, a, b):
        done = [v.assign(b).op, w.assign(a).op]
    with after(tf, *done):
        return [v.read_value(), w.read_value()]


def taken_back(tf):
    v = variable(tf)
    old = v.value()
    with after(tf, old):
        step = descent(tf, v, tf.constant(1.0))
    with after(tf, step):
        tried = v.read_value()
    with after(tf, tried):
        back = v.assign(old)
    with after(tf, back):
        return [tried, v.read_value()]


def start_of_loop(tf):
    """Add a value that was read once before the loop in each round."""
    v = variable(tf)
    start = tf.convert_to_tensor(v)

    def body(i):
        with after(tf, v.assign_add(start)):
            return i + 1

    with after(tf, start):
        done = tf.while_loop(lambda i: i < 3, body, [0], parallel_iterations=1)
    with after(tf, done):
        return [v.read_value() - start]


def condition_of_loop(tf):
    v = variable(tf)

    def body(i):
        with after(tf, v.assign_add([1.0, 1.0, 1.0])):
            return i + 1

    return [tf.while_loop(lambda i: v[0] < 6.5, body, [0], parallel_iterations=1)]


def centre_loss(tf):
    """The derivative is that of the distance to the centre as it stands, without the step of the centre."""
    centre, x = variable(tf), tf.constant([1.0, 2.0, 0.5])
    with after(tf, tf.assign_sub(centre, RATE * (centre - x))):
        loss = tf.reduce_sum(tf.square(tf.identity(x) - centre.read_value()))
    return [loss, *tf.gradients(loss, [x, centre])]


def codebook(tf):
    """As in a VQ-VAE: the rows that are nearest move to what they stand for, and are used at once."""
    book = variable(tf, "book", [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    x = tf.constant([[0.9, 1.2], [2.5, 1.5]])
    nearest = tf.argmin(tf.reduce_sum(tf.square(x[:, None] - book[None]), 2), 1)
    with after(tf, tf.scatter_add(book, nearest, RATE * (x - tf.gather(book, nearest)))):
        found = tf.gather(book.read_value(), nearest)
    loss = tf.reduce_sum(tf.square(found - x) * [[1.0, 2.0]])
    by_book = tf.convert_to_tensor(tf.gradients(loss, book)[0])
    return [loss, tf.gradients(loss, x)[0], by_book]


def batch_norm(tf):
    """A moving average that normalises right after its update."""
    mean, x = variable(tf), tf.constant([[1.0, 2.0, 0.5], [3.0, -1.0, 1.0]])
    w = variable(tf, "w", [1.0, 2.0, -1.0])
    batch = tf.reduce_mean(x * w, 0)
    with after(tf, tf.assign_sub(mean, (mean - batch) * RATE)):
        y = x * w - mean.read_value()
    loss = tf.reduce_sum(y * y)
    return [loss, *tf.gradients(loss, [w, mean])]


def step_length(tf):
    """Return how far a step moved the weights, with a derivative by the weights afterwards."""
    v = variable(tf)
    old = v.read_value()
    with after(tf, old):
        step = momentum(tf, v, tf.constant([1.0, 2.0, 0.5]))
    with after(tf, step):
        moved = v.read_value() - old
    loss = tf.reduce_sum(moved * v * 2.0)
    return [moved, tf.gradients(loss, v)[0]]


def result_of_assignment(tf):
    """The result of an assignment is the variable, for differentiation."""
    v, x = variable(tf), tf.constant([1.0, 2.0, 0.5])
    new = v.assign(3.0 * x)
    y = tf.reduce_sum(tf.square(x + new))
    return [y, *tf.gradients(y, [x, v])]


IDIOMS = [
    swapped, taken_back, start_of_loop, condition_of_loop, centre_loss, codebook, batch_norm, step_length,
    result_of_assignment,
]

SLOW = ("Python in a loop",)  # rounds that are runs of their own: fewer of these

CASES = [
    *[
        runs("%s, %s" % (write, place), program(build, WRITES[write]))
        for place, build in PLACES.items()
        for write in (list(WRITES)[:2] if place in SLOW else WRITES)
    ],
    *[
        runs("%s, %s" % (step, place), program(PLACES[place], STEPS[step]))
        for place in ("straight", "around Python")
        for step in STEPS
    ],
    *[
        runs("derivatives: %s, %s" % (write, place), derivative(build, WRITES[write]))
        for place, build in LOSSES.items()
        for write in ("assign", "assign_add", "scatter_update")
    ],
    *[runs(idiom.__name__.replace("_", " "), idiom) for idiom in IDIOMS],
]
