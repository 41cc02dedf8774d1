"""The runtime: compiled programs become machine code here, get their memory, and run.

`session.py` -> `cached_run.py` -> `program_cache.py` -> `executable.py` is the way of a run.
`step_compiler.py` compiles what is new. `backend.py` says what a device does; each device is a folder.
"""

if __name__ != "staticgraph.runtime":  # a second name would make a second copy of every class in here
    raise ImportError(f"import this package as staticgraph.runtime, not as {__name__}")
