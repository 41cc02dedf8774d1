"""The manual lists every key and every type; `pytest --update-golden` writes the lists anew."""

import re
from pathlib import Path

from staticgraph.applications.solver.description import TABLES, keys_of
from staticgraph.applications.solver.kinds import LAYERS, OPTIMIZERS, SCHEDULES, parameters
from staticgraph.applications.solver.objective import LOSSES, METRICS

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "train.md"


def cell(text):
    return text.replace("|", "\\|")


def told(maker):
    keys = [f"**{n}**" if p.required else n for n, p in parameters(maker).items() if n != "y_true"]
    return ", ".join(keys)


def layers():
    """Types with the same keys share a row."""
    rows = {}
    for name, maker in LAYERS.items():
        keys = (
            k
            for k in told(maker).split(", ")
            if not k.endswith(("_initializer", "_regularizer", "_constraint"))
        )
        rows.setdefault(", ".join(keys), []).append(name)
    head = ["| type | keys; those in bold must be there |", "| --- | --- |"]
    return "\n".join([*head, *(f"| {', '.join(names)} | {keys} |" for keys, names in rows.items())])


def choices():
    makers = {
        **{("loss", name): loss.values for name, loss in LOSSES.items()},
        **{("optimizer", name): maker for name, maker in OPTIMIZERS.items()},
        **{("schedule", name): maker for name, maker in SCHEDULES.items()},
    }
    lines = ["| table | type | keys; those in bold must be there |", "| --- | --- | --- |"]
    for (table, name), maker in makers.items():
        keys = told(maker) if table != "schedule" else told(maker).replace("**learning_rate**, ", "")
        lines.append(f"| {table} | {name} | {keys} |")
    return "\n".join([*lines, "", f"Metrics are {', '.join(METRICS)}."])


def tables():
    parts = []
    for name, table in TABLES.items():
        parts += [
            f"**`[{name}]`** {table.__doc__}",
            "",
            "| key | takes | default | |",
            "| --- | --- | --- | --- |",
        ]
        for key, (kind, about) in keys_of(table).items():
            default = table.__dataclass_fields__[key].default
            shown = (
                ""
                if default is None
                else f"`{str(default).lower() if isinstance(default, bool) else default}`"
            )
            parts.append(f"| `{key}` | {cell(kind.words)} | {shown} | {cell(about)} |")
        parts.append("")
    return "\n".join(parts).strip()


def test_the_manual_lists_every_key_and_every_type(request):
    text = page = PAGE.read_text()
    for name, made in (("layers", layers), ("choices", choices), ("tables", tables)):
        form = rf"(?s)<!-- {name} -->\n.*?<!-- end -->"
        assert re.search(form, text)
        text = re.sub(form, lambda _, n=name, m=made: f"<!-- {n} -->\n{m()}\n<!-- end -->", text)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(text)
        return
    assert text == page
