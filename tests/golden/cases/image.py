"""Images: resized, cropped, turned, recoloured, compared, and changed at random."""

from tests.golden.draws import distinct, given, ints, positive, real
from tests.golden.runner import answer, error, runs, shape, value

IMAGE = real(5, 6, 3, low=0.05, high=0.95)
BATCH = real(2, 5, 6, 3, low=0.05, high=0.95)
SQUARE = real(4, 4, 2)
BYTES = ints(2, 5, 6, 3, low=0, high=255, dtype="uint8")
LARGE = real(2, 33, 30, 2, low=0.0, high=1.0)
SIZES = ([5, 6], [3, 4], [8, 9], [1, 1], [13, 2])
OPS = ("resize_bilinear", "resize_nearest_neighbor", "resize_bicubic")


def called(function, *args, **options):
    """A case's function: `tf.image.<function>` of its inputs."""
    return lambda tf, *inputs: getattr(tf.image, function)(*inputs, *args, **options)


def alike(function, *args, **options):
    """The function of an image and of one that is much like it."""
    return lambda tf, x, y: getattr(tf.image, function)(x, 0.8 * x + 0.2 * y, *args, **options)


def resized(tf, images, size, method, **options):
    return tf.image.resize_images(images, size, getattr(tf.image.ResizeMethod, method), **options)


def per_seed(function, *args):
    """The function of a fixed image, under two seeds."""

    def build(tf):
        tf.set_random_seed(3)
        batch = tf.constant([[[[0.1, 0.5, 0.9], [0.2, 0.4, 0.6]]], [[[0.7, 0.3, 0.1], [0.8, 0.8, 0.2]]]])
        calls = [getattr(tf.image, function)(batch, *args, seed=seed) for seed in (1, 2)]
        return [*calls, getattr(tf.image, function)(batch[0], *args, seed=5)]

    return build


def unknown_sizes(tf):
    """Static shapes where the height and the width depend on the feed."""
    photo, batch = (
        tf.placeholder(tf.uint8, [None, None, 3]),
        tf.placeholder(tf.float32, [None, None, None, 1]),
    )
    return [
        tf.image.resize_images(photo, [8, 9]),
        tf.image.resize_images(batch, [8, 9]),
        tf.image.resize_image_with_crop_or_pad(photo, 7, 5),
        tf.image.resize_image_with_pad(batch, 7, 5),
        tf.image.central_crop(photo, 0.5),
        tf.image.crop_to_bounding_box(batch, 1, 1, 2, 3),
        tf.image.flip_left_right(photo),
        tf.image.random_flip_left_right(batch),
        tf.image.transpose_image(photo),
        tf.image.per_image_standardization(photo),
        tf.image.rgb_to_grayscale(photo),
        tf.image.grayscale_to_rgb(batch),
        tf.image.total_variation(batch),
        tf.image.sobel_edges(batch),
    ]


def methods(tf):
    return [
        getattr(tf.image.ResizeMethod, name) for name in ("BILINEAR", "NEAREST_NEIGHBOR", "BICUBIC", "AREA")
    ]


def hidden(call):
    """`call` of an image whose shape is not known while the graph is built."""
    return lambda tf, x: call(tf, tf.placeholder_with_default(x, [None] * (len(x.shape) - 1) + [3]))


BOXES = given([[0.1, 0.2, 0.7, 0.8], [-0.2, 0.5, 0.6, 1.3], [0.0, 0.0, 1.0, 1.0], [0.9, 0.8, 0.2, 0.1]],
              "float32")


def crops(tf, images, boxes, size, **options):
    return tf.image.crop_and_resize(images, boxes, [0, 1, 1, 0], size, **options)


def outlined(tf, images, boxes, **options):
    return tf.image.draw_bounding_boxes(images, tf.stack([boxes, boxes[::-1]]), **options)


def suppressed(name, *args, **options):
    """Return the boxes that are kept of those that overlap much, and what comes with them."""

    def build(tf, corners, sizes, scores):
        made = getattr(tf.image, name)(tf.concat([corners, corners + sizes], 1), scores, *args, **options)
        return list(made) if isinstance(made, tuple) else made

    return build


