"""Tables that give a value for a key (TF1's `tf.lookup`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.lookup.sources": "KeyValueTensorInitializer TextFileIndex TextFileInitializer",
        "staticgraph.tf1.lookup.tables": "StaticHashTable StaticVocabularyTable",
    },
    modules={"experimental": "staticgraph.tf1.lookup.experimental"},
)
