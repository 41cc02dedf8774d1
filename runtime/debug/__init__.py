"""Debugging: a run done again by NumPy, op by op, to see what went wrong in it.

* `crash_file`: a run that failed, in a file; `replay` does it again, `replay_text` shows it
* `compare`: when two results are the same
* `wrong_kernel`, `wrong_stage`, `wrong_pass`, `bisect`: which kernel, stage, pass or rule is at fault;
  `bisect_text` shows it
"""
