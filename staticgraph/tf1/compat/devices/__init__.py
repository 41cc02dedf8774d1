"""Devices: those of this machine, their names, and `tf.config`."""
