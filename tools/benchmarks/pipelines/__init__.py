"""Input pipelines against TensorFlow 1.15: the CPU time of a batch, for each kind of pipeline.

`group.py` runs them. `works.py` and `worker.py` are the same program for both libraries, and also run in
Python 3.7, where TensorFlow 1.15 lives.
"""
