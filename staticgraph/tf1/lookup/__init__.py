"""Tables that give a value for a key (TF1's `tf.lookup`)."""

from staticgraph.tf1.lookup import experimental
from staticgraph.tf1.lookup.sources import KeyValueTensorInitializer, TextFileIndex, TextFileInitializer
from staticgraph.tf1.lookup.tables import StaticHashTable, StaticVocabularyTable

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]
