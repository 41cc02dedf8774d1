"""The command line, `python -m staticgraph`: a file for each command.

A command is a module with `add(commands)`, which describes its arguments and sets the function that runs it.
"""
