"""Image files as strings: pictures without loss pixel by pixel, others by their shapes."""

import numpy as np

from tests.golden.runner import answer, error, runs, shape

RNG = np.random.RandomState(0)
COLORS = RNG.randint(0, 256, (5, 4, 4)).astype(np.uint8)
SMOOTH = np.add.outer(np.arange(16), np.arange(24)).astype(np.uint8)[..., None] + np.array(
    [0, 60, 120], np.uint8
)


def again(tf, channels, wanted, dtype="uint8"):
    """A picture of so many channels, written to a PNG file, and read again with other ones."""
    contents = tf.image.encode_png(COLORS[..., :channels])
    return tf.image.decode_png(contents, wanted, getattr(tf, dtype))


def photo(tf):
    return tf.image.encode_jpeg(SMOOTH)


def pictures():
    for channels in (1, 2, 3, 4):
        for wanted in (0, 1, 3, 4) if channels == 1 else (0, 3, 4):
            for dtype in ("uint8", "uint16"):
                yield runs(
                    "png of %d channels as %d of %s" % (channels, wanted, dtype),
                    lambda tf, c=channels, w=wanted, d=dtype: again(tf, c, w, d),
                    times=1,
                )
    deep = RNG.randint(0, 2**16, (3, 4, 1)).astype(np.uint16)
    yield runs(
        "png of 16 bits", lambda tf: tf.image.decode_png(tf.image.encode_png(deep), dtype=tf.uint16), times=1
    )
    yield runs(
        "png by decode_image", lambda tf: tf.image.decode_image(tf.image.encode_png(COLORS[..., :3])), times=1
    )
    yield runs("png by decode_image as floats", lambda tf: tf.image.decode_image(
        tf.image.encode_png(COLORS[..., :3]), dtype=tf.float32), times=1)
    yield runs("jpeg", lambda tf: tf.shape(tf.image.decode_jpeg(photo(tf))), times=1)
    for ratio in (1, 2, 4, 8):
        yield runs(
            "jpeg divided by %d" % ratio,
            lambda tf, r=ratio: tf.shape(tf.image.decode_jpeg(photo(tf), 1, r)),
            times=1,
        )
    for word, contents in (("a photo", photo), ("gif", lambda tf: "GIF89a"), ("nothing", lambda tf: "")):
        yield runs("is_jpeg of %s" % word, lambda tf, c=contents: tf.image.is_jpeg(c(tf)), times=1)
    yield runs("extract_jpeg_shape", lambda tf: tf.image.extract_jpeg_shape(photo(tf)), times=1)
    yield runs(
        "extract_jpeg_shape as int64", lambda tf: tf.image.extract_jpeg_shape(photo(tf), tf.int64), times=1
    )
    yield runs("decode_and_crop_jpeg", lambda tf: tf.shape(
        tf.image.decode_and_crop_jpeg(photo(tf), [2, 3, 8, 9])), times=1)


def contents(tf):
    return tf.placeholder(tf.string, [], name="contents")


def names(tf):
    made = [tf.image.decode_jpeg(contents(tf)), tf.image.decode_png(contents(tf), name="png")]
    made += [tf.image.decode_gif(contents(tf)), tf.image.decode_bmp(contents(tf))]
    made += [
        tf.image.encode_png(COLORS),
        tf.image.encode_jpeg(SMOOTH),
        tf.image.extract_jpeg_shape(contents(tf)),
    ]
    return [[x.name, x.op.type, x.dtype.name] for x in made]


CASES = [
    list(pictures()),
    answer("names", names),
    shape("decode_jpeg", lambda tf: [tf.image.decode_jpeg(contents(tf), c) for c in (0, 1, 3)]),
    shape("decode_png", lambda tf: [tf.image.decode_png(contents(tf), c) for c in (0, 1, 3, 4)]),
    shape("decode_bmp", lambda tf: [tf.image.decode_bmp(contents(tf), c) for c in (0, 1, 3, 4)]),
    shape("decode_gif", lambda tf: tf.image.decode_gif(contents(tf))),
    shape("decode_image", lambda tf: tf.image.decode_image(contents(tf), 3)),
    error("decode_jpeg of other bytes", lambda tf: tf.image.decode_jpeg("junk")),
    error("decode_png of other bytes", lambda tf: tf.image.decode_png(b"\x89PNG\r\n\x1a\njunk")),
    error("decode_gif of other bytes", lambda tf: tf.image.decode_gif("GIF89ajunk")),
    error("decode_bmp of other bytes", lambda tf: tf.image.decode_bmp("BMjunk")),
    error("decode_image of other bytes", lambda tf: tf.image.decode_image("junk")),
    error("decode_jpeg of two files", lambda tf: tf.image.decode_jpeg(["a", "b"])),
    error("decode_jpeg as two channels", lambda tf: tf.image.decode_jpeg("junk", channels=2)),
    error("decode_png as two channels", lambda tf: tf.image.decode_png("junk", channels=2)),
    error("decode_png as int32", lambda tf: tf.image.decode_png("junk", dtype=tf.int32)),
    error("decode_jpeg divided by 3", lambda tf: tf.image.decode_jpeg("junk", ratio=3)),
    error("encode_png of a matrix", lambda tf: tf.image.encode_png(COLORS[..., 0])),
    error("encode_png of floats", lambda tf: tf.image.encode_png(tf.zeros([2, 2, 3]))),
    error("encode_jpeg of four channels", lambda tf: tf.image.encode_jpeg(COLORS)),
    error("encode_jpeg of no quality", lambda tf: tf.image.encode_jpeg(SMOOTH, quality=101)),
    error("decode_and_crop_jpeg outside", lambda tf: tf.image.decode_and_crop_jpeg(photo(tf), [0, 0, 99, 9])),
]
