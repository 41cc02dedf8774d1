"""Strings in a graph, with TensorFlow 1's names: `sg.strings`.

They are computed in Python, beside the compiled step. A string is bytes; texts of Python's become UTF-8.
 Made by tools/type_stubs.py."""

from staticgraph.domains.strings.hashes import (
    to_hash_bucket as to_hash_bucket,
    to_hash_bucket_fast as to_hash_bucket_fast,
    to_hash_bucket_strong as to_hash_bucket_strong,
)
from staticgraph.domains.strings.parts import (
    bytes_split as bytes_split,
    format as format,
    reduce_join as reduce_join,
    split as split,
    unsorted_segment_join as unsorted_segment_join,
)
from staticgraph.domains.strings.patterns import (
    regex_full_match as regex_full_match,
    regex_replace as regex_replace,
)
from staticgraph.domains.strings.text import (
    as_string as as_string,
    join as join,
    length as length,
    lower as lower,
    strip as strip,
    substr as substr,
    to_number as to_number,
    upper as upper,
)
from staticgraph.domains.strings.unicode import (
    unicode_decode as unicode_decode,
    unicode_decode_with_offsets as unicode_decode_with_offsets,
    unicode_encode as unicode_encode,
    unicode_split as unicode_split,
    unicode_split_with_offsets as unicode_split_with_offsets,
    unicode_transcode as unicode_transcode,
)
from staticgraph.domains.strings.windows import (
    ngrams as ngrams,
)
