"""Queues, readers, files and tables under the names that they have in `sg` itself: `sg.FIFOQueue`..."""

from staticgraph.io.readers import (
    FixedLengthRecordReader,
    IdentityReader,
    ReaderBase,
    TextLineReader,
    TFRecordReader,
    WholeFileReader,
)
from staticgraph.io.whole_files import matching_files, read_file, write_file
from staticgraph.state.counting import count_up_to
from staticgraph.tf1.lookup.tables import tables_initializer
from staticgraph.tf1.queue import FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue

__all__ = [
    "FIFOQueue", "FixedLengthRecordReader", "IdentityReader", "PaddingFIFOQueue", "PriorityQueue",
    "QueueBase", "RandomShuffleQueue", "ReaderBase", "TFRecordReader", "TextLineReader", "WholeFileReader",
    "count_up_to", "matching_files", "read_file", "tables_initializer",
    "write_file",
]  # fmt: skip
