"""Reports: tables and progress on the terminal, dumps of compiles, the reason of each compile, and lines
that add to the graph between runs.
"""
