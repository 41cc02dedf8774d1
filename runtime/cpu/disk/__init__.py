"""Programs and kernels of a processor on disk: compiled or generated once, perhaps by another process.

`disk_cache.py` finds and stores programs, and the text of single kernels; `loaded_program.py` is a
program that was found.
"""
