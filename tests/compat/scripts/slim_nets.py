"""The nets of slim: variables, end points, numbers of operations, and logits of small ones."""
import zlib

import numpy as np
import tensorflow as tf
from tensorflow.contrib.slim.nets import resnet_v1, resnet_v2

slim = tf.contrib.slim
nets = tf.contrib.slim.nets


def digest(lines):
    return "%08x" % zlib.crc32("\n".join(lines).encode())


def describe(name, scope, build, size):
    """Print the names and shapes that a net has, as digests, and those of its last tensors."""
    tf.reset_default_graph()
    images = tf.placeholder(tf.float32, [2, size, size, 3])
    with slim.arg_scope(scope):
        net, end_points = build(images)
    variables = ["%s %s" % (v.op.name, v.shape.as_list()) for v in tf.global_variables()]
    trained = [v.op.name for v in tf.trainable_variables()]
    ends = ["%s %s %s" % (key, x.op.name, x.shape.as_list()) for key, x in end_points.items()]
    print(name, net.op.name, net.shape.as_list(), "operations:", tf.get_default_graph()._last_id)
    print(" variables:", len(variables), digest(variables), variables[0], variables[-1])
    print(" trained:", len(trained), digest(trained))
    print(" end points:", len(ends), digest(sorted(ends)), sorted(ends)[0], sorted(ends)[-1])
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    print(" losses:", len(losses), "updates:", len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)))
    print(" moving:", len(tf.get_collection("moving_vars")))


def compute(name, scope, build, size):
    """Print results of a net whose weights are sines."""
    tf.reset_default_graph()
    data = np.sin(np.arange(2 * size * size * 3, dtype=np.float32)).reshape(2, size, size, 3)
    with slim.arg_scope(scope):
        net, end_points = build(tf.constant(data))
    with tf.Session() as session:
        for at, variable in enumerate(tf.global_variables()):
            count = int(np.prod(variable.shape.as_list()))
            fan = max(count // int(variable.shape[-1]), 1)
            values = np.sin(np.arange(count) * 0.7 + at) * (2.0 / fan) ** 0.5
            if "weights" not in variable.op.name:
                values = 1 + 0.1 * values
            variable.load(values.reshape(variable.shape.as_list()), session)
        results = session.run([net] + [end_points[key] for key in sorted(end_points)])
    first = results[0].reshape(-1)
    print(name, results[0].shape, " ".join("%.4f" % x for x in first[:4]), "%.4f" % first.std())
    print(" " + " ".join("%.4f" % np.abs(x).mean() for x in results[1:]))


def thin(net, **options):
    return lambda x: net(x, 5, depth_multiplier=0.02, min_depth=3, is_training=False, **options)


vgg, inception = nets.vgg, nets.inception
describe("alexnet", nets.alexnet.alexnet_v2_arg_scope(), nets.alexnet.alexnet_v2, 224)
describe("overfeat", nets.overfeat.overfeat_arg_scope(), nets.overfeat.overfeat, 231)
describe("vgg_a", vgg.vgg_arg_scope(), lambda x: vgg.vgg_a(x, 7, is_training=False), 224)
describe("vgg_16", vgg.vgg_arg_scope(), vgg.vgg_16, 224)
describe("vgg_19", vgg.vgg_arg_scope(), lambda x: vgg.vgg_19(x, 9, spatial_squeeze=False), 256)
describe("inception_v1", inception.inception_v1_arg_scope(), inception.inception_v1, 224)
describe("inception_v2", inception.inception_v2_arg_scope(), thin(inception.inception_v2), 224)
describe("inception_v3", inception.inception_v3_arg_scope(), inception.inception_v3, 299)
describe(
    "resnet_v1_50",
    resnet_v1.resnet_arg_scope(),
    lambda x: resnet_v1.resnet_v1_50(x, 11, False, global_pool=False, output_stride=8),
    65,
)
describe("resnet_v2_50", resnet_v2.resnet_arg_scope(), lambda x: resnet_v2.resnet_v2_50(x, None, reuse=tf.AUTO_REUSE), 64)
print([getattr(net, "default_image_size", 0) for net in (vgg.vgg_16, inception.inception_v3, resnet_v1.resnet_v1)])

compute("inception_v2", inception.inception_v2_arg_scope(), thin(inception.inception_v2), 64)
compute("inception_v3", inception.inception_v3_arg_scope(), thin(inception.inception_v3, spatial_squeeze=False), 107)
for version, net in (resnet_v1, resnet_v1.resnet_v1), (resnet_v2, resnet_v2.resnet_v2):
    block = getattr(version, net.__name__ + "_block")
    blocks = [block("block1", base_depth=2, num_units=2, stride=2), block("block2", 3, 2, 2), block("block3", 4, 1, 1)]
    stride = None if version is resnet_v1 else 8
    compute(
        net.__name__,
        version.resnet_arg_scope(),
        lambda x: net(x, blocks, 4, is_training=False, global_pool=not stride, output_stride=stride, scope="r"),
        33,
    )
with tf.Graph().as_default():
    x = tf.zeros([1, 16, 16, 3])
    for reuse in (None, True):
        net, _ = resnet_v2.resnet_v2(x, blocks, 3, reuse=reuse, scope="twice")
    print(net.op.name, len(tf.global_variables()))
    for build in (
        lambda: resnet_v1.resnet_v1(x, blocks, output_stride=6),
        lambda: resnet_v1.resnet_v1(x, blocks, output_stride=32),
        lambda: inception.inception_v1_base(x, "Mixed_9z"),
        lambda: inception.inception_v2(x, depth_multiplier=0),
    ):
        try:
            build()
        except ValueError:
            print("ValueError")
