"""State of a session, all that outlives a run: values of variables, and resources such as queues.

A run changes it once, when it has succeeded: see `variables.py`.
"""
