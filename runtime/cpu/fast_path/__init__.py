"""The fast path: native code that runs a known step without Python in between.

Machine code finds the callable of what is to be run (`known_runs`, `inline_cache`), and reads its record
(`call_record`). Whatever it cannot do falls back to `CachedRun` in `cached_run.py`.
"""
