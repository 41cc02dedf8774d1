"""Switches: all that can be chosen from outside, by the environment, `options` or keywords of `Session`."""
