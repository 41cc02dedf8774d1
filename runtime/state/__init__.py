"""State of a session, all that outlives a run: values of variables, resources such as queues, and memory.

A run changes it once, when it has succeeded: see `variables.py`.
"""
