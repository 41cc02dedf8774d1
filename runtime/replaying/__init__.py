"""Runs done again by NumPy, op by op, to see what went wrong in them.

* `interpreted`: runs whose steps are interpreted
* `replay`: a failed run, and what each of its ops made; `replay_text` shows it
* `compare`: when two results are the same, as far as rounding goes
* `wrong_kernel`, `wrong_pass`: which kernel, pass or rule does not do what the ops mean
* `bisect`: what is at fault in the steps of a run; `bisect_text` shows it
"""
