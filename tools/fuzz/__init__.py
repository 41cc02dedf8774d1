"""Searches that go on for hours: for files, operands and programs that do harm or compute something else."""
