"""Steps for GPUs: `compile.py` runs the stages for one, and `compile_open.py` does where sizes are open.

`step.py` is what they make; `step_open.py` compiles what has to know a size when that is known.
"""
