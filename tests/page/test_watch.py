"""The page of `watch` in a browser: curves that grow, many points, runs compared, hostile names, one file."""

import time
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from PIL import Image
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

import staticgraph as sg
from staticgraph.applications.dashboard.answers import Answers
from staticgraph.applications.dashboard.page import static_page
from staticgraph.applications.dashboard.runs import Runs
from staticgraph.applications.dashboard.server import Server
from staticgraph.tf1.summary.points import PointWriter
from tests.page.browser import until
from tests.watch.event_files import FIRST_STEP, NAME, write_many

pytestmark = pytest.mark.takes_long

EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
LOADED = "return performance.getEntriesByName('loaded').length"


@pytest.fixture
def browse(chromium, tmp_path):
    """A function that opens the page of a folder, and one that runs a script there."""
    browser, _ = chromium
    servers = []

    def opened(folder, size=(1280, 860)):
        server = Server(Runs([str(folder)]))
        server.start()
        servers.append(server)
        browser.set_window_size(*size)
        browser.get(server.url)
        browser.execute_script("localStorage.clear()")
        browser.refresh()
        until(lambda: browser.execute_script(LOADED))
        return browser.execute_script

    yield opened
    faults = [entry for entry in browser.get_log("browser") if entry["level"] not in ("INFO", "DEBUG")]
    browser.get("about:blank")
    for server in servers:
        server.stop()
    assert not faults


def points(run, tag):
    """Points behind the chart of a tag, or None before it is drawn."""
    return run(
        "const card = document.querySelector(`.card[data-tag='${arguments[0]}']`);"
        "return card && card.dataset.points ? Number(card.dataset.points) : null",
        tag,
    )


DRAWN = """
const chart = document.querySelector(`.card[data-tag='${arguments[0]}']`).chart;
return [...chart.lines].filter(([, {raw}]) => raw.visible)
  .map(([run, {raw, smooth}]) => [run, raw.data_source.data.x.length, smooth.visible]);
"""
SEEN_AT = """
window.seen = [];
new MutationObserver(() => requestAnimationFrame(() => seen.push(Date.now()))).observe(
  document.querySelector(".card[data-tag='loss']"), {attributes: true, attributeFilter: ["data-points"]});
"""


def latencies(run, write, count):
    """Seconds from before a point is written until it is drawn, for some points."""
    run(SEEN_AT)
    found = []
    for number in range(count):
        begun = time.time()
        write(number)
        until(lambda: run("return seen.length") > number)  # noqa: B023
        found.append(run("return seen.at(-1)") / 1000 - begun)
    return found


def test_a_new_point_is_seen_at_once(browse, tmp_path):
    writer = PointWriter(tmp_path / "run")
    writer.write({"loss": 1.0})
    run = browse(tmp_path)
    until(lambda: points(run, "loss") == 1)
    found = latencies(run, lambda number: writer.write({"loss": 1 / (number + 2)}), 10)
    assert points(run, "loss") == 11 and min(found) < 0.5
    writer.write({"later": 1.0})  # a tag, and a run, that begin later
    until(lambda: points(run, "later") == 1)
    PointWriter(tmp_path / "second").write({"loss": 1.0}, step=3)
    until(lambda: points(run, "loss") == 12)


def test_a_million_points(browse, tmp_path):
    numbers = np.random.default_rng(0).normal(size=1_000_000).astype(np.float32)
    numbers[654_321] = 40.0
    write_many(tmp_path / "run" / NAME, numbers)
    run = browse(tmp_path)
    until(lambda: points(run, "loss") == 1_000_000)
    [[_, drawn, smooth]] = run(DRAWN, "loss")
    width = run("return document.querySelector('.plot').clientWidth")
    assert drawn <= 2 * width + 2 and smooth
    run("choose({smoothing: 0})")
    peak = "const {y} = document.querySelector('.card').chart; return y.end"
    until(lambda: run(peak) > 40)  # no peak is lost
    middle = FIRST_STEP + 654_321
    run(f"document.querySelector('.card').chart.show([{middle - 20}, {middle + 20}])")
    until(lambda: run(DRAWN, "loss")[0][1] < 60)
    x = run("return [...document.querySelector('.card').chart.lines.get('run').raw.data_source.data.x]")
    assert x == list(range(middle - 21, middle + 22))
    run("document.querySelector('.card').chart.show(null)")
    until(lambda: run(DRAWN, "loss")[0][1] > width)
    writer = PointWriter(tmp_path / "run")
    found = latencies(run, lambda number: writer.write({"loss": 1.0}, FIRST_STEP + 1_000_000 + number), 5)
    assert points(run, "loss") == 1_000_005 and min(found) < 0.5


