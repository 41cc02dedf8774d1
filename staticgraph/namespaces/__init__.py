"""Public names: tables of the modules that have them, and the small namespaces `math`, `random`, `bitwise`.

`public_names.py` is the table of `sg`, `public_paths.py` that of its modules. `methods.py` adds
to what lower layers define.
"""
