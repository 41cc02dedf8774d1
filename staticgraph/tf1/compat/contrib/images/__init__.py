"""`tf.contrib.image` and `tf.contrib.resampler`: images moved, turned and bent."""
