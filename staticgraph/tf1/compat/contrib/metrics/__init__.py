"""`tf.contrib.metrics`: streaming metrics, points of curves, and moments over many batches."""
