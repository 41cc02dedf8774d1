"""Strings in a graph, with TensorFlow 1's names: `sg.strings`.

They are computed in Python, beside the compiled step. A string is bytes; texts of Python's become UTF-8.
"""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.domains.strings.hashes": "to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong",
        "staticgraph.domains.strings.windows": "ngrams",
        "staticgraph.domains.strings.parts": "bytes_split format reduce_join split unsorted_segment_join",
        "staticgraph.domains.strings.patterns": "regex_full_match regex_replace",
        "staticgraph.domains.strings.text": "as_string join length lower strip substr to_number upper",
        "staticgraph.domains.strings.unicode": (
            "unicode_decode unicode_decode_with_offsets unicode_encode unicode_split "
            "unicode_split_with_offsets unicode_transcode"
        ),
    },
)
