"""`tf.test`: test cases, their assertions, benchmarks and checks of gradients."""
