"""Operations on their way into a GraphDef, derivatives and loops taken apart. `export.py` is the entry."""
