"""The class of error that a mistake raises, when the graph is built or when it runs."""

from tests.golden.runner import error


def x(tf, *dims, dtype="float32"):
    return tf.placeholder(getattr(tf, dtype), list(dims))


def twice_in_a_scope(tf):
    tf.get_variable("w", [1])
    tf.get_variable("w", [1])


def other_shape(tf):
    with tf.variable_scope("s"):
        tf.get_variable("w", [1])
    with tf.variable_scope("s", reuse=True):
        tf.get_variable("w", [2])


def never_made(tf):
    with tf.variable_scope("s", reuse=True):
        tf.get_variable("w", [1])


def other_graph(tf):
    a = tf.constant(1.0)
    with tf.Graph().as_default():
        b = tf.constant(2.0)
        return a + b


def fetched_from_another_graph(tf):
    with tf.Graph().as_default():
        return tf.constant(2.0)


def fed(value, dims=(2,), dtype="float32"):
    def build(tf):
        tensor = x(tf, *dims, dtype=dtype)
        with tf.Session() as sess:
            sess.run(tensor + tensor, {tensor: value})

    return build


def finalized(tf):
    graph = tf.Graph()
    with graph.as_default():
        graph.finalize()
        tf.constant(1.0)


def closed(tf):
    one = tf.constant(1.0)
    sess = tf.Session()
    sess.close()
    sess.run(one)


def run(build):
    def in_session(tf):
        fetch = build(tf)
        with tf.Session() as sess:
            sess.run(fetch)

    return in_session


def no_gradient(tf):
    w = tf.Variable(1.0)
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(2.0), var_list=[w])


def assigned(tf):
    tensor = x(tf, 2)
    tensor[0] = 1.0


def iterated(tf):
    return list(x(tf, None))


def gradients_of_complex(tf, weights=None):
    """Gradients of two complex tensors."""
    z = tf.constant(1.0 + 2j)
    return tf.gradients([z * z, z + 1], [z], weights)


def sync_replicas(use, applied=True, workers=1):
    """`use` of a SyncReplicasOptimizer of one gradient, whose step was made or was not."""

    def build(tf):
        w = tf.Variable(1.0)
        opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1, workers)
        if applied:
            opt.apply_gradients([(tf.constant(1.0), w)], tf.train.create_global_step())
        use(opt, w)

    return build


