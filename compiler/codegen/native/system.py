"""System functions of the thread pool as LLVM text: waiting, sleeping and waking, choosing processors.

The text names the words of a pool, as `%at.mutex`: see pool_layout.py.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class System:
    """The calls that stand for words of the pool's text, and the functions that they need."""

    words: dict[str, str]
    declarations: tuple[str, ...]
    helpers: tuple[str, ...]


def system_of(target: CpuTarget) -> System:
    """The system that a target's triple names.

    >>> system_of(CpuTarget("aarch64-apple-darwin", "", "", "", 16)).words["pause"]
    'call void @llvm.aarch64.hint(i32 1)'
    """
    if "windows" in target.triple:
        calls, functions = _WINDOWS, _WINDOWS_FUNCTIONS
    else:
        calls, functions = _POSIX, _POSIX_FUNCTIONS
    pause, hint = _PAUSES.get(target.triple.partition("-")[0], ("", ""))
    needed = (*functions, hint) if hint else functions
    if "linux" in target.triple:
        return System({**calls, **_LINUX, "pause": pause}, needed + _LINUX_FUNCTIONS, (_SCATTER,))
    return System({**calls, **dict.fromkeys(_LINUX, ""), "pause": pause}, needed, ())


# What tells a processor that a thread waits, and its declaration.
_X86 = "call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"
_ARM = "call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"
_PAUSES = {"x86_64": _X86, "aarch64": _ARM, "arm64": _ARM}

_POSIX_FUNCTIONS: tuple[str, ...] = (
    "declare i32 @pthread_mutex_init(ptr, ptr)",
    "declare i32 @pthread_cond_init(ptr, ptr)",
    "declare i32 @pthread_mutex_lock(ptr)",
    "declare i32 @pthread_mutex_unlock(ptr)",
    "declare i32 @pthread_cond_wait(ptr, ptr)",
    "declare i32 @pthread_cond_broadcast(ptr)",
    "declare i32 @sched_yield()",
)
_POSIX = {
    "make_mutex": "call i32 @pthread_mutex_init(ptr %at.mutex, ptr null)",
    "make_condition": "call i32 @pthread_cond_init(ptr %at.condition, ptr null)",
    "lock": "call i32 @pthread_mutex_lock(ptr %at.mutex)",
    "unlock": "call i32 @pthread_mutex_unlock(ptr %at.mutex)",
    "sleep": "call i32 @pthread_cond_wait(ptr %at.condition, ptr %at.mutex)",
    "wake_all": "call i32 @pthread_cond_broadcast(ptr %at.condition)",
    "offer": "call i32 @sched_yield()",
}

_WINDOWS_FUNCTIONS: tuple[str, ...] = (
    "declare void @InitializeSRWLock(ptr)",
    "declare void @InitializeConditionVariable(ptr)",
    "declare void @AcquireSRWLockExclusive(ptr)",
    "declare void @ReleaseSRWLockExclusive(ptr)",
    "declare i32 @SleepConditionVariableSRW(ptr, ptr, i32, i32)",
    "declare void @WakeAllConditionVariable(ptr)",
    "declare i32 @SwitchToThread()",
)
_WINDOWS = {
    "make_mutex": "call void @InitializeSRWLock(ptr %at.mutex)",
    "make_condition": "call void @InitializeConditionVariable(ptr %at.condition)",
    "lock": "call void @AcquireSRWLockExclusive(ptr %at.mutex)",
    "unlock": "call void @ReleaseSRWLockExclusive(ptr %at.mutex)",
    "sleep": "call i32 @SleepConditionVariableSRW(ptr %at.condition, ptr %at.mutex, i32 -1, i32 0)",
    "wake_all": "call void @WakeAllConditionVariable(ptr %at.condition)",
    "offer": "call i32 @SwitchToThread()",
}

_LINUX = {
    "scatter": "call void @scatter(ptr %pool)",
    "roam": "call i32 @sched_setaffinity(i32 0, i64 128, ptr %at.usable)",
}
_LINUX_FUNCTIONS = (
    "declare i32 @sched_getcpu()",
    "declare i32 @sched_getaffinity(i32, i64, ptr)",
    "declare i32 @sched_setaffinity(i32, i64, ptr)",
)

# Linux likes to wake a thread on the processor of the one that wakes it. There it would wait until the master
# has finished, or for some milliseconds, while another processor is idle. So workers are kept away from it
# when they are woken, but not longer: the master may come to their processor, and then one of the two moves.
_SCATTER = """\
define internal void @scatter(ptr %pool) nounwind {
entry:
  %mask = alloca [128 x i8], align 8
  %cpu = call i32 @sched_getcpu()
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr %at.usable)
  %asked = icmp eq i32 %failed, 0
  %small = icmp ult i32 %cpu, 1024
  %usable = and i1 %asked, %small
  br i1 %usable, label %exclude, label %return
exclude:
  %all = load <16 x i64>, ptr %at.usable, align 8
  store <16 x i64> %all, ptr %mask, align 8
  %byte = lshr i32 %cpu, 3
  %part = getelementptr i8, ptr %mask, i32 %byte
  %bits = load i8, ptr %part
  %place32 = and i32 %cpu, 7
  %place = trunc i32 %place32 to i8
  %bit = shl i8 1, %place
  %others = xor i8 %bit, -1
  %left = and i8 %bits, %others
  store i8 %left, ptr %part
  %count = load atomic i64, ptr %at.limit monotonic, align 8
  br label %next
next:
  %worker = phi i64 [ 0, %exclude ], [ %following, %skip ]
  %at = getelementptr i64, ptr %at.threads, i64 %worker
  %thread = load atomic i64, ptr %at monotonic, align 8
  %exists = icmp ne i64 %thread, 0
  br i1 %exists, label %move, label %skip
move:
  %thread32 = trunc i64 %thread to i32
  %refused = call i32 @sched_setaffinity(i32 %thread32, i64 128, ptr %mask)
  br label %skip
skip:
  %following = add i64 %worker, 1
  %more = icmp ult i64 %following, %count
  br i1 %more, label %next, label %return
return:
  ret void
}
"""
