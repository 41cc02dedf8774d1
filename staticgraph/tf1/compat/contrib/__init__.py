"""`tf.contrib`, as far as programs use it: layers, learn, metrics, optimizers."""
