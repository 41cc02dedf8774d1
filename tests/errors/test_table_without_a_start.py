"""The initializer was not run."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
hash_table_Lookup/LookupTableFindV2 (LookupTableFindV2): Table not initialized.

  test_table_without_a_start.py, in test_message
    |     number = sg.lookup.StaticHashTable(words, 0).lookup(sg.constant("a"))
    |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: run tables_initializer() first
"""


def test_message():
    words = sg.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    number = sg.lookup.StaticHashTable(words, 0).lookup(sg.constant("a"))
    with sg.Session() as sess:
        told = message(sg.errors.FailedPreconditionError, lambda: sess.run(number))
    assert told == EXPECTED
