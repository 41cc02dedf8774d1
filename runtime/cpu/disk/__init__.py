"""Programs and kernels of a processor on disk: compiled or generated once, perhaps by another process.

`disk_cache.py` finds and stores programs, `loaded_program.py` is one that was found, and `kernel_text.py`
keeps the text of single kernels.
"""
