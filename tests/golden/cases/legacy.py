"""Runs in parts, `Defun`, sets, critical sections, types that are converted, specs."""

import importlib

import numpy as np

from tests.golden.draws import real
from tests.golden.runner import FLOAT32, answer, error, runs, shape, value


def old(tf):
    """TensorFlow's own, or `staticgraph.compat.tf1`."""
    return tf if tf.__name__ == "tensorflow" else importlib.import_module("staticgraph.compat.tf1")


def defun(tf, *args, func_name="F", **kwargs):
    """A decorator; TensorFlow takes no name from a lambda."""
    if tf.__name__ == "tensorflow":
        from tensorflow.python.framework.function import Defun
    else:
        Defun = old(tf).python.framework.function.Defun
    return Defun(*args, func_name=func_name, **kwargs)


class Pair:
    """A type that programs register."""

    def __init__(self, first, second):
        self.parts = [first, second]


def registered(tf):
    def convert(pair, dtype=None, name=None, as_ref=False):
        return tf.convert_to_tensor(pair.parts, dtype=dtype, name=name)

    tf.register_tensor_conversion_function(Pair, convert)
    return tf


def pairs(tf):
    registered(tf)
    both = tf.stack([Pair(1.0, 2.0), Pair(3.0, 4.0)])
    product = tf.constant([2.0, 3.0]) * Pair(4.0, 5.0)
    return [tf.add(Pair(1.0, 2.0), 1.0), both, product, tf.convert_to_tensor(Pair(1, 2), tf.float32)]


def sparse(tf, places, values, sizes):
    return tf.SparseTensor(np.array(places, np.int64).reshape(-1, len(sizes)), values, sizes)


def parts(made):
    return [made.indices, made.values, made.dense_shape]


def sets(name, *operands, **options):
    """The parts of what a function of `tf.sets` makes; operands may be made by functions of `tf`."""

    def build(tf):
        given = [each(tf) if callable(each) else tf.constant(each) for each in operands]
        return parts(getattr(tf.sets, name)(*given, **options))

    return build


def words(tf):
    made = tf.sets.set_difference(
        sparse(tf, [[0, 0], [1, 0], [1, 1]], ["a", "c", "b"], [2, 2]), sparse(tf, [[0, 0]], ["a"], [2, 5])
    )
    with tf.Session() as sess:
        return [[each.decode() for each in sess.run(made.values).tolist()], sess.run(made.indices).tolist()]


def set_size(places, values, sizes, **options):
    return lambda tf: tf.sets.set_size(sparse(tf, places, values, sizes), **options)


def in_parts(take):
    """The answer of `take(session, handle, tensors)` for a run of a few sums in parts."""

    def build(tf):
        a, b, c = (tf.placeholder(tf.float32, [], name) for name in "abc")
        first = a + b
        noise, count = tf.random_uniform([]), tf.Variable(1.0)
        made = {"a": a, "b": b, "c": c, "first": first, "second": first * c, "noise": noise}
        made.update(more=noise + c, up=count.assign_add(a), other=count * c)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            names = ("first", "second", "noise", "more", "up")
            handle = sess.partial_run_setup([made[name] for name in names], [a, b, c])
            return take(sess, handle, made)

    return build


def whole(sess, handle, made):
    first, noise = sess.partial_run(handle, [made["first"], made["noise"]], {made["a"]: 1, made["b"]: 2})
    second, more = sess.partial_run(handle, [made["second"], made["more"]], {made["c"]: 10 * first})
    return [float(first), float(second), round(float(more - noise), 5),
            float(sess.partial_run(handle, made["up"]))]  # fmt: skip


def bad_part(fetch, feeds, before=None):
    def take(sess, handle, made):
        if before is not None:
            sess.partial_run(handle, made[before[0]], {made[name]: 1.0 for name in before[1]})
        sess.partial_run(handle, made[fetch], {made[name]: 1.0 for name in feeds})

    return in_parts(take)


def inside(tf, x, y):
    product = defun(tf, tf.float32, tf.float32)(lambda a, b: (a * b, a + b))(x, y)
    return list(product)


