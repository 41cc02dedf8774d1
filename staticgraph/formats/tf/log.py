"""The logger of training: TensorFlow's, so that programs find it (`tf.logging`, `logging.getLogger`)."""

import logging

log = logging.getLogger("tensorflow")
