"""Layers of `tf.contrib.layers` that convolve, normalize, or reduce or mix channels."""
