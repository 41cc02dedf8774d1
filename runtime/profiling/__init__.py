"""Reports of a session on its work: plans before a run, times after it.

* `kernels`: the kernels of a program, named, with their lines and what they amount to
* `shapes`: feeds given by their shape only
* `step_plan`: `Session.plan`
* `placement_log`: the device of each operation
* `times`: measured times, and what measures them on a device (`cpu/measurements/meter.py`, `gpu/meter.py`)
* `profile`: `Session.profile`, and the times of one run
* `limits`: the peak rates of a device
* `trace`: a profile as a Chrome trace, or as a TF1 message
* `roofline`: a profile as a drawing
"""
