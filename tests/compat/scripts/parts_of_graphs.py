"""Tools for graphs and optimizers in inner modules: walks, copies, slots, rows in place."""

import functools

import tensorflow as tf
from tensorflow.contrib import graph_editor as ge
from tensorflow.python.ops import inplace_ops
from tensorflow.python.training import slot_creator
from tensorflow.python.util import function_utils

x = tf.constant([1.0, 2.0], name="x")
w = tf.get_variable("w", [2], initializer=tf.constant_initializer(3.0))
product = tf.multiply(x, w, name="product")
y = tf.square(product, name="y")
z = tf.add(y, x, name="z")
apart = tf.negative(x, name="apart")


def names(found):
    """The names of operations or tensors, sorted."""
    return sorted(one.name for one in found)


print(names(ge.get_backward_walk_ops(z.op)))
print(names(ge.get_backward_walk_ops(z, inclusive=False, stop_at_ts=[product])))
print(names(ge.get_backward_walk_ops([z], within_ops_fn=lambda op: op.type != "Mul")))
print(names(ge.get_forward_walk_ops(product.op)), names(ge.get_forward_walk_ops([product])))
print(names(ge.get_forward_walk_ops(x.op, inclusive=False)))
print(names(ge.get_walks_intersection_ops(product.op, z.op)))
print(names(ge.get_consuming_ops([x])), names(ge.get_generating_ops([y, z])))
print(names(ge.filter_ops(z.graph, lambda op: op.type == "Square")), names(ge.filter_ts_from_regex(z.graph, "^y")))
try:
    ge.get_backward_walk_ops("z")
except TypeError as error:
    print(type(error).__name__)

replaced, same = ge.graph_replace([z, apart], {product: tf.constant([5.0, 6.0])})
other = ge.graph_replace(z, {x: tf.constant([2.0, 2.0])})

slots = [
    slot_creator.create_zeros_slot(w, "speed"),
    slot_creator.create_zeros_slot(w, "wide", dtype=tf.float64),
    slot_creator.create_slot(w, tf.constant([4.0, 5.0]), "begun"),
    slot_creator.create_slot_with_initializer(w, tf.ones_initializer(), w.shape, tf.float32, "ones"),
]
print([(slot.name, slot.dtype.base_dtype.name) for slot in slots])

rows = tf.zeros([3, 2])
changed = [
    inplace_ops.inplace_update(tf.identity(rows), 1, [1.0, 2.0]),
    inplace_ops.inplace_add(tf.identity(rows), [0, 2], [[1.0, 2.0], [3.0, 4.0]]),
    inplace_ops.alias_inplace_sub(tf.identity(rows), None, tf.ones([3, 2])),
]
average = tf.train.ExponentialMovingAverage(0.5)
update = average.apply([w])
again = average.apply([w])
print(update.name, again.name, average.average_name(w), len(tf.moving_average_variables()))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run([z, replaced, other, same]))
    print(sess.run(slots))
    print(sess.run(changed))
    sess.run(w.assign([1.0, 1.0]))
    sess.run(update)
    print(sess.run(average.average(w)))

layers = tf.contrib.layers
mine = {"variables_collections": [tf.GraphKeys.TRAINABLE_VARIABLES, "mine"]}
image = tf.zeros([1, 4, 4, 2])
layers.conv2d(image, 2, 3, normalizer_fn=layers.batch_norm, normalizer_params=mine, **mine)
layers.batch_norm(image, renorm=True, **mine)
print(names(tf.trainable_variables()), names(tf.get_collection("mine")))


class Model:
    """A model function as an object."""

    def __call__(self, features, labels, mode=None):
        pass

    def method(self, features, **params):
        pass


for function in (Model(), Model().method, Model.method, functools.partial(Model(), labels=1), len and names):
    print(function_utils.fn_args(function), function_utils.has_kwargs(function))
