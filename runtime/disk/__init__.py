"""Disk: files that are replaced as a whole or not at all, and the cache of compiled code.

Entries of the cache are executed: `private_folder` sees to it that they are the user's own.
"""
