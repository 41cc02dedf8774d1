"""Schedule of a CPU: the order of the loops of a kernel, its vector lanes, and the shares of its threads.

`row_schedule.py` makes loops of what a group computes, `schedule.py` orders and vectorizes them,
`share_out.py` cuts them into chunks for threads and `parallelize.py` puts these in phases, and `vectorize.py`
aligns what is left.
`compiler/generate.py` calls them in this order.
"""
