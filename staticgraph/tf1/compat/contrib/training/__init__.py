"""Training as `tf.contrib.training` and `tf.contrib.slim.learning` have it: `create_train_op` and `train`."""