def five_runs(folder):
    for index, rate in enumerate((0.1, 0.2, 0.3, 0.4, 0.5)):
        writer = PointWriter(folder / f"rate_{rate}")
        for step in range(30):
            writer.write({"train/loss": 1 / (1 + rate * step), "train/accuracy": rate * step / 15}, step)
        writer.write({"picture": np.full((4, 4), 40 * index, np.uint8), "note": f"run {index}"}, 29)


def test_five_runs_are_compared_and_toggled(browse, chromium, tmp_path):
    browser, _ = chromium
    five_runs(tmp_path)
    run = browse(tmp_path)
    until(lambda: points(run, "train/loss") == 150)
    assert [name for name, _, _ in run(DRAWN, "train/loss")] == [f"rate_0.{n}" for n in range(1, 6)]
    assert len(set(run("return state.runs.map(run => colourOf(run.name))"))) == 5
    browser.find_elements("css selector", "#runs label")[1].click()
    until(lambda: points(run, "train/loss") == 120)
    assert "rate_0.2" not in [name for name, _, _ in run(DRAWN, "train/loss")]
    browser.find_element("id", "all").click()
    until(lambda: points(run, "train/loss") == 150)
    plot = browser.find_element("css selector", ".card[data-tag='train/loss'] .plot")
    ActionChains(browser).move_to_element(plot).perform()
    tooltip = "return document.getElementById('tooltip').hidden ? '' : tooltipText()"
    tooltip = tooltip.replace("tooltipText()", "document.getElementById('tooltip').innerText")
    text = until(lambda: run(tooltip))
    assert all(f"rate_0.{n}" in text for n in range(1, 6)) and "smoothed" in text
    ActionChains(browser).move_to_element(browser.find_element("id", "help")).perform()
    until(lambda: not run(tooltip))
    run("document.querySelector('.plot').focus()")
    ActionChains(browser).send_keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT).perform()
    assert all(line.split("\t")[3] == "2" for line in run(tooltip).strip().splitlines()[1:])
    run("document.activeElement.blur()")
    assert not run(tooltip)


def test_a_new_point_of_one_of_many_runs_asks_for_that_run_alone(browse, tmp_path):
    for index in range(25):
        PointWriter(tmp_path / f"run_{index}").write({"loss": 1.0})
    run = browse(tmp_path)
    until(lambda: points(run, "loss") == 25)
    until(lambda: run("return !document.querySelector('.card').chart.busy"))
    asked = (
        "return performance.getEntriesByType('resource').map(each => each.name).filter(n => /curves/.test(n))"
    )
    at_first = [parse_qs(urlsplit(url).query)["run"] for url in run(asked)]
    assert max(map(len, at_first)) == 10  # no answer is long
    run("performance.clearResourceTimings()")
    writer = PointWriter(tmp_path / "run_7")
    for step in range(1, 4):
        writer.write({"loss": 0.5}, step)
        until(lambda: points(run, "loss") == 25 + step)  # noqa: B023
    assert {tuple(parse_qs(urlsplit(url).query)["run"]) for url in run(asked)} == {("run_7",)}
    run("choose({axis: 'relative'})")
    until(
        lambda: (
            run("const {chart} = document.querySelector('.card'); return !chart.busy && chart.word")
            == "seconds"
        )
    )
    assert points(run, "loss") == 28
    assert {name for url in run(asked) for name in parse_qs(urlsplit(url).query)["run"]} == {
        f"run_{index}" for index in range(25)
    }


def test_axes_scales_smoothing_and_keys(browse, chromium, tmp_path):
    browser, _ = chromium
    five_runs(tmp_path)
    run = browse(tmp_path)
    until(lambda: points(run, "train/loss") == 150)

    def press(key):
        ActionChains(browser).send_keys(key).perform()

    chart = "document.querySelector(\".card[data-tag='train/loss']\").chart"
    press("r")
    until(lambda: run(f"return {chart}.word") == "seconds" and run(f"return {chart}.figure !== null"))
    press("w")
    until(lambda: run(f"return {chart}.word") == "time")
    press("s")
    press("l")
    until(lambda: run(f"return {chart}.figure && {chart}.figure.left[0].type") == "LogAxis")
    smoothing = run("return settings.smoothing")
    press("[")
    assert run("return settings.smoothing") == pytest.approx(smoothing - 0.1)
    press("/")
    ActionChains(browser).send_keys("accu").perform()
    until(lambda: run("return document.querySelectorAll('.card').length") == 1)
    run("document.activeElement.blur()")
    run("choose({filter: ''})")
    before = run("return getComputedStyle(document.body).backgroundColor")
    press("d")
    assert run("return getComputedStyle(document.body).backgroundColor") != before
    run("choose({tab: 'Images'})")
    until(
        lambda: run("return [...document.images].filter(i => i.complete && i.naturalWidth === 4).length") >= 4
    )
    run("choose({tab: 'Text'})")
    until(lambda: "run 3" in run("return document.getElementById('main').innerText"))


