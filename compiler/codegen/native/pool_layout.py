"""Layout of the words of a thread pool, for its native functions (pool.py) and for code that makes one."""

from __future__ import annotations

MOST_WORKERS = 255

# Where the words of a pool are, in bytes. What different threads write lies 128 bytes apart: processors load
# cache lines in pairs.
LAYOUT = {
    "run": 0,  # the address of `run`, for the code of steps
    "ready": 8,  # whether all workers have been started
    "claim": 128,
    "done": 256,  # how many chunks of the phase are finished
    "work": 384, "table": 392, "counts": 400,  # the region
    "first": 408, "last": 412,  # its first ticket, and the first one after it
    "most": 416,  # chunks of it that one claim takes
    "busy": 512,  # whether there is a region
    "slept": 520,  # ns of work since the last wake, done while workers slept
    "limit": 640,  # workers with this number or a higher one leave
    "sleepers": 768, "wakes": 776,  # how many workers sleep, and how often they were woken
    "mutex": 896, "condition": 1152,  # 256 bytes each: more than any system needs
    "private": 1408,  # scratch memory: an address per worker
    "threads": 1408 + 8 * MOST_WORKERS,  # what the system calls each worker; 0 if that is not known
    "usable": 1408 + 16 * MOST_WORKERS,  # the processors that workers may use: a bit of 128 bytes for each
}  # fmt: skip
POOL_BYTES = LAYOUT["usable"] + 128
RUN, READY, CLAIM, LIMIT, SLEEPERS, PRIVATE, THREADS = (  # their numbers, as words of 8 bytes
    LAYOUT[name] // 8 for name in ("run", "ready", "claim", "limit", "sleepers", "private", "threads")
)
TICKET = LAYOUT["last"] // 4  # that of the next region, in 4 bytes
