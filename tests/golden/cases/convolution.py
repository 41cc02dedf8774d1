"""Convolution and pooling."""

from tests.golden.draws import distinct, given, real
from tests.golden.runner import FLOAT32, value

BOTH = ("SAME", "VALID")


def conv2d(**options):
    return lambda tf, x, w: tf.nn.conv2d(x, w, **options)


def pool(name, window, strides, padding):
    return lambda tf, x: getattr(tf.nn, name)(x, window, strides, padding)


CASES = [
    [value("conv2d %s stride %d, %dx%d filter" % (padding, stride, size, size),
           conv2d(strides=[1, stride, stride, 1], padding=padding), real(1, 6, 5, 2), real(size, size, 2, 3))
     for padding in BOTH for stride in (1, 2, 3) for size in (1, 2, 3)],
    value("conv2d of a batch", conv2d(strides=1, padding="SAME"), real(3, 4, 4, 1), real(3, 3, 1, 2)),
    value("conv2d with unequal strides", conv2d(strides=[1, 2, 1, 1], padding="SAME"), real(1, 5, 6, 2),
          real(3, 2, 2, 2)),
    value("conv2d with a filter as large as the image", conv2d(strides=1, padding="VALID"), real(2, 3, 4, 2),
          real(3, 4, 2, 3)),
    value("conv2d with an oblong filter", conv2d(strides=1, padding="SAME"), real(1, 4, 5, 2),
          real(1, 4, 2, 2)),
    value("conv2d with explicit padding", conv2d(strides=1, padding=[[0, 0], [1, 2], [0, 1], [0, 0]]),
          real(1, 4, 4, 2), real(3, 3, 2, 2), grad=False),
    value("conv2d dilated",
          lambda tf, x, w: tf.nn.conv2d(x, w, strides=1, padding="VALID", dilations=[1, 2, 2, 1]),
          real(1, 7, 7, 2), real(3, 3, 2, 2), dtypes=FLOAT32, grad=False),
    value("conv2d dilated SAME", lambda tf, x, w: tf.nn.conv2d(x, w, strides=1, padding="SAME", dilations=2),
          real(1, 6, 5, 2), real(3, 3, 2, 2), dtypes=FLOAT32, grad=False),
    value("conv2d of an empty batch", conv2d(strides=1, padding="SAME"), real(0, 4, 4, 2), real(3, 3, 2, 2),
          grad=False),
    value("conv2d then bias then relu",
          lambda tf, x, w, b: tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME"), b)), real(1, 4, 4, 2),
          real(3, 3, 2, 3), real(3)),
    [value("atrous_conv2d %s" % padding,
           lambda tf, x, w, padding=padding: tf.nn.atrous_conv2d(x, w, 2, padding), real(1, 8, 8, 2),
           real(3, 3, 2, 2), dtypes=FLOAT32)
     for padding in BOTH],
    [value("conv1d %s stride %d" % (padding, stride),
           lambda tf, x, w, padding=padding, stride=stride: tf.nn.conv1d(x, w, stride, padding),
           real(2, 7, 2), real(3, 2, 3))
     for padding in BOTH for stride in (1, 2)],
    [value("conv3d %s stride %d" % (padding, stride),
           lambda tf, x, w, padding=padding, stride=stride: tf.nn.conv3d(
               x, w, [1, stride, stride, stride, 1], padding), real(1, 3, 4, 3, 2), real(2, 2, 2, 2, 2))
     for padding in BOTH for stride in (1, 2)],
    [value("conv2d_transpose %s stride %d" % (padding, stride),
           lambda tf, x, w, shape=shape, padding=padding, stride=stride: tf.nn.conv2d_transpose(
               x, w, shape, [1, stride, stride, 1], padding), real(1, 3, 4, 3), real(3, 3, 2, 3))
     for padding, stride, shape in (("SAME", 1, [1, 3, 4, 2]), ("SAME", 2, [1, 6, 8, 2]),
                                    ("VALID", 1, [1, 5, 6, 2]), ("VALID", 2, [1, 7, 9, 2]))],
    value("conv2d_transpose to an odd size",
          lambda tf, x, w: tf.nn.conv2d_transpose(x, w, [1, 5, 7, 2], [1, 2, 2, 1]), real(1, 3, 4, 3),
          real(3, 3, 2, 3)),
    [value("depthwise_conv2d %s stride %d" % (padding, stride),
           lambda tf, x, w, padding=padding, stride=stride: tf.nn.depthwise_conv2d(
               x, w, [1, stride, stride, 1], padding), real(1, 5, 5, 3), real(3, 3, 3, 2))
     for padding in BOTH for stride in (1, 2)],
    value("depthwise_conv2d dilated",
          lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME", rate=[2, 2]), real(1, 6, 6, 2),
          real(3, 3, 2, 1), dtypes=FLOAT32),
    [value("separable_conv2d %s" % padding,
           lambda tf, x, d, p, padding=padding: tf.nn.separable_conv2d(x, d, p, [1, 1, 1, 1], padding),
           real(1, 5, 5, 2), real(3, 3, 2, 2), real(1, 1, 4, 3))
     for padding in BOTH],
    value("convolution with dilation",
          lambda tf, x, w: tf.nn.convolution(x, w, "VALID", dilation_rate=[2, 1]), real(1, 6, 5, 2),
          real(2, 3, 2, 2), dtypes=FLOAT32),
    value("convolution in one dimension", lambda tf, x, w: tf.nn.convolution(x, w, "SAME", strides=[2]),
          real(1, 7, 2), real(3, 2, 2), dtypes=FLOAT32),
    value("conv2d gradient by its own op",
          lambda tf, x, w, g: [tf.nn.conv2d_backprop_input([1, 5, 5, 2], w, g, [1, 2, 2, 1], "SAME"),
                               tf.nn.conv2d_backprop_filter(x, [3, 3, 2, 2], g, [1, 2, 2, 1], "SAME")],
          real(1, 5, 5, 2), real(3, 3, 2, 2), real(1, 3, 3, 2)),
    value("second derivative of conv2d",
          lambda tf, x, w: tf.gradients(tf.square(tf.nn.conv2d(x, w, 1, "SAME")), [x, w]), real(1, 3, 3, 1),
          real(2, 2, 1, 2)),

    [value("%s %s window %d stride %d" % (name, padding, window, stride),
           pool(name, [1, window, window, 1], [1, stride, stride, 1], padding), distinct(1, 5, 6, 2))
     for name in ("max_pool", "avg_pool") for padding in BOTH
     for window, stride in ((2, 2), (2, 1), (3, 2), (3, 3))],
    value("max_pool with oblong window", pool("max_pool", [1, 1, 3, 1], [1, 2, 1, 1], "SAME"),
          distinct(2, 4, 5, 1)),
    value("avg_pool with oblong window", pool("avg_pool", [1, 3, 1, 1], [1, 1, 2, 1], "SAME"),
          distinct(2, 4, 5, 1)),
    value("max_pool ties", pool("max_pool", [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
          given([[[[1.0], [1.0]], [[1.0], [0.0]]]])),
    value("max_pool of negatives at the border", pool("max_pool", [1, 3, 3, 1], [1, 2, 2, 1], "SAME"),
          real(1, 4, 4, 1, low=-9, high=-1)),
    value("max_pool over channels first by transposition",
          lambda tf, x: tf.transpose(tf.nn.max_pool(tf.transpose(x, [0, 2, 3, 1]), 2, 2, "VALID"),
                                     [0, 3, 1, 2]), distinct(1, 2, 4, 4)),
    [value("%s in one dimension" % name, lambda tf, x, name=name: getattr(tf.nn, name)(x, 2, 2, "SAME"),
           distinct(2, 5, 2), dtypes=FLOAT32)
     for name in ("max_pool1d", "avg_pool1d")],
    [value("%s" % name,
           lambda tf, x, name=name: getattr(tf.nn, name)(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME"),
           distinct(1, 3, 4, 3, 2), dtypes=FLOAT32)
     for name in ("max_pool3d", "avg_pool3d")],
    [value("pool %s" % kind, lambda tf, x, kind=kind: tf.nn.pool(x, [2, 2], kind, "VALID", strides=[2, 1]),
           distinct(1, 4, 5, 2), dtypes=FLOAT32)
     for kind in ("MAX", "AVG")],
    value("max_pool_with_argmax",
          lambda tf, x: tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
          distinct(1, 4, 4, 2), grad=False, dtypes=FLOAT32),
    value("dilation2d", lambda tf, x, w: tf.nn.dilation2d(x, w, [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
          real(1, 4, 4, 2), real(2, 2, 2), dtypes=FLOAT32),
    value("max pool of an empty batch", pool("max_pool", [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
          real(0, 4, 4, 1), grad=False),
]
