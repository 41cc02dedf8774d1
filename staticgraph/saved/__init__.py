"""Files that a user saves and loads: whole graphs (`saving.py`), and weights alone (`weights.py`).

`staticgraph/runtime/files/` reads and writes them; other projects' formats are in `staticgraph/formats/`.
"""
