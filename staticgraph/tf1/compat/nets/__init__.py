"""Nets for images of `tf.contrib.slim.nets`, as tables of their layers."""