def by_overlaps(tf, x, scores):
    overlaps = tf.matrix_set_diag(0.5 * (x + tf.transpose(x)), tf.ones([12]))
    return tf.image.non_max_suppression_overlaps(overlaps, scores, 6, 0.4, 0.1)


CORNERS, EXTENTS, SCORES = real(12, 2, low=0.0, high=1.0), real(12, 2, low=0.1, high=0.8), distinct(12)

CASES = [
    [value("crop_and_resize to %s, %s" % (size, options), lambda tf, x, b, n=size, o=options: crops(tf, x,
                                                                                                    b, n,
                                                                                                    **o),
           BATCH, BOXES, dtypes=("float32",), grad="method" not in options, tolerance=4.0)
     for size, options in (([3, 4], {}), ([1, 5], {"extrapolation_value": 2.0}), ([6, 6],
                                                                                  {"method": "nearest"}))],
    value("crop_and_resize of bytes", lambda tf, x, b: crops(tf, x, b, [4, 4]), BYTES, BOXES, grad=False),
    value("draw_bounding_boxes", outlined, real(2, 9, 8, 3, low=0.0), BOXES, grad=False, dtypes=("float32",)),
    value("draw_bounding_boxes in gray", outlined, real(2, 9, 8, 1, low=0.0), BOXES, grad=False,
          dtypes=("float32",)),
    value("draw_bounding_boxes, colors", lambda tf, x, b: outlined(tf, x, b, colors=[[0.1, 0.2, 0.3], [0.7,
                                                                                                       0.6,
                                                                                                       0.5]]),
          real(2, 9, 8, 3, low=0.0), BOXES, grad=False, dtypes=("float32",)),
    [value("%s%s" % (name, list(args)), suppressed(name, *args), CORNERS, EXTENTS, SCORES, grad=False,
           dtypes=("float32",))
     for name, args in (("non_max_suppression", (5,)), ("non_max_suppression", (9, 0.2, 0.3)),
                        ("non_max_suppression_with_scores", (8, 0.6, 0.0, 0.5)),
                        ("non_max_suppression_padded", (10, 0.3, 0.2, True)))],
    value("non_max_suppression_overlaps", by_overlaps, real(12, 12, low=0.0, high=1.0), SCORES, grad=False,
          dtypes=("float32",)),
    [[value("%s to %s" % (op, size), called(op, size), BATCH, dtypes=("float32",)),
      value("%s to %s, corners" % (op, size), called(op, size, align_corners=True), BATCH,
            dtypes=("float32",)),
      value("%s to %s, half pixels" % (op, size), called(op, size, half_pixel_centers=True), BATCH,
            dtypes=("float32",)),
      value("%s of bytes to %s" % (op, size), called(op, size), BYTES)]
     for op in OPS for size in SIZES],
    [[value("resize_area to %s" % size, called("resize_area", size), BATCH, grad=False, dtypes=("float32",)),
      value("resize_area of bytes to %s" % size, called("resize_area", size), BYTES),
      value("resize_area to %s, corners" % size, called("resize_area", size, align_corners=True), BATCH,
            grad=False, dtypes=("float32",))]
     for size in ([5, 6], [3, 4], [8, 9], [2, 13])],
    [value("resize_images, %s" % method, lambda tf, x, m=method: resized(tf, x, [7, 4], m), IMAGE,
           dtypes=("float32",), grad=method != "AREA")
     for method in ("BILINEAR", "NEAREST_NEIGHBOR", "BICUBIC", "AREA")],
    value("resize_images to the same size", called("resize_images", [5, 6]), BYTES),
    [value("resize_images keeping proportions, %s" % size,
           called("resize_images", size, preserve_aspect_ratio=True), IMAGE, dtypes=("float32",))
     for size in ([10, 7], [3, 30], [8, 8])],
    value("resize_images of a fed size", hidden(lambda tf, x: tf.image.resize_images(x, [7, 8])), IMAGE,
          dtypes=("float32",)),
    [value("resize_image_with_pad to %d x %d" % size, called("resize_image_with_pad", *size), BATCH,
           dtypes=("float32",))
     for size in ((8, 8), (3, 9), (12, 4))],
    value("resize_image_with_pad of a fed size", hidden(lambda tf, x: tf.image.resize_image_with_pad(x, 8,
                                                                                                     9)),
          BATCH, dtypes=("float32",)),
    [[value("crop or pad to %d x %d" % size, called("resize_image_with_crop_or_pad", *size), BATCH),
      value("crop or pad to %d x %d, fed size" % size,
            hidden(lambda tf, x, s=size: tf.image.resize_image_with_crop_or_pad(x, *s)), IMAGE)]
     for size in ((3, 3), (8, 9), (4, 8), (7, 3))],
    value("crop_to_bounding_box", called("crop_to_bounding_box", 1, 2, 3, 2), BATCH),
    value("pad_to_bounding_box", called("pad_to_bounding_box", 1, 2, 8, 9), IMAGE),
    [value("central_crop, %s" % part, called("central_crop", part), BATCH) for part in (0.3, 0.5, 0.87, 1.0)],
    value("central_crop of a fed size", hidden(lambda tf, x: tf.image.central_crop(x, 0.5)), BATCH),
    [value("%s of %s" % (name, label), called(name), draw)
     for name in ("flip_left_right", "flip_up_down", "transpose_image")
     for label, draw in (("an image", IMAGE), ("a batch", BATCH), ("bytes", BYTES))],
    [value("rot90, %d times" % k, called("rot90", k), IMAGE, grad=False) for k in (0, 1, 2, 3, 5, -1)],
    [value("rot90 by a tensor, %d" % k, lambda tf, x, k: tf.image.rot90(x, k), SQUARE, given(k, "int32"))
     for k in (0, 1, 2, 3)],
    [[value("convert %s to %s" % (old, new),
            lambda tf, x, old=old, new=new: tf.image.convert_image_dtype(tf.cast(x, old), getattr(tf, new)),
            ints(3, 4, low=0, high=100, dtype="int64"))
      for new in ("uint8", "int16", "int32", "float32", "float64") if new != old]
     for old in ("uint8", "int16", "int32")],
    [value("convert unit interval to %s, saturate %s" % (new, saturate),
           lambda tf, x, new=new, s=saturate: tf.image.convert_image_dtype(x, getattr(tf, new), saturate=s),
           real(40, low=0.0, high=0.999))
     for new in ("uint8", "int16", "float64") for saturate in (False, True)],
    value("convert too large, saturate", called("convert_image_dtype", "uint8", saturate=True), real(20)),
    [[value("%s of floats, %s" % (name, args), called(name, *args), IMAGE, grad=grads, dtypes=("float32",)),
      value("%s of bytes, %s" % (name, args), called(name, *args), BYTES)]
     for name, args, grads in (("adjust_brightness", (0.3,), True), ("adjust_brightness", (-0.2,), True),
                               ("adjust_contrast", (1.7,), False), ("adjust_contrast", (0.3,), False),
                               ("adjust_gamma", (2.2,), True), ("adjust_gamma", (0.5, 0.8), True),
                               ("adjust_hue", (0.3,), False), ("adjust_hue", (-0.45,), False),
                               ("adjust_saturation", (0.4,), False), ("adjust_saturation", (2.5,), False))],
    value("per_image_standardization", called("per_image_standardization"), BATCH, dtypes=("float32",)),
    value("per_image_standardization of one colour",
          lambda tf, x: tf.image.per_image_standardization(tf.zeros([3, 4, 1]) + x), given(0.5), grad=False,
          dtypes=("float32",)),
    value("per_image_standardization of bytes", called("per_image_standardization"), BYTES),
    [value(name, called(name), BATCH, dtypes=("float32",))
     for name in ("rgb_to_grayscale", "rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb")],
    [value(name, called(name), BATCH, grad=False, dtypes=("float32",)) for name in ("rgb_to_hsv",
                                                                                    "hsv_to_rgb")],
    value("rgb_to_hsv of grays", lambda tf, x: tf.image.rgb_to_hsv(tf.tile(x, [1, 3])), real(5, 1, low=0.0),
          grad=False, dtypes=("float32",)),
    value("rgb_to_grayscale of bytes", called("rgb_to_grayscale"), BYTES),
    value("grayscale_to_rgb", called("grayscale_to_rgb"), real(2, 3, 4, 1)),
    value("total_variation", called("total_variation"), distinct(2, 4, 5, 2)),
    value("total_variation of one", called("total_variation"), distinct(4, 5, 2)),
    value("image_gradients", called("image_gradients"), BATCH),
    value("sobel_edges", called("sobel_edges"), BATCH, dtypes=("float32",)),
    value("psnr", called("psnr", 1.0), BATCH, BATCH, dtypes=("float32",)),
    value("psnr of bytes", called("psnr", 255), BYTES, BYTES),
    value("ssim", alike("ssim", 1.0), LARGE, LARGE, dtypes=("float32",)),
    value("ssim, small filter", alike("ssim", 1.0, filter_size=5, filter_sigma=1.0, k1=0.02, k2=0.05), LARGE,
          LARGE, dtypes=("float32",)),
    value("ssim of one image", alike("ssim", 1.0), real(16, 14, 3, low=0.0, high=1.0),
          real(16, 14, 3, low=0.0, high=1.0), dtypes=("float32",), tolerance=10.0),
    value("ssim_multiscale", alike("ssim_multiscale", 1.0, power_factors=(0.3, 0.7)), LARGE, LARGE,
          tolerance=10.0,
          dtypes=("float32",)),
    [runs("%s%s" % (name, list(args)), per_seed(name, *args))
     for name, args in (("random_flip_left_right", ()), ("random_flip_up_down", ()),
                        ("random_brightness", (0.4,)), ("random_contrast", (0.3, 1.8)),
                        ("random_hue", (0.4,)), ("random_saturation", (0.2, 1.6)))],
    shape("unknown sizes", unknown_sizes),
    answer("resize methods", methods),
    [error(name, lambda tf, call=call: call(tf)) for name, call in (
        ("crop outside", lambda tf: tf.image.crop_to_bounding_box(tf.zeros([4, 4, 1]), 2, 0, 3, 2)),
        ("pad too small", lambda tf: tf.image.pad_to_bounding_box(tf.zeros([4, 4, 1]), 0, 0, 3, 5)),
        ("central fraction", lambda tf: tf.image.central_crop(tf.zeros([4, 4, 1]), 1.5)),
        ("flip of a matrix", lambda tf: tf.image.flip_left_right(tf.zeros([4, 4]))),
        ("hue range", lambda tf: tf.image.random_hue(tf.zeros([4, 4, 3]), 0.7)),
        ("contrast range", lambda tf: tf.image.random_contrast(tf.zeros([4, 4, 3]), 0.7, 0.2)),
        ("resize method", lambda tf: tf.image.resize_images(tf.zeros([4, 4, 3]), [2, 2], method=9)),
        ("resize of a matrix", lambda tf: tf.image.resize_images(tf.zeros([4, 4]), [2, 2])),
        ("resize to three sizes", lambda tf: tf.image.resize_images(tf.zeros([4, 4, 3]), [2, 2, 2])),
        ("convert to strings", lambda tf: tf.image.convert_image_dtype(tf.zeros([4, 4, 3]), tf.string)),
    )],
    [value("combined_non_max_suppression of %d kinds of boxes, %s" % (each, sorted(options.items())),
           lambda tf, boxes, scores, options=options: list(tf.image.combined_non_max_suppression(
               tf.concat([boxes[..., :2], boxes[..., :2] + boxes[..., 2:] / 2.0], -1), scores, 3, **options)),
           positive(2, 12, each, 4), distinct(2, 12, 3), grad=False, dtypes=("float32",))
     for each in (1, 3)
     for options in ({"max_total_size": 6, "iou_threshold": 0.3, "score_threshold": 4.0},
                     {"max_total_size": 20, "clip_boxes": False},
                     {"max_total_size": 20, "pad_per_class": True, "score_threshold": 100.0})],
]
