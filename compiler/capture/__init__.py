"""Capture: from the operations of the user's graph to the Function of one step.

Shapes are fixed, state becomes arguments and results, derivatives are taken. `capture.capture` is the entry;
the runtime asks for a `Step` by it, and nothing after the capture sees the user's graph. In the order of the
data's way:

    step                the question: fetches, feeds, and what is known of them; the answer: a step, or what
                        must be known first
    segments            what Python does, before or after the step
    prune               the operations that the fetches need
    walk                the operations in order of construction, each by its rule, and what they change
    rules/              the rule of each operation that does more than compute:
        operations      ops that only compute; shapes and axes, which must be known
        states, arrays, effects, host
        region_walk, loops, branches   regions as Functions
        derivatives                    gradients
    capture             the walk from its beginning to the step
    step_digest         the name of a step on a disk
    nan_guard, feed_checks     steps that test what they are given and what they make
"""
