"""`tf.contrib.learn`: estimators as they were before `tf.estimator`, and experiments with them."""
