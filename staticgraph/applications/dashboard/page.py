"""The page: its HTML, and what it loads, in one file or by a server."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from staticgraph.applications.dashboard.answers import Answers

_WEB = Path(__file__).parent / "web"
_BOKEH = ("bokeh.min.js", "bokeh-api.min.js")
_SCRIPTS = (
    "text.js",
    "source.js",
    "settings.js",
    "tooltip.js",
    "paced.js",
    "chart.js",
    "ridges.js",
    "views.js",
    "page.js",
)
_STYLE = "page.css"
_COLUMNS = 500  # of pixels of a curve in a file, which cannot ask for more
_MOST_MEDIA = 16 << 20  # bytes of images, sounds and graphs in a file


@cache
def assets() -> dict[str, tuple[str, bytes]]:
    """Return type and bytes of what the page loads, by name."""
    found = {name: ("text/javascript; charset=utf-8", _script(name)) for name in (*_BOKEH, *_SCRIPTS)}
    found[_STYLE] = "text/css; charset=utf-8", (_WEB / _STYLE).read_bytes()
    return found


def live_page() -> str:
    """Return the page of a server."""
    scripts = "\n".join(f'<script src="web/{name}"></script>' for name in (*_BOKEH, *_SCRIPTS))
    return _filled("", f'<link rel="stylesheet" href="web/{_STYLE}">', "", scripts)


def static_page(answers: Answers) -> str:
    """Return the page as one file, with everything that the runs hold now.

    No script but these can run in it: its security policy names them by their hashes.
    """
    scripts = [_script(name).decode() for name in (*_BOKEH, *_SCRIPTS)]
    hashes = " ".join(f"'sha256-{_hash(script)}'" for script in scripts)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "media-src data:; base-uri 'none'; form-action 'none'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
    style = f"<style>{(_WEB / _STYLE).read_text(encoding='utf-8')}</style>"
    # A tag or text may hold "</script>"; JSON may write any character by its number.
    data = json.dumps(_contents(answers), allow_nan=False).translate(
        {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}
    )
    embedded = f'<script id="data" type="application/json">{data}</script>'
    return _filled(meta, style, embedded, "\n".join(f"<script>{script}</script>" for script in scripts))


def _contents(answers: Answers) -> dict[str, Any]:
    """Everything that a page could ask for, as a file has it."""
    state = answers.state()
    state["folders"] = []  # whoever gets the file need not know where it was made
    curves: dict[str, Any] = {}
    histograms, texts, media, places = {}, {}, {}, {}
    left = _MOST_MEDIA
    for run in state["runs"]:
        name, tags = run["name"], run["tags"]
        for tag in tags["scalar"]:
            question = {"run": [name], "tag": [tag], "columns": [str(_COLUMNS)]}
            for found in answers.curves(question).values():
                del found["x"]  # these are the steps
                curves.setdefault(tag, {})[name] = found
        for tag in tags["histogram"]:
            histograms[f"{name}\n{tag}"] = answers.histograms({"run": [name], "tag": [tag]})
        for tag in tags["text"]:
            texts[f"{name}\n{tag}"] = answers.texts({"run": [name], "tag": [tag]})
        for kind in ("image", "audio", "graph"):
            for tag in tags[kind]:
                asked = {"kind": [kind], "run": [name], "tag": [tag]}
                places[f"{kind}\n{name}\n{tag}"] = answers.places(asked)[-1:]
                url = _embedded(answers, asked, left)
                left -= len(url)
                media[f"{kind}\n{name}\n{tag}"] = url
    return {
        "state": state,
        "curves": curves,
        "histograms": histograms,
        "texts": texts,
        "places": places,
        "media": media,
    }


def _embedded(answers: Answers, question: dict[str, list[str]], room: int) -> str:
    """Return the last image, sound or graph of a tag as a data URL; "" if there is none, or no room."""
    try:
        kind, data = answers.media(question)
    except (OSError, ValueError, LookupError):
        return ""
    url = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return url if len(url) <= room else ""


def _filled(policy: str, style: str, data: str, scripts: str) -> str:
    page = (_WEB / "page.html").read_text(encoding="utf-8")
    for mark, text in (("policy", policy), ("style", style), ("data", data), ("scripts", scripts)):
        page = page.replace(f"<!-- {mark} -->", text, 1)
    return page


def _script(name: str) -> bytes:
    if name not in _BOKEH:
        return (_WEB / name).read_bytes()
    import bokeh

    return (Path(bokeh.__file__).parent / "server" / "static" / "js" / name).read_bytes()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
