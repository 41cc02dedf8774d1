"use strict";
// What the reader chose. It outlives the page, as far as the browser allows.

const settings = {
  axis: "step", smoothing: 0.6, log: false, theme: "", tab: "Curves", hidden: [], closed: [],
  filter: "",
};
const STORED = "staticgraph-watch";
const LASTING = ["axis", "smoothing", "log", "theme"];
const OF_THIS_TAB = ["tab", "hidden", "closed"]; // the same address may show other runs tomorrow
const listeners = [];

function stored(storage, names) {
  const found = JSON.parse(storage.getItem(STORED) || "{}");
  for (const name of names) {
    if (typeof found[name] === typeof settings[name]) settings[name] = found[name];
  }
}

function store(storage, names) {
  storage.setItem(STORED, JSON.stringify(Object.fromEntries(names.map(name => [name, settings[name]]))));
}

try {
  stored(localStorage, LASTING);
  stored(sessionStorage, OF_THIS_TAB);
} catch { /* a browser that stores nothing */ }

// Change settings; whoever listens is told which.
function choose(changes) {
  Object.assign(settings, changes);
  try {
    store(localStorage, LASTING);
    store(sessionStorage, OF_THIS_TAB);
  } catch { /* the same */ }
  for (const listener of listeners) listener(changes);
}

// Colours that are told apart with any colour vision, on white and on black.
const COLOURS = [
  "#2f7ed8", "#e0701b", "#2a9d6f", "#a660d0", "#d6456b", "#8f8116", "#159fb3", "#7f6e5d", "#6a74e0", "#c251aa",
];
const colours = new Map();
function colourOf(run) {
  if (!colours.has(run)) colours.set(run, COLOURS[colours.size % COLOURS.length]);
  return colours.get(run);
}

function isDark() {
  return settings.theme ? settings.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function styleOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
