"""Tables that give a value for a key (TF1's `tf.lookup`)."""

from staticgraph.lookup import experimental
from staticgraph.lookup.sources import KeyValueTensorInitializer, TextFileIndex, TextFileInitializer
from staticgraph.lookup.tables import StaticHashTable, StaticVocabularyTable

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]
