"""The logger of training: TensorFlow's, so that programs find it (`tf.logging`, `logging.getLogger`)."""

from __future__ import annotations

import logging

log = logging.getLogger("tensorflow")
