"""Image files inside a graph: strings are decoded while it runs, and what follows is compiled as usual."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.image import codecs

pytest.importorskip("PIL")

PHOTO = np.add.outer(np.arange(12), np.arange(9))[..., None].astype(np.uint8) + np.array(
    [0, 50, 99], np.uint8
)


def run(fetch, **feeds):
    with sg.Session() as sess:
        return sess.run(
            fetch, {sg.get_default_graph().get_tensor_by_name(f"{k}:0"): v for k, v in feeds.items()}
        )


@pytest.fixture
def contents():
    return sg.placeholder(sg.string, [], name="contents")


def test_a_fed_file_becomes_pixels_that_the_graph_resizes(contents):
    image = sg.image.decode_png(contents, channels=3)
    assert image.shape.as_list() == [None, None, 3]
    small = sg.image.resize_images(image, [4, 3], method=sg.image.ResizeMethod.NEAREST_NEIGHBOR)
    assert small.shape.as_list() == [4, 3, 3]
    for photo in (PHOTO, PHOTO[:8]):  # files of unlike sizes go through one graph
        made = run(small, contents=codecs.encode_png(photo))
        assert np.array_equal(made, photo[:: len(photo) // 4, ::3])


@pytest.mark.parametrize("name", ["png", "jpeg"])
def test_encoding_and_decoding_in_one_graph(name):
    pixels = sg.placeholder(sg.uint8, [None, None, 3], name="pixels")
    encoded = getattr(sg.image, f"encode_{name}")(pixels)
    assert encoded.dtype is sg.string
    assert encoded.shape.as_list() == []
    made = run(getattr(sg.image, f"decode_{name}")(encoded), pixels=PHOTO)
    assert np.abs(made.astype(int) - PHOTO).max() <= (0 if name == "png" else 12)


def test_decode_image_of_any_kind(contents):
    image = sg.image.decode_image(contents, dtype=sg.float32)
    assert image.shape.ndims is None
    for encode in (codecs.encode_png, codecs.encode_jpeg):
        made = run(image, contents=encode(PHOTO))
        assert made.dtype == np.float32
        assert np.abs(made * 255 - PHOTO).max() <= 12
    assert sg.image.decode_image(contents, 1, expand_animations=False).shape.as_list() == [None, None, 1]


def test_questions_about_a_file(contents):
    shape, jpeg = sg.image.extract_jpeg_shape(contents), sg.image.is_jpeg(contents)
    part = sg.image.decode_and_crop_jpeg(contents, [2, 1, 5, 4])
    values = run([shape, jpeg, sg.shape(part)], contents=codecs.encode_jpeg(PHOTO))
    assert [value.tolist() for value in values] == [[12, 9, 3], True, [5, 4, 3]]
    assert not run(jpeg, contents=codecs.encode_png(PHOTO))


def test_bmp_gif_and_deep_png(contents):
    assert sg.image.decode_gif(contents).shape.as_list() == [None, None, None, 3]
    assert sg.image.decode_bmp(contents, 3).shape.as_list() == [None, None, 3]
    deep = np.arange(12, dtype=np.uint16).reshape(3, 4, 1) * 5000
    made = run(sg.image.decode_png(contents, dtype=sg.uint16), contents=codecs.encode_png(deep))
    assert np.array_equal(made, deep)


def test_jpeg_quality_changes_a_picture_as_it_asks():
    pixels = sg.placeholder(sg.float32, [12, 9, 3], name="pixels")
    good, bad = (sg.image.adjust_jpeg_quality(pixels, quality) for quality in (100, 5))
    assert good.shape.as_list() == [12, 9, 3]
    drawn = sg.image.random_jpeg_quality(pixels, 50, 100, seed=3)
    fed = PHOTO / np.float32(255)
    near, far, at_random = run([good, bad, drawn], pixels=fed)
    assert np.abs(near - fed).mean() < np.abs(far - fed).mean()
    assert at_random.shape == fed.shape


def test_a_bad_file_is_an_error_of_the_run(contents):
    with pytest.raises(InvalidArgumentError, match="not a JPEG file"):
        run(sg.image.decode_jpeg(contents), contents=b"no picture")


@pytest.mark.parametrize(
    "call",
    [
        lambda: sg.image.decode_jpeg("", channels=4),
        lambda: sg.image.decode_jpeg("", ratio=3),
        lambda: sg.image.decode_png("", dtype=sg.float32),
        lambda: sg.image.decode_image("", channels=2),
        lambda: sg.image.decode_image("", dtype=sg.int32),
        lambda: sg.image.extract_jpeg_shape("", sg.float32),
        lambda: sg.image.random_jpeg_quality(sg.zeros([2, 2, 3]), 90, 20),
    ],
)
def test_arguments_are_checked_when_the_graph_is_built(call):
    with pytest.raises((ValueError, TypeError), match=r"must be|not in order"):
        call()
