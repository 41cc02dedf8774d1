"""Schedule of a CPU: the order of the loops of a kernel, its vector lanes, and the shares of its threads.

`row_schedule.py` makes loops of what a group computes, `schedule.py` orders and vectorizes them and cuts them
into chunks for threads, with `parallelize.py`, and `vectorize.py` aligns what is left.
`compiler/generate.py` calls them in this order.
"""