def test_without_points_it_is_told_what_to_write(browse, tmp_path):
    run = browse(tmp_path)
    text = until(lambda: run("return document.querySelector('.empty')?.innerText"))
    assert "No points yet" in text and str(tmp_path) in text and "sg.watch(loss=value)" in text
    PointWriter(tmp_path / "run").write({"loss": 1.0})
    until(lambda: points(run, "loss") == 1)


def hostile(folder):
    writer = PointWriter(folder / EVIL.replace("/", "\u2215"))
    for step in range(3):
        writer.write({EVIL: step, "constructor": step, "__proto__": step, f"{EVIL}/x": step}, step)
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    writer.write({f"a{EVIL}": EVIL, "weights" + EVIL: np.arange(9.0), "graph": (x + 1.0).graph}, 1)


NOTHING_MADE = """
return [document.querySelectorAll("main img, #side img, #tooltip img, main script").length,
  document.getElementById('main').innerText.includes('onerror=alert(1)')];
"""


def test_names_and_texts_of_files_never_become_markup(browse, chromium, tmp_path):
    browser, _ = chromium
    hostile(tmp_path)
    run = browse(tmp_path)
    run("window.alert = () => { window.alerted = true; }")
    for name in (EVIL, "constructor", "__proto__"):
        until(lambda: points(run, name) == 3)  # noqa: B023
    ActionChains(browser).move_to_element(browser.find_element("css selector", ".plot")).perform()
    until(lambda: not run("return document.getElementById('tooltip').hidden"))
    for tab in ("Curves", "Text", "Histograms"):
        run(f"choose({{tab: '{tab}'}})")
        until(lambda: run(NOTHING_MADE) == [0, True])
    assert not run("return window.alerted")


def test_one_file_shows_the_same_without_a_server(browse, chromium, tmp_path):
    browser, _ = chromium
    five_runs(tmp_path / "runs")
    hostile(tmp_path / "runs")
    runs = Runs([str(tmp_path / "runs")])
    runs.follow()
    page = tmp_path / "page.html"
    page.write_text(static_page(Answers(runs)), encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    assert "http://" not in text.partition("<script>")[0] and str(tmp_path) not in text
    browser.get(page.as_uri())
    run = browser.execute_script
    until(lambda: run(LOADED))
    until(lambda: points(run, "train/loss") == 150)
    assert len(run(DRAWN, "train/loss")) == 5
    run("choose({axis: 'relative'})")
    until(
        lambda: run("return document.querySelector(\".card[data-tag='train/loss']\").chart.word") == "seconds"
    )
    run("choose({tab: 'Images'})")
    until(lambda: run("return [...document.images].filter(image => image.naturalWidth === 4).length") >= 4)
    run("choose({tab: 'Graph'})")
    until(lambda: run("return [...document.images].some(image => image.naturalWidth > 50)"))
    run("choose({tab: 'Text'})")
    until(lambda: run("return document.getElementById('main').innerText.includes('onerror=alert(1)')"))
    assert run("return document.getElementById('status').innerText") == "saved"
    assert (
        run("return performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length")
        == 0
    )


def test_a_telephone_and_dark_colours(browse, chromium, tmp_path):
    browser, _ = chromium
    five_runs(tmp_path)
    emulated = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", emulated)
    try:
        run = browse(tmp_path)
        until(lambda: points(run, "train/loss") == 150)
        for theme in ("light", "dark"):
            run(f"choose({{theme: '{theme}'}})")
            until(lambda: run("return Boolean(document.querySelector('.card').chart.figure)"))
            assert run("return [innerWidth, document.documentElement.scrollWidth]") == [390, 390]
            card = run("const {left, right} = document.querySelector('.card').getBoundingClientRect();"
                       "return [left, right]")  # fmt: skip
            assert 0 <= card[0] < 30 and 350 < card[1] <= 390
            picture = tmp_path / f"{theme}.png"
            browser.save_screenshot(str(picture))
            with Image.open(picture) as image:
                assert len(image.convert("RGB").getcolors(1 << 24)) > 50  # lines and text, not a blank page
        assert not run("return document.getElementById('side').offsetParent")
        browser.find_element("id", "menu").click()
        assert run("return document.getElementById('side').offsetParent !== null")
        browser.find_elements("css selector", "#runs label")[0].click()
        browser.find_element("id", "menu").click()
        until(lambda: points(run, "train/loss") == 120)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
