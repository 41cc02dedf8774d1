"""Boxes at random in an image, for crops that augment training data: the same seeds give the same boxes."""

import numpy as np

from tests.golden.runner import error, runs

TWO = [[[0.1, 0.2, 0.6, 0.7], [0.5, 0.5, 0.9, 0.8]]]
WHOLE = [[[0.0, 0.0, 1.0, 1.0]]]


def crops(size, boxes=None, open_size=False, dtype="int32", **options):
    """Crops of an image. None is no boxes; with `open_size`, their number is not known."""

    def build(tf):
        given = tf.constant(np.zeros([1, 0, 4]) if boxes is None else boxes, tf.float32)
        if open_size:
            given = tf.placeholder_with_default(given, [None, None, 4])
        image = tf.constant(size, dtype)
        return list(tf.image.sample_distorted_bounding_box(image, given, **options))

    return build


CASES = [
    [runs("%s, %s" % (name, "open" if is_open else "known"), crops(*args, open_size=is_open, **options),
          times=12, exact=True)
     for is_open in (False, True)
     for name, args, options in (
         ("two objects", ([32, 40, 3], TWO), {"seed": 3}),
         ("no object", ([50, 60, 3],), {"seed": 1, "use_image_if_no_bounding_boxes": True}),
         ("as Inception does", ([333, 500, 3],),
          {"seed": 7, "area_range": [0.08, 1.0], "aspect_ratio_range": [0.75, 1.33],
           "use_image_if_no_bounding_boxes": True}),
         ("a wide image", ([7, 300, 1], WHOLE),
          {"seed": 5, "aspect_ratio_range": [0.2, 4.0], "area_range": [0.3, 0.6], "min_object_covered": 0.3,
           "max_attempts": 10}),
         ("an object that is rarely covered", ([100, 100, 3], [[[0.9, 0.9, 0.95, 0.95]]]),
          {"seed": 9, "min_object_covered": 1.0, "max_attempts": 20, "area_range": [0.05, 0.2]}),
         ("an object without area", ([64, 64, 3], [[[0.2, 0.2, 0.2, 0.2]]]), {"seed": 2}),
         ("two images", ([224, 224, 3], [*WHOLE, [[0.25, 0.25, 0.5, 0.5]]]),
          {"seed": 11, "area_range": [0.9, 1.0], "aspect_ratio_range": [1.0, 1.0],
           "min_object_covered": 0.0}),
         ("int64", ([32, 40, 3], TWO), {"dtype": "int64", "seed2": 8}),
     )],
    [error("%s, %s" % (name, "open" if is_open else "known"), crops(*args, open_size=is_open, **options))
     for is_open in (False, True)
     for name, args, options in (
         ("no boxes", ([9, 9, 3],), {}),
         ("outside", ([9, 9, 3], [[[0.0, 0.0, 1.0, 1.5]]]), {}),
         ("NaN", ([9, 9, 3], [[[0.0, float("nan"), 1.0, 1.0]]]), {}),
         ("negative height", ([-1, 9, 3], WHOLE), {}),
         ("negative part", ([9, 9, 3], WHOLE), {"min_object_covered": -0.5}),
         ("part of NaN", ([9, 9, 3], WHOLE), {"min_object_covered": float("nan")}),
     )],
    [error(name, crops([9, 9, 3], WHOLE, **options)) for name, options in (
        ("no attempts", {"max_attempts": 0}),
        ("an area above 1", {"area_range": [0.5, 1.5]}),
        ("a negative ratio", {"aspect_ratio_range": [-1.0, 1.0]}),
    )],
    error("two sizes", crops([9, 9], WHOLE)),
]  # fmt: skip