CASES = [
    error("matmul of vectors", lambda tf: tf.matmul(x(tf, 3), x(tf, 3))),
    error("matmul of unequal inner dimensions", lambda tf: tf.matmul(x(tf, 2, 3), x(tf, 4, 2))),
    error("matmul of float and int", lambda tf: tf.matmul(x(tf, 2, 2), x(tf, 2, 2, dtype="int32"))),
    error("add of shapes that do not broadcast", lambda tf: x(tf, 2, 3) + x(tf, 4)),
    error("add of float32 and float64", lambda tf: x(tf, 2) + x(tf, 2, dtype="float64")),
    error("add of float32 and int32", lambda tf: tf.add(x(tf, 2), x(tf, 2, dtype="int32"))),
    error("add of a float to an int tensor", lambda tf: x(tf, 2, dtype="int32") + 1.5),
    error("add of a string", lambda tf: x(tf, 2) + "one"),
    error("add of none", lambda tf: x(tf, 2) + None),
    error("reshape to another size", lambda tf: tf.reshape(x(tf, 2, 3), [4])),
    error("reshape with two open dimensions", lambda tf: tf.reshape(x(tf, 2, 3), [-1, -1])),
    error("reshape that does not divide", lambda tf: tf.reshape(x(tf, 2, 3), [4, -1])),
    error("transpose by too few axes", lambda tf: tf.transpose(x(tf, 2, 3), [0])),
    error("transpose by an axis twice", lambda tf: tf.transpose(x(tf, 2, 3), [0, 0])),
    error("concat of unequal rows", lambda tf: tf.concat([x(tf, 2, 3), x(tf, 2, 4)], 0)),
    error("concat along an axis too far", lambda tf: tf.concat([x(tf, 2), x(tf, 2)], 1)),
    error("concat of unequal types", lambda tf: tf.concat([x(tf, 2), x(tf, 2, dtype="int32")], 0)),
    error("stack of unequal shapes", lambda tf: tf.stack([x(tf, 2), x(tf, 3)])),
    error("split that does not divide", lambda tf: tf.split(x(tf, 5), 2)),
    error("squeeze of a longer axis", lambda tf: tf.squeeze(x(tf, 2, 3), [0])),
    error("expand_dims too far", lambda tf: tf.expand_dims(x(tf, 2), 3)),
    error("index out of range", lambda tf: x(tf, 2)[5]),
    error("too many indices", lambda tf: x(tf, 2)[0, 0]),
    error("index by a float", lambda tf: x(tf, 2)[0.5]),
    error("assignment to an element", assigned),
    error("a tensor as a condition", lambda tf: bool(x(tf))),
    error("if on a comparison", lambda tf: 1 if x(tf) > 0 else 2),
    error("iteration over an open dimension", iterated),
    error("length of a tensor", lambda tf: len(x(tf, 2))),
    error("reduce_sum over an axis too far", lambda tf: tf.reduce_sum(x(tf, 2, 3), 2)),
    error("argmax over an axis too far", lambda tf: tf.argmax(x(tf, 2, 3), 2)),
    error("pad of the wrong rank", lambda tf: tf.pad(x(tf, 2, 3), [[1, 1]])),
    error("tile of the wrong rank", lambda tf: tf.tile(x(tf, 2, 3), [2])),
    error("conv2d of unequal channels",
          lambda tf: tf.nn.conv2d(x(tf, 1, 4, 4, 3), x(tf, 2, 2, 2, 1), 1, "SAME")),
    error("conv2d of the wrong rank", lambda tf: tf.nn.conv2d(x(tf, 4, 4, 3), x(tf, 2, 2, 3, 1), 1, "SAME")),
    error("conv2d with a padding misspelt",
          lambda tf: tf.nn.conv2d(x(tf, 1, 4, 4, 3), x(tf, 2, 2, 3, 1), 1, "SOME")),
    error("conv2d with a filter too large",
          lambda tf: tf.nn.conv2d(x(tf, 1, 2, 2, 1), x(tf, 3, 3, 1, 1), 1, "VALID")),
    error("bias_add of another length", lambda tf: tf.nn.bias_add(x(tf, 2, 3), x(tf, 4))),
    error("cross entropy by position",
          lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits(x(tf, 2), x(tf, 2, 3))),
    error("sparse cross entropy of equal ranks",
          lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits(
              labels=x(tf, 2, 3, dtype="int32"), logits=x(tf, 2, 3))),
    error("loss of unequal shapes", lambda tf: tf.losses.mean_squared_error(x(tf, 2, 3), x(tf, 2, 4))),
    error("dropout rate too large", lambda tf: tf.nn.dropout(x(tf, 2), rate=1.5)),
    error("dense of an open last axis", lambda tf: tf.layers.dense(x(tf, None, None), 2)),
    error("gather by floats", lambda tf: tf.gather(x(tf, 3), [0.5])),
    error("one_hot of floats", lambda tf: tf.one_hot([0.5], 3)),
    error("sqrt of integers", lambda tf: tf.sqrt(tf.constant([1, 4]))),
    error("logical_and of numbers", lambda tf: tf.logical_and(x(tf, 2), x(tf, 2))),
    error("where of unequal shapes", lambda tf: tf.where([True, False], x(tf, 2), x(tf, 3))),
    error("cast to an unknown type", lambda tf: tf.cast(x(tf, 2), "floatish")),
    error("constant of ragged lists", lambda tf: tf.constant([[1, 2], [3]])),
    error("constant of none", lambda tf: tf.constant(None)),
    error("constant of the wrong type", lambda tf: tf.constant(1.5, tf.int32)),
    error("constant of too many values", lambda tf: tf.constant([1, 2, 3], shape=[2])),
    error("a name that is not allowed", lambda tf: tf.constant(1, name="a b")),
    error("a name scope that is not allowed", lambda tf: tf.name_scope("a b").__enter__()),
    error("variable without a value", lambda tf: tf.Variable()),
    error("get_variable without a shape", lambda tf: tf.get_variable("w")),
    error("get_variable twice", twice_in_a_scope),
    error("get_variable reused with another shape", other_shape),
    error("get_variable reused but never made", never_made),
    error("assign of another shape", lambda tf: tf.assign(tf.Variable([1.0, 2.0]), [1.0])),
    error("assign of another type", lambda tf: tf.assign(tf.Variable([1.0]), tf.constant([1]))),
    error("assign to a tensor", lambda tf: tf.assign(x(tf, 2), [1.0, 2.0])),
    error("minimize without variables",
          lambda tf: tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(2.0))),
    error("minimize without a gradient", no_gradient),
    error("apply_gradients of nothing",
          lambda tf: tf.train.GradientDescentOptimizer(0.1).apply_gradients([])),
    error("gradients of complex numbers", lambda tf: gradients_of_complex(tf)),
    error("gradients of complex numbers, one weighted", lambda tf: gradients_of_complex(tf, [None, 1j])),
    error("weighted gradients of complex numbers", lambda tf: gradients_of_complex(tf, [1.0 + 0j, 1j])),
    [error("sync replicas, " + name, sync_replicas(*args)) for name, args in (
        ("nothing to apply", (lambda opt, w: opt.apply_gradients([]), False)),
        ("no global step", (lambda opt, w: opt.apply_gradients([(w.initialized_value(), w)]), False)),
        ("queue runner too early", (lambda opt, w: opt.get_chief_queue_runner(), False)),
        ("queue runner", (lambda opt, w: opt.get_chief_queue_runner(),)),
        ("tokens too early", (lambda opt, w: opt.get_init_tokens_op(), False)),
        ("tokens", (lambda opt, w: opt.get_init_tokens_op(),)),
        ("too few tokens", (lambda opt, w: opt.get_init_tokens_op(0), True, 0)),
    )],
    error("tensor of another graph", other_graph),
    error("finalized graph", finalized),
    error("tensor not in the graph", lambda tf: tf.get_default_graph().get_tensor_by_name("none:0")),
    error("tensor name without an index", lambda tf: tf.get_default_graph().get_tensor_by_name("none")),
    error("operation not in the graph", lambda tf: tf.get_default_graph().get_operation_by_name("none")),
    error("output not of the operation",
          lambda tf: [tf.constant(1, name="c"), tf.get_default_graph().get_tensor_by_name("c:3")]),
    error("while_loop that changes a shape",
          lambda tf: tf.while_loop(lambda y: True, lambda y: tf.concat([y, y], 0), [tf.zeros([1])])),
    error("while_loop that changes a type",
          lambda tf: tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [tf.constant(0)])),
    error("cond with unlike branches",
          lambda tf: tf.cond(x(tf) > 0, lambda: tf.constant(1), lambda: tf.constant(1.0))),
    error("cond without functions", lambda tf: tf.cond(x(tf) > 0, tf.constant(1), tf.constant(2))),
    error("set_shape that contradicts", lambda tf: x(tf, 2, 3).set_shape([3, 3])),
    error("as_list of unknown rank", lambda tf: tf.placeholder(tf.float32).shape.as_list()),
    error("einsum that does not fit", lambda tf: tf.einsum("ij,jk->ik", x(tf, 2, 3), x(tf, 4, 2))),
    error("embedding_lookup of nothing", lambda tf: tf.nn.embedding_lookup([], [1])),
    error("eval without a session", lambda tf: tf.constant(1.0).eval()),

    error("uninitialized variable", run(lambda tf: tf.Variable(1.0))),
    error("placeholder not fed", run(lambda tf: x(tf, 2) + 1)),
    error("fetch of none", run(lambda tf: [tf.constant(1), None][1])),
    error("fetch of a number", run(lambda tf: [tf.constant(1), 3.0][1])),
    error("fetch by an unknown name", run(lambda tf: [tf.constant(1), "none:0"][1])),
    error("fetch from another graph", run(lambda tf: [tf.constant(1), fetched_from_another_graph(tf)][1])),
    error("session of an empty graph", run(lambda tf: [])),
    error("closed session", closed),
    error("fed with another shape", fed([1.0, 2.0, 3.0])),
    error("fed with a word", fed(["one", "two"])),
    error("fed with ragged lists", fed([[1.0], [2.0, 3.0]], (2, None))),
    error("fed with none", fed(None)),
    error("gather out of range",
          run(lambda tf: tf.gather([1.0, 2.0], tf.placeholder_with_default([5], [1])))),
    error("integer division by zero", run(lambda tf: tf.constant(1) // tf.placeholder_with_default(0, []))),
    error("reshape at run",
          run(lambda tf: tf.reshape([1.0, 2.0, 3.0], tf.placeholder_with_default([2, 2], [2])))),
    error("add at run",
          run(lambda tf: tf.placeholder_with_default([1.0, 2.0], [None]) + tf.placeholder_with_default(
                  [1.0, 2.0, 3.0], [None]))),
    error("matmul at run",
          run(lambda tf: tf.matmul(tf.placeholder_with_default([[1.0, 2.0]], [None, None]),
                                   tf.placeholder_with_default([[1.0]], [None, None])))),
    error("check_numerics",
          run(lambda tf: tf.check_numerics(tf.log(tf.placeholder_with_default(0.0, [])), "log"))),
    error("Assert", run(lambda tf: tf.Assert(tf.placeholder_with_default(False, []), ["no"]))),
    error("assert_equal", run(lambda tf: tf.assert_equal(tf.placeholder_with_default(1, []), 2))),
    error("assert_positive at build", lambda tf: tf.assert_positive(tf.constant(-1.0))),
    error("assert_rank", lambda tf: tf.assert_rank(x(tf, 2), 3)),
    error("cholesky of an indefinite matrix",
          run(lambda tf: tf.cholesky(tf.placeholder_with_default([[-1.0]], [1, 1])))),
    error("inverse of a singular matrix",
          run(lambda tf: tf.matrix_inverse(tf.placeholder_with_default([[0.0]], [1, 1])))),
    error("sparse cross entropy label out of range",
          run(lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits(
                  labels=tf.placeholder_with_default([5], [1]), logits=[[1.0, 2.0]]))),
    error("segment ids not sorted",
          run(lambda tf: tf.segment_sum([1.0, 2.0], tf.placeholder_with_default([1, 0], [2])))),
    error("one that is no mistake", run(lambda tf: tf.constant(1.0) + 2)),
]
