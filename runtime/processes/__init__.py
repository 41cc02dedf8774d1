"""Several processes that run one program together, by MPI.

`mpi.py` connects to MPI and exchanges values; `peers.py` tells the other processes of errors and compares
what they run; `channels.py` completes what was begun in a failed run; `collective_calls.py` is what an
executable with collectives needs beside its code. With `mirror.py` a failed run is looked at without the
others.
"""
