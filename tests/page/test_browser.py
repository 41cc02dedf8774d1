"""The page in a browser: opened, clicked, searched, resized, saved as a picture, and looked at."""

from xml.etree import ElementTree

import pytest
from PIL import Image
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

import staticgraph as sg
from tests.page.browser import until
from tests.viz.graphs import scaled_training, tangle, training

pytestmark = pytest.mark.takes_long

BOXES = "return [...document.querySelectorAll('.box > .title')].map(text => text.textContent)"
CLICK = """
const click = (selector, text) => {
  const found = [...document.querySelectorAll(selector)].find(each => each.textContent.includes(text));
  const {left, top} = (found.querySelector('.shape') || found).getBoundingClientRect();
  found.dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: left + 3, clientY: top + 3}));
};
"""
PANEL = "return document.getElementById('panel').innerText"


@pytest.fixture
def browse(chromium, tmp_path):
    """A function that opens a page, and one that carries out a step there and returns its result."""
    browser, _ = chromium

    def opened(page, size=(1200, 800)):
        page.save(tmp_path / "page.html")
        browser.set_window_size(*size)
        browser.get((tmp_path / "page.html").as_uri())
        until(lambda: browser.execute_script("return performance.getEntriesByName('loaded').length"))
        return browser.execute_script

    yield opened
    faults = [entry for entry in browser.get_log("browser") if entry["level"] != "INFO"]
    assert not faults


def test_the_page_opens_and_a_scope_closes_and_opens_by_a_click(browse, chromium, tmp_path):
    run = browse(sg.show(training()))
    before = run(BOXES)
    assert {"x", "W", "MatMul", "b"} <= set(before)
    closed = run(f"{CLICK} click('.box.opened', '− layer'); {BOXES}")
    assert "+ layer" in closed and "MatMul" not in closed
    assert run(f"{CLICK} click('.box', '+ layer'); {BOXES}") == before
    assert run(f"{CLICK} click('.port', 'x'); {PANEL}").startswith("x (Placeholder)")
    chromium[0].save_screenshot(str(tmp_path / "page.png"))
    assert colours(tmp_path / "page.png") > 4  # boxes, lines and text, not a blank page


def test_a_search_opens_what_it_finds_and_centres_it(browse):
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
    told, x, y, now = browse(sg.show(y.graph))(search)
    assert (told, now) == ("1 found", "1 of 1")
    assert abs(x) < 30 and abs(y) < 30


def test_a_click_on_a_kernel_tells_of_it(browse):
    run = browse(sg.show(training()))
    panel = run(f"{CLICK} click('#stages button', 'fused'); click('#panel .go', 'matmul'); {PANEL}")
    assert "FLOP per byte" in panel and "graphs.py:" in panel and "NOT FUSED WITH" in panel
    memory = run(f"{CLICK} click('#stages button', 'memory'); {PANEL}")
    assert "arena: values that live only during a run" in memory


def test_a_stage_differs_from_another_by_what_things_mean(browse):
    run = browse(sg.show(scaled_training()))
    differs = run(
        f"{CLICK} const compare = document.getElementById('compare'); compare.value = '1';"
        f"compare.dispatchEvent(new Event('change')); click('#stages button', 'simplify'); {PANEL}"
    )
    assert "ONLY HERE, NOT IN STEP" in differs
    differs = run(f"{CLICK} click('#stages button', 'user'); {PANEL}").split("ONLY IN STEP")
    for text in differs:  # a variable or a placeholder is the same in the graph and in the compiler
        assert not {"x", "W", "b", "layer/W", "layer/b"} & {line.split(" ")[0] for line in text.splitlines()}


SHOWN = """
  const canvas = document.getElementById('canvas').getBoundingClientRect();
  const drawing = document.querySelector('#canvas > g').getBoundingClientRect();
  return [drawing.left - canvas.left, drawing.top - canvas.top, canvas.right - drawing.right,
    canvas.bottom - drawing.bottom, document.documentElement.scrollWidth - innerWidth];
"""


@pytest.mark.parametrize("size", [(1400, 900), (900, 600), (500, 844)])
def test_the_drawing_fits_at_every_size_and_after_a_resize(browse, chromium, size):
    run = browse(sg.show(training()), size)
    left, _, right, _, scrolled = run(SHOWN)
    assert left >= -1 and right >= -1 and scrolled <= 0
    chromium[0].find_element(By.ID, "fit").click()
    assert all(room >= -1 for room in run(SHOWN)[:4])
    chromium[0].set_window_size(1000, 1200)
    until(lambda: all(room >= -1 for room in run(SHOWN)[:4]))


def test_a_telephone_has_the_panel_below(browse, chromium, tmp_path):
    browser, _ = chromium
    run = browse(sg.show(training()), (800, 900))
    emulated = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", emulated)
    try:
        browser.refresh()
        until(lambda: run("return performance.getEntriesByName('loaded').length"))
        assert run("return innerWidth") == 390 and run(SHOWN)[4] <= 0
        below = run("return document.getElementById('panel').getBoundingClientRect().top")
        assert below > run("return document.getElementById('canvas').getBoundingClientRect().bottom") - 1
        browser.find_element(By.ID, "fit").click()
        assert all(room >= -1 for room in run(SHOWN)[:4])
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_panel_is_dragged_and_closed(browse, chromium):
    browser, _ = chromium
    run = browse(sg.show(training()))
    width = "return document.getElementById('panel').getBoundingClientRect().width"
    before = run(width)
    divider = browser.find_element(By.ID, "divider")
    ActionChains(browser).drag_and_drop_by_offset(divider, -150, 0).perform()
    assert abs(run(width) - before - 150) < 8
    browser.find_element(By.ID, "fold").click()
    assert run(width) == 0
    browser.find_element(By.ID, "fold").click()
    assert abs(run(width) - before - 150) < 8


def test_the_drawing_is_saved_as_a_picture(browse, chromium):
    browser, folder = chromium
    browse(sg.show(training(), title="a net: <1>"))
    for format in ("svg", "png"):
        browser.find_element(By.ID, format).click()
        until(lambda: is_whole(folder / f"a_net_1_.{format}"))  # noqa: B023
    root = ElementTree.parse(folder / "a_net_1_.svg").getroot()
    texts = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"x", "W", "MatMul", "b"} <= texts
    with Image.open(folder / "a_net_1_.png") as image:
        width, height = image.size
    assert abs(width - 2 * float(root.get("width"))) < 3 and abs(height - 2 * float(root.get("height"))) < 3
    assert colours(folder / "a_net_1_.png") > 4


def is_whole(file):
    """Return True if a picture is there with all that the browser writes."""
    try:
        if file.suffix == ".svg":
            ElementTree.parse(file)
        else:
            with Image.open(file) as image:
                image.load()
    except (OSError, ElementTree.ParseError):
        return False
    return True


def colours(picture):
    with Image.open(picture) as opened:
        image = opened.convert("RGB")
    points = [(x, y) for x in range(0, image.width, 20) for y in range(0, image.height, 20)]
    return len({image.getpixel(point) for point in points})