def with_grad_func(tf, x):
    slope = defun(tf, tf.float32, tf.float32, func_name="Slope")(lambda a, dy: 100.0 * dy * a)
    return defun(tf, tf.float32, grad_func=slope)(lambda a: a * a)(x)


def with_python_grad(tf, x):
    def slope(op, dy):
        return dy * op.inputs[0] + op.outputs[0]

    return defun(tf, tf.float32, python_grad_func=slope)(lambda a: a * a)(x)


def with_shape(tf):
    f = defun(tf, tf.float32, shape_func=lambda op: [op.inputs[0].shape])(lambda a: a * 2.0)
    return f(tf.placeholder(tf.float32, [None, 3]))


def bad_defun(*dtypes, call):
    return lambda tf: call(defun(tf, *[getattr(tf, name) for name in dtypes])(lambda a: a * 2), tf)


def sections(tf):
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    section = old(tf).CriticalSection(name="section")
    up = section.execute(lambda: v.assign_add(2.0))
    with tf.control_dependencies([up]):
        return [up, section.execute(lambda: v.read_value()), section.execute(lambda: 3.0)]


def nested_section(tf):
    section = old(tf).CriticalSection()
    return section.execute(lambda: section.execute(lambda: tf.constant(1.0)))


def specs(tf):
    tf = old(tf)
    spec = tf.TensorSpec([None, 2], tf.int32, "x")
    return [
        repr(spec), spec == tf.TensorSpec([None, 2], tf.int32, "x"), spec == tf.TensorSpec([3, 2], tf.int32),
        hash(spec) == hash(tf.TensorSpec([None, 2], tf.int32, "x")),
        spec.is_compatible_with(tf.zeros([5, 2], tf.int32)), spec.is_compatible_with(tf.zeros([5, 2])),
        repr(tf.TensorSpec.from_tensor(tf.zeros([3], name="q"))), repr(tf.TensorSpec.from_spec(spec, "k")),
        repr(tf.TensorSpec([2, 3]).most_specific_compatible_type(tf.TensorSpec([2, 4]))),
        repr(tf.SparseTensorSpec([2, 3], tf.int32)),
        tf.SparseTensorSpec([2, None]).is_compatible_with(tf.SparseTensorSpec([2, 3])),
        repr(tf.IndexedSlicesSpec([2, None], tf.int32)),
        repr(tf.contrib.framework.BoundedTensorSpec([2], tf.int32, 0, 5, "b")),
    ]  # fmt: skip


def in_python(tf):
    def both(x, word):
        return x.numpy() * 2, word.numpy() + b"!"

    doubled, longer = tf.py_function(both, [[1, 2], "a"], [tf.float32, tf.string])
    with tf.Session() as sess:
        total = sess.run(tf.py_function(lambda x: x.numpy().sum(), [[1.5, 2.0]], tf.float64))
        return [sess.run(doubled).tolist(), sess.run(longer).decode(), float(total)]


