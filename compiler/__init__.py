"""The compiler: from the user's graph to the text of kernels. It needs no device and runs no kernel."""

import time

LOADED = time.time()  # sources that were changed after that are not what this process runs

if __name__ != "staticgraph.compiler":  # a second name would make a second copy of every class in here
    raise ImportError(f"import this package as staticgraph.compiler, not as {__name__}")
