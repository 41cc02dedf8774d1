"""Tables that give a value for a key (TF1's `tf.lookup`)."""

from staticgraph.compiler.support.lazy_names import names_of_modules
from staticgraph.tf1.lookup import experimental
from staticgraph.tf1.lookup.sources import *
from staticgraph.tf1.lookup.tables import StaticHashTable, StaticVocabularyTable

__all__ = [*names_of_modules(__name__), "experimental"]
