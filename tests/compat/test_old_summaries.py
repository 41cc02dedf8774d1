"""Summaries in the words of the first releases of TensorFlow: a tag is what it is called."""

import numpy as np

import staticgraph.compat.tf1 as tf


def test_tags_are_kept_as_they_are():
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.name_scope("net"):
            loss = tf.scalar_summary("my loss: %", 0.5, name="loss")
            tf.histogram_summary("weights", [1.0, 2.0])
            tf.image_summary("digits", np.zeros([2, 4, 4, 1], np.float32), max_images=1)
            tf.audio_summary("beep", np.zeros([1, 8], np.float32), 8000)
        merged = tf.merge_all_summaries()
        assert loss.name == "net/loss:0"
        found = tf.Summary.FromString(sess.run(merged))
    assert [value.tag for value in found.value] == ["my loss: %", "weights", "digits/image", "beep/audio/0"]


def test_a_part_of_the_summaries_in_a_collection():
    with tf.Graph().as_default(), tf.Session() as sess:
        first = tf.scalar_summary("a", 1.0, collections=["mine"])
        second = tf.scalar_summary("b", 2.0)
        assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [second]
        both = tf.merge_summary([first, second], collections=["mine"])
        assert tf.get_collection("mine") == [first, both]
        assert [value.tag for value in tf.Summary.FromString(sess.run(both)).value] == ["a", "b"]
