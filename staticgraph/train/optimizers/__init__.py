"""Optimizers: from a loss to one operation that takes a training step.

`rules` is the table of update rules, for whole variables and for some of their rows. The optimizers of TF1
here and those of Keras in `tf1.keras.optimizers` are names and defaults for a rule.
"""
