"""The dashboard of `python -m staticgraph watch`: curves of trainings in a browser, while they run and later.

Event files are the source. `records.py` follows the records of a file that grows, `events.py` decodes many of
them at once, and `runs.py` sorts them by run and tag. `answers.py` answers what the page asks, with no more
points than it has pixels. `server.py` and `page.py` show it: the one live, the other as a file to send.
"""
