"""Work whose sizes change from step to step, and cold first steps: ours and peers in fresh processes.

`stories.py` has the rows, `nets.py` their nets, a `*_side.py` each the operations of a framework, `worker.py`
runs one story of one row, and `group.py` all of them. All but `group.py` also run under Python 3.7, where
TensorFlow 1.15 lives.
"""
