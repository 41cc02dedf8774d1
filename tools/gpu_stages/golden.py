"""Recorded answers of TensorFlow 1.15 beside those of a GPU: the cases that compute values from what is fed.

Cases that are neighbours share a step, as in the tests, and groups are shared out among processes.
"""

from __future__ import annotations

from functools import partial

import staticgraph as sg
from gpu_stages.crew import Broken, crew, processes
from gpu_stages.setting import Setting

FEW, MOST_WRONG = 2, 40  # groups without a card; more wrong cases tell nothing new

Group = tuple[str, list[str]]  # a subject, and names of cases


def run(setting: Setting) -> None:
    """The stage. What does not fit into its time is left out."""
    tasks = groups()
    if setting.small:
        tasks = tasks[:: -(-len(tasks) // FEW)]
    findings, done, wrong = setting.findings, 0, 0
    end = setting.began + setting.seconds - min(3.0, setting.seconds / 10)
    with crew(partial(differing, setting.device), processes()) as all_:
        all_.ask(tasks)
        for (subject, names), answer in all_.answers(end):
            if isinstance(answer, Broken) and len(names) > 1:
                all_.ask(((subject, [name]) for name in names), first=True)
                continue
            found = {names[0]: answer.why} if isinstance(answer, Broken) else answer
            for name, text in found.items():
                findings.check(f"{subject}: {name}", False, text)
            done, wrong = done + len(names), wrong + len(found)
            print(f"{done} cases are done", flush=True)
            if wrong >= MOST_WRONG:
                break
    every = sum(len(names) for _, names in tasks)
    findings.check("answers of TensorFlow", not wrong, f"{done - wrong} of {every} cases")
    if done < every:
        findings.note("cases", f"{every - done} were left out")


def groups() -> list[Group]:
    """The cases in float32 that compute values, in groups that share a step; those that differ on purpose
    are left out.
    """
    from tests.golden.cases import SUBJECTS
    from tests.golden.differences import DIFFERENCES
    from tests.golden.runner import Value
    from tests.golden.together import TOGETHER

    found: list[Group] = []
    for subject, cases in SUBJECTS.items():
        alike = [c for c in cases if isinstance(c, Value) and c.dtype == "float32"]
        for at in range(0, len(alike), TOGETHER):
            names = [c.name for c in alike[at : at + TOGETHER] if f"{subject}: {c.name}" not in DIFFERENCES]
            if names:
                found.append((subject, names))
    return found


def differing(device: str, group: Group) -> dict[str, str]:
    """The cases of a group that are answered in another way, with how."""
    from tests.golden import store
    from tests.golden.cases import SUBJECTS
    from tests.golden.compare import differences
    from tests.golden.together import Together

    subject, names = group
    cases = {case.name: case for case in SUBJECTS[subject]}
    recorded = store.load(subject)
    together = Together({(subject, name) for name in names})
    wrong = {}
    with sg.options(device=device):
        for name in names:
            found = differences(cases[name], recorded[name], together.outcome(subject, cases[name]))
            if found:
                wrong[name] = " / ".join(found)[:300]
    return wrong
