"""`tf.test.mock`: Python's own module of that name."""

from unittest import mock
from unittest.mock import *  # noqa: F403

__all__ = [*mock.__all__]
