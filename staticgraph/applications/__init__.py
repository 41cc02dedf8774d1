"""Programs around the framework: the command line, notebooks, the dashboard, and training without code.

Nothing else imports them, so each may use all the rest.
"""
