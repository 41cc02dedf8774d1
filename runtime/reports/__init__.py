"""Reports: tables and progress on the terminal, dumps of compiles, and the reason of each compile."""