PLACES = [[0, 0], [0, 1], [2, 0]]
CASES = [
    runs("objects of a registered type", pairs, times=1),
    error("a conversion function that cannot be called",
          lambda tf: tf.register_tensor_conversion_function(Pair, 3)),
    error("a conversion function for no type", lambda tf: tf.register_tensor_conversion_function(3, pairs)),
    runs("set_intersection", sets("set_intersection", [[3, 1, 2, 1]], [[2, 1, 5]]), times=1),
    runs("set_union of three axes", sets("set_union", [[[3, 1], [2, 2]]], [[[2, 1], [9, 7]]]), times=1),
    runs("set_union of nothing in common", sets("set_union", [[3]], [[4]]), times=1),
    runs("an empty set_intersection", sets("set_intersection", [[3, 1]], [[2, 5]]), times=1),
    answer("set_difference of strings", words),
    runs("set_difference of sparse and dense", sets(
        "set_difference", lambda tf: sparse(tf, [[0, 0], [1, 0]], [1, 7], [2, 2]), [[1], [2]]), times=1),
    runs("set_difference the other way round", sets(
        "set_difference", [[1], [2]], lambda tf: sparse(tf, [[0, 0], [1, 0]], [1, 7], [2, 2]),
        aminusb=False), times=1),
    shape("shapes of sets", sets("set_union", [[[3, 1], [2, 2]]], [[[2, 1], [9, 7]]])),
    runs("set_size", set_size(PLACES, [1, 1, 7], [3, 2]), times=1),
    runs("set_size of three axes",
         set_size([[0, 0, 0], [0, 0, 1], [1, 1, 0]], [1, 1, 7], [2, 2, 2]), times=1),
    error("set_size of a dense tensor", lambda tf: tf.sets.set_size(tf.constant([[1, 1]]))),
    error("set_size of one axis", set_size([[0], [1]], [1, 1], [2])),
    error("set_size of places out of order", set_size([[1, 0], [0, 1]], [1, 1], [2, 2])),
    error("set_size of places outside", set_size([[0, 0], [0, 9]], [1, 2], [1, 2])),
    error("sets of one axis", sets("set_union", [3, 1], [2, 1])),
    error("sets of other shapes", sets("set_union", [[3, 1]], [[2, 1], [1, 2]])),
    error("sparse sets of other shapes", sets(
        "set_union", lambda tf: sparse(tf, [[0, 0]], [1], [2, 2]),
        lambda tf: sparse(tf, [[0, 0]], [3], [3, 2]))),
    error("sets of floats", sets("set_union", [[3.0, 1.0]], [[2.0, 1.0]])),
    error("sets of two dtypes", sets("set_union", [[3]], np.array([[3]]))),
    answer("a run in parts", in_parts(whole)),
    error("a part that was not announced", bad_part("other", ["a"])),
    error("a part twice", bad_part("first", [], before=("first", ["a", "b"]))),
    error("a part before what it needs", bad_part("first", ["a"])),
    error("a feed that was not announced", bad_part("first", ["a", "b", "noise"])),
    error("a feed twice", bad_part("second", ["a", "c"], before=("first", ["a", "b"]))),
    error("no run in parts", lambda tf: tf.Session().partial_run("bad", tf.constant(1.0))),
    error("a run of no parts", lambda tf: tf.Session().partial_run_setup([], [tf.constant(1.0)])),
    value("Defun", inside, real(3), real(3), dtypes=FLOAT32),
    value("Defun with a gradient", with_grad_func, real(3), dtypes=FLOAT32),
    value("Defun with a gradient of an operation", with_python_grad, real(3), dtypes=FLOAT32),
    shape("Defun with shapes", with_shape),
    error("Defun of too many arguments", bad_defun("float32", call=lambda f, tf: f(1.0, 2.0))),
    error("Defun of another dtype", bad_defun("float32", call=lambda f, tf: f(tf.constant(1)))),
    error("Defun of more dtypes than parameters",
          bad_defun("float32", "int32", call=lambda f, tf: f(1.0, 2))),
    runs("CriticalSection", sections),
    error("a CriticalSection in itself", nested_section),
    error("a CriticalSection of None", lambda tf: old(tf).CriticalSection().execute(lambda: None)),
    error("a CriticalSection of a tensor", lambda tf: old(tf).CriticalSection().execute(tf.constant(1.0))),
    answer("specs", specs),
    error("specs of two dtypes", lambda tf: old(tf).TensorSpec([2]).most_specific_compatible_type(
        old(tf).TensorSpec([2], tf.int32))),
    error("a spec of no tensor", lambda tf: old(tf).TensorSpec.from_tensor(3.0)),
    answer("py_function", in_python),
    error("py_function of no function", lambda tf: tf.py_function(3, [1.0], tf.float32)),
    error("py_function that fails", lambda tf: tf.py_function(lambda x: 1 // 0, [1.0], tf.float32)),
    runs("sign of complex numbers", lambda tf: tf.sign(tf.constant([3 + 4j, 0, -2j, 1e30 + 1e30j])), times=1),
]  # fmt: skip
