"""Data sets of slim: what is refused as in TensorFlow 1.15. The script `slim_data.py` has the rest."""

import pytest

import staticgraph.compat.tf1 as tf
from staticgraph.tf1.compat.slim_data import decoders, providers, readers


def test_modules_are_those_of_slim():
    slim = tf.contrib.slim
    assert slim.tfexample_decoder.TFExampleDecoder is decoders.TFExampleDecoder
    assert slim.dataset_data_provider.DatasetDataProvider is providers.DatasetDataProvider
    assert slim.prefetch_queue.prefetch_queue is readers.prefetch_queue


def test_what_does_not_fit_is_refused(tmp_path):
    with pytest.raises(ValueError, match="No data files found"):
        readers.get_data_files(str(tmp_path / "*.tfrecord"))
    with pytest.raises(ValueError, match="expects 4 keys but got 2"):
        decoders.BoundingBox(["top", "left"])
    with pytest.raises(ValueError, match="both shape_keys and shape"):
        decoders.Tensor("a", shape_keys="b", shape=[2])
    with pytest.raises(ValueError, match="Backup handler"):
        decoders.BackupHandler(decoders.Tensor("a"), "b")
    with pytest.raises(TypeError, match="must be"):
        readers.ParallelReader(tf.TFRecordReader, tf.FIFOQueue(2, [tf.string, tf.int64]))
    with pytest.raises(ValueError, match="no_such"):
        providers.DataProvider({"image": tf.zeros([])}, 1).get(["no_such"])
