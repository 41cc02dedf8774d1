"""The runtime: compiled programs become machine code here, get their memory, and run."""

if __name__ != "staticgraph.runtime":  # a second name would make a second copy of every class in here
    raise ImportError(f"import this package as staticgraph.runtime, not as {__name__}")
