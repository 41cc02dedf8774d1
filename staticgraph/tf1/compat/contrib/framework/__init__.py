"""`tf.contrib.framework`: scopes of arguments, variables of models, checks of shapes, and of graphs."""
