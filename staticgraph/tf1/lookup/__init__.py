"""Tables that give a value for a key (TF1's `tf.lookup`)."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.lookup import experimental
from staticgraph.tf1.lookup.sources import *
from staticgraph.tf1.lookup.tables import StaticHashTable as StaticHashTable
from staticgraph.tf1.lookup.tables import StaticVocabularyTable as StaticVocabularyTable

export_names(__name__, "experimental")
