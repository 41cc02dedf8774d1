"""Layers of `tf.contrib.layers` that reduce or mix channels, normalize, or have separable kernels."""
