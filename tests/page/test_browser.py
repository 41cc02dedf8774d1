"""The page in a browser: opened, a scope clicked, searched, a kernel chosen, and looked at.

The browser is the Chromium in PySide6 (`pip install PySide6`), without a screen. It runs in a process of its
own, with a script that clicks where a user would, and prints what the page then says.
"""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

import staticgraph as sg
from tests.viz.graphs import tangle, training

pytestmark = pytest.mark.skipif(
    not (importlib.util.find_spec("PySide6") and importlib.util.find_spec("PySide6.QtWebEngineCore")),
    reason="no browser: pip install PySide6",
)

DRIVER = """
import json, sys
from PySide6.QtCore import QTimer, QUrl
from PySide6.QtWebEngineCore import QWebEnginePage
from PySide6.QtWebEngineWidgets import QWebEngineView
from PySide6.QtWidgets import QApplication

page, picture, *steps = sys.argv[1:]
app, found = QApplication(sys.argv[:1]), []

class Page(QWebEnginePage):
    def javaScriptConsoleMessage(self, level, message, line, source):
        found.append("console: " + message)

view = QWebEngineView()
view.setPage(shown := Page(view))
view.resize(1200, 800)
view.show()

def loaded(done):
    if done:
        run()
    else:
        QTimer.singleShot(50, wait)

def wait():
    shown.runJavaScript("performance.getEntriesByName('loaded').length", loaded)

def run(result=None):
    if result is not None:
        found.append(json.loads(result))
    if steps:
        shown.runJavaScript(f"JSON.stringify((() => {{ {steps.pop(0)} }})())", run)
    else:
        QTimer.singleShot(300, finish)

def finish():
    image = view.grab().toImage()
    points = [(x, y) for x in range(0, 860, 20) for y in range(60, 800, 20)]
    found.append(len({image.pixelColor(*point).name() for point in points}))
    view.grab().save(picture)
    print(json.dumps(found))
    app.quit()

shown.loadFinished.connect(lambda ok: wait())
QTimer.singleShot(60000, lambda: app.exit(1))
view.load(QUrl.fromLocalFile(page))
sys.exit(app.exec())
"""
BOXES = "return [...document.querySelectorAll('.box > .title')].map(text => text.textContent)"
CLICK = """
const click = (selector, text) => {
  const found = [...document.querySelectorAll(selector)].find(each => each.textContent.includes(text));
  const {left, top} = (found.querySelector('.shape') || found).getBoundingClientRect();
  found.dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: left + 3, clientY: top + 3}));
};
"""
PANEL = "return document.getElementById('panel').innerText"


def browse(tmp_path, page, *steps):
    """Return the results of the steps, in their order; the last is the number of colours of the picture."""
    page.save(tmp_path / "page.html")
    (tmp_path / "driver.py").write_text(DRIVER)
    environment = os.environ | {
        "QT_QPA_PLATFORM": "offscreen",
        "QTWEBENGINE_CHROMIUM_FLAGS": "--no-sandbox --disable-gpu",
    }
    command = [sys.executable, "driver.py", str(tmp_path / "page.html"), str(tmp_path / "page.png"), *steps]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_page_opens_and_a_scope_closes_and_opens_by_a_click(tmp_path):
    before, closed, again, beyond, colours = browse(
        tmp_path,
        sg.show(training()),
        BOXES,
        f"{CLICK} click('.box.opened', '− layer'); {BOXES}",
        f"{CLICK} click('.box', '+ layer'); {BOXES}",
        f"{CLICK} click('.port', 'x'); {PANEL}",
    )
    assert {"x", "W", "MatMul", "b"} <= set(before)
    assert "+ layer" in closed and "MatMul" not in closed
    assert again == before
    assert beyond.startswith("x (Placeholder)")
    assert colours > 4  # boxes, lines and text, not a blank page


def test_a_search_opens_what_it_finds_and_centres_it(tmp_path):
    search = """
      const input = document.getElementById('search'), found = document.getElementById('found');
      const canvas = document.getElementById('canvas').getBoundingClientRect();
      input.value = 'exact_name';
      input.dispatchEvent(new Event('input'));
      const told = found.value;
      input.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}));
      const hit = document.querySelector('.hit').getBoundingClientRect();
      return [told, (hit.left + hit.right) / 2 - (canvas.left + canvas.right) / 2,
        (hit.top + hit.bottom) / 2 - (canvas.top + canvas.bottom) / 2, found.value];
    """
    y = sg.tanh(tangle(300), name="exact_name")
    for _ in range(100):
        y = sg.exp(y) + sg.sqrt(y)
    (told, x, y, now), _ = browse(tmp_path, sg.show(y.graph), search)
    assert (told, now) == ("1 found", "1 of 1")
    assert abs(x) < 30 and abs(y) < 30


def test_a_click_on_a_kernel_tells_of_it_and_a_stage_differs_from_another(tmp_path):
    panel, differs, memory, _ = browse(
        tmp_path,
        sg.show(training()),
        f"{CLICK} click('#stages button', 'fused'); click('#panel .go', 'matmul'); {PANEL}",
        f"{CLICK} const compare = document.getElementById('compare'); compare.value = '1';"
        f"compare.dispatchEvent(new Event('change')); click('#stages button', 'simplify'); {PANEL}",
        f"{CLICK} click('#stages button', 'memory'); {PANEL}",
    )
    assert "FLOP per byte" in panel and "graphs.py:" in panel and "NOT FUSED WITH" in panel
    assert "ONLY HERE, NOT IN STEP" in differs
    assert "arena: values that live only during a run" in memory
