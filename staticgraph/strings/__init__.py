"""Strings in a graph, with TensorFlow 1's names: `sg.strings`.

They are computed in Python, beside the compiled step. A string is bytes; texts of Python's become UTF-8.
"""

from staticgraph.strings.hashes import to_hash_bucket, to_hash_bucket_fast, to_hash_bucket_strong
from staticgraph.strings.parts import bytes_split, format, reduce_join, split, unsorted_segment_join
from staticgraph.strings.patterns import regex_full_match, regex_replace
from staticgraph.strings.text import as_string, join, length, lower, strip, substr, to_number, upper
from staticgraph.strings.unicode import (
    unicode_decode,
    unicode_decode_with_offsets,
    unicode_encode,
    unicode_split,
    unicode_split_with_offsets,
    unicode_transcode,
)

__all__ = [
    "as_string", "bytes_split", "format", "join", "length", "lower", "reduce_join", "regex_full_match",
    "regex_replace", "split", "strip", "substr", "to_hash_bucket", "to_hash_bucket_fast",
    "to_hash_bucket_strong", "to_number", "unicode_decode", "unicode_decode_with_offsets", "unicode_encode",
    "unicode_split", "unicode_split_with_offsets", "unicode_transcode", "unsorted_segment_join", "upper",
]  # fmt: skip
