"""tf.contrib.framework: assignments, checks of shapes, names; slim.utils: end points by names."""

import numpy as np
import tensorflow as tf

framework, slim = tf.contrib.framework, tf.contrib.slim


def refused(function):
    try:
        function()
    except (ValueError, TypeError) as error:
        return "refused"
    return "accepted"


images = tf.placeholder(tf.float32, [None, 8, 8, 3], name="images")
with slim.arg_scope([slim.conv2d, slim.fully_connected, slim.max_pool2d], outputs_collections="ends"):
    with tf.variable_scope("net"):
        h = slim.conv2d(images, 4, 3, normalizer_fn=slim.batch_norm, scope="first")
        h = slim.repeat(h, 2, slim.conv2d, 4, [3, 3], scope="more")
        h = slim.max_pool2d(h, 2, scope="pool")
        h = slim.avg_pool2d(h, 2, outputs_collections=["ends"])
        h = slim.flatten(h, outputs_collections="ends")
        h = slim.dropout(slim.fully_connected(h, 5), outputs_collections="ends")
        slim.layer_norm(h, outputs_collections="ends", scope="norm")
        slim.one_hot_encoding([1, 2], 3, outputs_collections="ends")
        slim.pool(images, 2, "MAX", outputs_collections="ends", scope="pooled")
for name, tensor in slim.utils.convert_collection_to_dict("ends").items():
    print(name, tensor.shape)
print(slim.utils.get_tensor_aliases(images), slim.utils.gather_tensors_aliases([images, images]))
slim.utils.collect_named_outputs("mine", "a/b/", h)
print(list(slim.utils.convert_collection_to_dict("mine", clear_collection=True)), tf.get_collection("mine"))
print(slim.utils.two_element_tuple(3), slim.utils.two_element_tuple([1, 2]), slim.utils.n_positive_integers(3, 2))
print(slim.utils.last_dimension(images.shape), slim.utils.channel_dimension(images.shape, "channels_last"))
print(slim.utils.constant_value(True), slim.utils.constant_value(tf.constant(False)), slim.utils.constant_value(images))
print(slim.utils.smart_cond(True, lambda: 1, lambda: 2), slim.utils.static_cond(0, lambda: 1, lambda: 2))
print(
    refused(lambda: slim.utils.two_element_tuple([1, 2, 3])),
    refused(lambda: slim.utils.n_positive_integers(2, [1, 0])),
    refused(lambda: slim.utils.last_dimension(tf.TensorShape([None]))),
)
print([v.op.name for v in framework.filter_variables(tf.global_variables(), ["first", "BatchNorm"], ["moving"])])
print([v.op.name for v in framework.filter_variables(tf.global_variables(), ["net/m"], reg_search=False)])
print(framework.get_variable_full_name(tf.global_variables()[0]), len(framework.get_placeholders(tf.get_default_graph())))
with tf.name_scope("outer"), tf.name_scope("inner"):
    print(framework.get_name_scope())
print(framework.get_graph_from_inputs([images]) is tf.get_default_graph())

w = framework.global_variable([[1.0, 2.0]], name="w")
assign, feeds = framework.assign_from_values({"w": np.array([5.0, 6.0])})
set_w = framework.assign_from_values_fn({"w": np.array([[7.0, 8.0]])})
zero = framework.zero_initializer(tf.get_variable("z", initializer=[3.0, 4.0]))
any_shape = tf.placeholder(tf.float32, None)
checked = framework.with_shape([2, 2], any_shape)
same = framework.with_same_shape(w, tf.ones([1, 2]))
one = framework.with_shape([], tf.constant([4.0]))
print(checked.shape, same.shape, one.shape, w in tf.trainable_variables())
print(framework.remove_squeezable_dimensions(tf.ones([2, 3, 1]), tf.ones([2, 3]))[0].shape)
print(framework.remove_squeezable_dimensions(tf.ones([2]), tf.ones([2, 1]))[1].shape)
with tf.Session() as sess:
    print(sess.run(zero).tolist())
    sess.run(tf.variables_initializer([w]))
    sess.run(assign, feeds)
    print(sess.run(w).tolist())
    set_w(sess)
    print(sess.run(w).tolist(), float(sess.run(one)))
    print(sess.run(checked, {any_shape: [[1, 2], [3, 4]]}).tolist())
    for value in ([1, 2], [[1, 2, 3]], [[[1, 2], [3, 4]]]):
        try:
            sess.run(checked, {any_shape: value})
        except tf.errors.InvalidArgumentError:
            print("wrong shape")
    print(float(sess.run(framework.reduce_sum_n([w, tf.ones([3])]))), sess.run(framework.sort([3, 1, 2])).tolist())
    print(sess.run(framework.argsort([3, 1, 2], direction="DESCENDING")).tolist())
    print(float(sess.run(framework.smart_case([(False, lambda: tf.constant(1.0)), (True, lambda: tf.constant(2.0))]))))
    flag = tf.placeholder(tf.bool, [])
    cases = [(False, lambda: tf.constant(1.0)), (flag, lambda: tf.constant(3.0))]
    chosen = framework.smart_case(cases, default=lambda: tf.constant(4.0))
    print([float(sess.run(chosen, {flag: each})) for each in (True, False)])
print(
    refused(lambda: framework.assign_from_values({"nothing": np.zeros(1)})),
    refused(lambda: framework.with_shape([2], tf.ones([3]))),
    refused(lambda: framework.with_shape(tf.constant([2.0]), any_shape)),
    refused(lambda: framework.assert_scalar_int(tf.constant(1.0))),
    refused(lambda: framework.assert_scalar_int(tf.constant([1]))),
    refused(lambda: framework.assert_scalar_int(tf.constant(1))),
    refused(lambda: framework.reduce_sum_n([])),
    refused(lambda: framework.get_placeholders(3)),
)


@framework.deprecated_args(None, "no more", "b")
@framework.deprecated(None, "no more")
def function(a, b=2):
    return a + b


print(function(1))
