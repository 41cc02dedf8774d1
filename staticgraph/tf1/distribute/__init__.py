"""Strategies of training on several devices. Their names are in `staticgraph.distribute`."""
