"use strict";
// The page: runs at the side, tabs above, cards in the middle, keys; and what happens when something is new.

let state = {runs: [], folders: []};
let known = {versions: {}, structure: -1};
let connections = 0; // with servers: versions of one say nothing of those of the next
let counting = false;
const cards = new Map(); // by tab and key
const by = id => document.getElementById(id);

const shownRuns = () => state.runs.map(run => run.name).filter(name => !settings.hidden.includes(name));

const viewer = new IntersectionObserver(entries => {
  for (const {target, isIntersecting} of entries) {
    const chart = target.chart;
    if (!chart) continue;
    chart.visible = isIntersecting;
    if (isIntersecting && chart.stale !== false) {
      chart.stale = false;
      chart.refresh();
    }
  }
}, {root: by("main"), rootMargin: "250px"});

// Draw again what is seen, and the rest when it comes into view.
function refresh(changed = () => true) {
  for (const card of by("main").querySelectorAll(".card")) {
    const chart = card.chart;
    if (!changed(chart)) continue;
    if (chart.visible) chart.refresh(); else chart.stale = true;
  }
}

function drawTabs() {
  const kinds = {Images: ["image", "audio"], Histograms: ["histogram"], Graph: ["graph"]};
  const has = tab => {
    const texts = state.runs.flatMap(run => run.tags.text);
    if (tab === "Text") return texts.some(tag => !isPlan(tag));
    if (tab === "Plan") return texts.some(isPlan);
    if (tab === "Throughput") return state.runs.some(run => run.tags.scalar.some(isRate));
    return !kinds[tab] || state.runs.some(run => kinds[tab].some(kind => run.tags[kind].length));
  };
  const shown = TABS.filter(tab => has(tab) || tab === settings.tab || (source.live && state.runs.length === 0));
  by("tabs").replaceChildren(...shown.map(tab => make("button", {
    role: "tab", "aria-selected": tab === settings.tab, onclick: () => choose({tab}),
    title: `Key ${TABS.indexOf(tab) + 1}`}, tab)));
}

function drawRuns() {
  by("pick").hidden = state.runs.length < 8;
  const part = by("pick").value.toLowerCase();
  by("runs").replaceChildren(...state.runs.filter(run => run.name.toLowerCase().includes(part)).map(run => {
    const box = make("input", {type: "checkbox", checked: !settings.hidden.includes(run.name)});
    const solo = event => {
      if (!event.altKey && event.type === "click") return;
      event.preventDefault();
      choose({hidden: state.runs.map(each => each.name).filter(name => name !== run.name)});
    };
    box.onchange = () => choose({hidden: box.checked ? settings.hidden.filter(name => name !== run.name)
      : [...settings.hidden, run.name]});
    return make("li", {}, make("label", {title: "Double click: this run alone", ondblclick: solo, onclick: solo,
      style: {"--run": colourOf(run.name)}},
      box, make("span", {className: "swatch"}), make("span", {className: "name"}, run.name),
      make("span", {className: "points", title: `${run.points} points`}, counted(run.points))));
  }));
  by("all").hidden = state.runs.length < 2;
  by("all").textContent = settings.hidden.length ? "all" : "none";
  const notes = state.runs.flatMap(run => run.notes.map(note => make("p", {}, `${run.name}: ${note}`)));
  by("notes").replaceChildren(...notes);
  by("notes").hidden = !notes.length;
}

function drawAxis() {
  by("axis").replaceChildren(...[["step", "step", "s"], ["relative", "relative", "r"], ["wall", "time", "w"]].map(
    ([axis, name, key]) => make("button", {role: "radio", "aria-checked": settings.axis === axis, title: `Key ${key}`,
      onclick: () => choose({axis})}, name)));
  by("smoothing").value = settings.smoothing;
  by("smoothed").textContent = settings.smoothing ? settings.smoothing.toFixed(2) : "off";
  by("log").checked = settings.log;
  const curves = settings.tab === "Curves" || settings.tab === "Throughput";
  for (const part of document.querySelectorAll(".curves-only")) part.hidden = !curves;
}

// Lay out the cards of the tab. Cards that were there stay the same, with their zoom.
function drawMain() {
  viewer.disconnect();
  const sections = [];
  for (const [title, entries] of sectionsOf(settings.tab)) {
    if (!entries.length) continue;
    const made = entries.map(([key, maker]) => {
      const place = `${settings.tab}\n${key}`;
      if (!cards.has(place)) cards.set(place, maker());
      return cards.get(place).card;
    });
    const grid = make("div", {className: "cards"}, ...made);
    if (!title) { sections.push(grid); continue; }
    const name = `${settings.tab}/${title}`;
    const section = make("details", {open: !settings.closed.includes(name)},
      make("summary", {}, title, make("span", {className: "count"}, String(made.length))), grid);
    section.ontoggle = () => {
      const others = settings.closed.filter(each => each !== name);
      settings.closed = section.open ? others : [...others, name];
    };
    sections.push(section);
  }
  by("main").replaceChildren(...(sections.length ? sections : [emptyView(settings.tab)]));
  for (const card of by("main").querySelectorAll(".card")) viewer.observe(card);
}

function drawTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
}

function drawStatus(connected) {
  const status = by("status");
  status.className = source.live ? (connected ? "" : "lost") : "still";
  status.textContent = source.live ? (connected ? "live" : "no connection") : "saved";
}

function drawAll() {
  for (const run of state.runs) colourOf(run.name);
  document.title = state.runs.length === 1 ? `${state.runs[0].name} · watch` : `${state.runs.length} runs · watch`;
  drawTabs();
  drawRuns();
  drawAxis();
  drawMain();
}

listeners.push(changes => {
  tooltip.hide();
  if ("theme" in changes) drawTheme();
  if ("axis" in changes || "log" in changes || "theme" in changes) {
    for (const chart of cards.values()) {
      chart.zoom = "axis" in changes ? null : chart.zoom;
      if (chart.reset) chart.reset.hidden = chart.zoom === null;
      chart.stale = true;
      chart.rebuild();
    }
  }
  if ("tab" in changes || "filter" in changes) { drawTabs(); drawMain(); }
  if ("hidden" in changes) {
    drawRuns();
    if (settings.tab !== "Curves" && settings.tab !== "Throughput") drawMain();
  }
  drawAxis();
  if ("smoothing" in changes || "hidden" in changes) refresh();
});

// Something is new: tags or runs, or points of some runs. Only the latest news counts.
let news = null;
source.changed = async message => {
  const busy = news !== null;
  news = message;
  if (busy) return;
  try {
    while (news !== known) await take(news);
  } finally {
    news = null;
  }
};

async function take(message) {
  const before = known;
  if (message.structure !== before.structure) {
    state = await source.state().catch(() => state);
    drawAll();
  } else if (!counting) { // the numbers of points at the side, once a second
    counting = true;
    setTimeout(async () => {
      state = await source.state().catch(() => state);
      counting = false;
      drawRuns();
    }, 1000);
  }
  known = message;
  const {versions} = message;
  refresh(chart => !chart.run || versions[chart.run] !== before.versions[chart.run]);
}
source.connected = connected => {
  connections += connected;
  drawStatus(connected);
};

const KEYS = {
  "/": ["Filter tags", () => by("filter").focus()],
  "s": ["Axis: step", () => choose({axis: "step"})],
  "r": ["Axis: relative time", () => choose({axis: "relative"})],
  "w": ["Axis: time of day", () => choose({axis: "wall"})],
  "l": ["Logarithmic or linear", () => choose({log: !settings.log})],
  "[": ["Smooth less", () => smoothBy(-0.1)],
  "]": ["Smooth more", () => smoothBy(0.1)],
  "a": ["All runs or none", () => by("all").click()],
  "d": ["Light or dark", () => choose({theme: isDark() ? "light" : "dark"})],
  "m": ["Runs and settings", () => by("menu").click()],
  "?": ["These keys", () => by("keys").showModal()],
};

function smoothBy(change) {
  choose({smoothing: Math.round(Math.min(0.99, Math.max(0, settings.smoothing + change)) * 100) / 100});
}

addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    tooltip.hide();
    if (document.activeElement) document.activeElement.blur();
    by("side").classList.remove("open");
    return;
  }
  if (event.target.matches("input[type='search']")) return;
  const tab = TABS[Number(event.key) - 1];
  if (tab) choose({tab});
  else if (Object.hasOwn(KEYS, event.key)) KEYS[event.key][1]();
  else return;
  event.preventDefault();
});

function begin() {
  by("keys").append(make("h2", {}, "Keys"), make("table", {}, ...[["1 – 7", ["Tabs"]], ...Object.entries(KEYS)].map(
    ([key, [what]]) => make("tr", {}, make("td", {}, make("kbd", {}, key)), make("td", {}, what)))));
  by("keys").onclick = () => by("keys").close();
  by("help").onclick = KEYS["?"][1];
  by("theme").onclick = KEYS.d[1];
  by("menu").onclick = () => by("menu").setAttribute("aria-expanded", by("side").classList.toggle("open"));
  by("all").onclick = () => choose({hidden: settings.hidden.length ? [] : state.runs.map(run => run.name)});
  by("filter").oninput = () => choose({filter: by("filter").value});
  by("pick").oninput = drawRuns;
  by("smoothing").oninput = () => choose({smoothing: Number(by("smoothing").value)});
  by("log").onchange = () => choose({log: by("log").checked});
  by("main").onscroll = () => tooltip.hide();
  addEventListener("pointerdown", event => { if (!event.target.closest(".plot")) tooltip.hide(); });
  matchMedia("(prefers-color-scheme: dark)").onchange = () => listeners.forEach(listener => listener({theme: ""}));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) refresh();
    width = innerWidth;
  });
  drawTheme();
  drawStatus(false);
  source.state().then(found => {
    state = found;
    drawAll();
    performance.mark("loaded");
    source.begin();
  });
}

begin();
