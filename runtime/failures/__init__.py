"""Failures: why a run was refused, found by doing it once more, and told with the user's line.

`checked_step`, `unmet` and `owner` are about indices out of range, `not_finite` and `nan_locator` about NaN.
`crash_dump` keeps runs that fail; what reads such files is in `debug`.
"""
