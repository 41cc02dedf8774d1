"""`TestCase` by the path that it had once: tests of users import it from here. It is that of `tf.test`."""

from staticgraph.tf1.compat.testing.cases import TestCase

__all__ = ["TestCase"]
