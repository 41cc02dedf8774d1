"""Capture: from the operations of the user's graph to the Function of one step.

Shapes are fixed, state becomes arguments and results, derivatives are taken. `capture.capture` is the entry;
the runtime asks for a `Step` by it, and nothing after the capture sees the user's graph.
"""
