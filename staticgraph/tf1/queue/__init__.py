"""Queues that threads fill and empty while they run the same session (TF1's `tf.queue`)."""

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.queue.base import QueueBase
from staticgraph.tf1.queue.kinds import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"]

show_public_names(__name__)
