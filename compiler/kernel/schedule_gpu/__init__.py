"""Schedule of a GPU: how the loops of a kernel are divided among functions, blocks and threads.

`schedule.py` chooses a family for a kernel: single elements, sums, rows, scans, attention or products. Each
has a folder, which recognises its form, decides by the numbers of a `GpuMachine`, and makes a value of its
own kind of `FunctionSchedule` (`function.py`). `codegen/cuda/print.py` prints it.
"""
