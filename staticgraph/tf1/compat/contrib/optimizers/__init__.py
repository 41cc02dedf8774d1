"""`tf.contrib.opt` and its kin: rules of their own, wrappers, SciPy's minimizers, scaled losses."""
