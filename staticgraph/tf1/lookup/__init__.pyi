"""Tables that give a value for a key (TF1's `tf.lookup`). Made by tools/type_stubs.py."""

from staticgraph.tf1.lookup import (
    experimental as experimental,
)
from staticgraph.tf1.lookup.sources import (
    KeyValueTensorInitializer as KeyValueTensorInitializer,
    TextFileIndex as TextFileIndex,
    TextFileInitializer as TextFileInitializer,
)
from staticgraph.tf1.lookup.tables import (
    StaticHashTable as StaticHashTable,
    StaticVocabularyTable as StaticVocabularyTable,
)
