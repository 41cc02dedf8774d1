"""The pipelines, each a function of a library and a folder for its files that returns a batch as tensors."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

SIZE = 32  # elements of a batch
ENDLESS = 10**7
DEFAULTS = [[0], [0.0], [""], [0.0]]


def written(folder: str, name: str, data: bytes) -> str:
    """The path of a file with these contents."""
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def csv(folder: str) -> str:
    rows = ("%d,%f,%s,%f\n" % (i, i * 0.5, "abc", i * 0.25) for i in range(3000))
    return written(folder, "table.csv", "".join(rows).encode())


def records(tf: Any, folder: str) -> str:
    """A file of training examples."""
    path = os.path.join(folder, "examples.tfrecord")
    made = tf.train
    with tf.python_io.TFRecordWriter(path) as writer:
        for i in range(2000):
            features = {
                "x": made.Feature(float_list=made.FloatList(value=np.arange(20.0) + i)),
                "y": made.Feature(int64_list=made.Int64List(value=[i % 10])),
                "s": made.Feature(bytes_list=made.BytesList(value=[b"hello"])),
            }
            example = made.Example(features=made.Features(feature=features))
            writer.write(example.SerializeToString(deterministic=True))
    return path


def features(tf: Any) -> dict[str, Any]:
    of = tf.FixedLenFeature
    return {"x": of([20], tf.float32), "y": of([], tf.int64), "s": of([], tf.string)}


def image(tf: Any, folder: str, kind: str) -> str:
    pixels = np.kron(np.random.RandomState(0).randint(0, 255, (12, 12, 3)), np.ones((8, 8, 1)))
    with tf.Graph().as_default(), tf.Session() as session:
        encode = tf.image.encode_png if kind == "png" else tf.image.encode_jpeg
        return written(folder, "image." + kind, session.run(encode(pixels.astype(np.uint8))))


def batch(dataset: Any, size: int = SIZE) -> Any:
    return dataset.batch(size).make_one_shot_iterator().get_next()


def slices(tf: Any) -> Any:
    images = np.random.RandomState(0).randn(2000, 28, 28, 1).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((images, np.arange(2000) % 10))


def lines(tf: Any, folder: str) -> Any:
    return tf.data.TextLineDataset(csv(folder)).repeat()


def numbers(tf: Any, folder: str) -> Any:
    return batch(tf.data.Dataset.range(ENDLESS).map(lambda x: x * 2 + 1))


def filtered(tf: Any, folder: str) -> Any:
    return batch(tf.data.Dataset.range(ENDLESS).filter(lambda x: tf.equal(x % 2, 0)))


def flat_mapped(tf: Any, folder: str) -> Any:
    return batch(tf.data.Dataset.range(ENDLESS).flat_map(lambda x: tf.data.Dataset.range(x, x + 4)))


def interleaved(tf: Any, folder: str) -> Any:
    def inner(i: Any) -> Any:
        return tf.data.Dataset.range(1000).map(lambda j: i * j)

    return batch(tf.data.Dataset.range(ENDLESS).interleave(inner, cycle_length=4, block_length=2))


def shuffled(tf: Any, folder: str) -> Any:
    return batch(slices(tf).shuffle(1000, seed=5).repeat())


def augmented(tf: Any, folder: str) -> Any:
    def changed(x: Any, y: Any) -> Any:
        crop = tf.random_crop(x, [24, 24, 1], seed=1)
        return tf.image.random_flip_left_right(crop, seed=2), tf.one_hot(y, 10)

    return batch(slices(tf).repeat().map(changed))


def zipped(tf: Any, folder: str) -> Any:
    a = tf.data.Dataset.range(ENDLESS)
    both = tf.data.Dataset.zip((a, a.map(lambda x: tf.cast(x, tf.float32))))
    return both.skip(5).take(ENDLESS).batch(SIZE).prefetch(2).make_one_shot_iterator().get_next()


def padded(tf: Any, folder: str) -> Any:
    made = tf.data.Dataset.range(ENDLESS).map(lambda i: tf.fill([i % 10 + 1], i))
    return made.padded_batch(SIZE, [None]).make_one_shot_iterator().get_next()


def generated(tf: Any, folder: str) -> Any:
    def rows() -> Any:
        for i in range(ENDLESS):
            yield np.full(10, i, np.float32), i

    return batch(tf.data.Dataset.from_generator(rows, (tf.float32, tf.int64), ([10], [])))


def windows(tf: Any, folder: str) -> Any:
    made = tf.data.Dataset.range(ENDLESS).window(5, shift=1, drop_remainder=True)
    return batch(made.flat_map(lambda w: w.batch(5)))


def text_lines(tf: Any, folder: str) -> Any:
    return batch(lines(tf, folder))


def decoded_csv(tf: Any, folder: str) -> Any:
    return batch(lines(tf, folder).map(lambda line: tf.decode_csv(line, DEFAULTS)))


def split_lines(tf: Any, folder: str) -> Any:
    def words(line: Any) -> Any:
        return tf.string_to_hash_bucket_fast(tf.string_split([line], ",").values, 1000)

    made = lines(tf, folder).map(words)
    return made.padded_batch(SIZE, [None]).make_one_shot_iterator().get_next()


def tfrecords(tf: Any, folder: str) -> Any:
    return batch(tf.data.TFRecordDataset(records(tf, folder)).repeat())


def parsed(tf: Any, folder: str) -> Any:
    made = tf.data.TFRecordDataset(records(tf, folder)).repeat()
    return batch(made.map(lambda record: tf.parse_single_example(record, features(tf))))


def parsed_batches(tf: Any, folder: str) -> Any:
    made = tf.data.TFRecordDataset(records(tf, folder)).repeat().batch(SIZE)
    return made.map(lambda r: tf.parse_example(r, features(tf))).make_one_shot_iterator().get_next()


def fixed_length(tf: Any, folder: str) -> Any:
    path = written(folder, "fixed.bin", (np.arange(100000) % 251).astype(np.uint8).tobytes())
    made = tf.data.FixedLengthRecordDataset(path, 100).repeat()
    return batch(made.map(lambda record: tf.decode_raw(record, tf.uint8)))


def images(kind: str) -> Callable[[Any, str], Any]:
    def made(tf: Any, folder: str) -> Any:
        def decoded(name: Any) -> Any:
            decode = tf.image.decode_png if kind == "png" else tf.image.decode_jpeg
            pixels = tf.image.resize_images(decode(tf.read_file(name), channels=3), [72, 72])
            return tf.random_crop(pixels, [64, 64, 3], seed=1) / 255.0

        return batch(tf.data.Dataset.from_tensors(image(tf, folder, kind)).repeat().map(decoded), 8)

    return made


def queue_of_csv(tf: Any, folder: str) -> Any:
    names = tf.train.string_input_producer([csv(folder)])
    fields = tf.decode_csv(tf.TextLineReader().read(names)[1], DEFAULTS)
    return tf.train.shuffle_batch(fields[:2], SIZE, 500, 100)


def queue_of_records(tf: Any, folder: str) -> Any:
    names = tf.train.string_input_producer([records(tf, folder)])
    found = tf.parse_single_example(tf.TFRecordReader().read(names)[1], features(tf))
    return tf.train.shuffle_batch([found["x"], found["y"]], SIZE, 500, 100)


WORKS: dict[str, Callable[[Any, str], Any]] = {
    "range_map": numbers,
    "filter": filtered,
    "flat_map": flat_mapped,
    "interleave": interleaved,
    "shuffle": shuffled,
    "augment": augmented,
    "zip_prefetch": zipped,
    "padded_batch": padded,
    "generator": generated,
    "window": windows,
    "lines": text_lines,
    "csv": decoded_csv,
    "split": split_lines,
    "tfrecord": tfrecords,
    "parse_single": parsed,
    "parse_batch": parsed_batches,
    "fixed_length": fixed_length,
    "png": images("png"),
    "jpeg": images("jpeg"),
    "queue_csv": queue_of_csv,
    "queue_records": queue_of_records,
}
