"use strict";
// What each tab shows: cards in sections. A card is filled when it comes into view.

const TABS = ["Curves", "Throughput", "Images", "Histograms", "Text", "Graph", "Plan"];
const isRate = tag => tag.startsWith("throughput/") || tag.endsWith("/sec") || tag === "steps per second";
const isPlan = tag => tag === "plan" || tag.endsWith("/plan");

// Pairs of run and tag of a kind, in the order of tags.
function pairs(kind, wanted = () => true) {
  const found = [];
  for (const run of state.runs) {
    if (settings.hidden.includes(run.name)) continue;
    for (const tag of run.tags[kind]) {
      if (wanted(tag) && matches(tag)) found.push([run.name, tag]);
    }
  }
  const order = new Map(state.runs.map((run, index) => [run.name, index]));
  return found.sort((a, b) => natural(a[1], b[1]) || order.get(a[0]) - order.get(b[0]));
}

const natural = new Intl.Collator(undefined, {numeric: true}).compare;

function matches(tag) {
  return tag.toLowerCase().includes(settings.filter.toLowerCase());
}

// The tags of curves for a tab, of any run: a chart whose runs are all hidden stays where it is.
function curveTags(wanted) {
  const tags = new Set(state.runs.flatMap(run => run.tags.scalar));
  return [...tags].filter(tag => wanted(tag) && matches(tag)).sort(natural);
}

function curveCards(wanted) {
  const groups = new Map();
  for (const tag of curveTags(wanted)) {
    const at = tag.indexOf("/");
    const group = at > 0 ? tag.slice(0, at) : "";
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push([tag, () => new Chart(tag, at > 0 ? tag.slice(at + 1) : tag)]);
  }
  return groups;
}

function mediaCards(kind) {
  return new Map([["", pairs(kind).map(([run, tag]) => [`${run}\n${tag}`, () => new Media(kind, run, tag)])]]);
}

// The sections of a tab: title -> [key, function that makes a card].
function sectionsOf(tab) {
  switch (tab) {
    case "Curves": return curveCards(tag => !isRate(tag));
    case "Throughput": return curveCards(isRate);
    case "Images": {
      const images = mediaCards("image").get(""), sounds = mediaCards("audio").get("");
      return new Map([["", images], ...(sounds.length ? [["Sounds", sounds]] : [])]);
    }
    case "Histograms":
      return new Map([["", pairs("histogram").map(([run, tag]) => [`${run}\n${tag}`, () => new Ridges(run, tag)])]]);
    case "Graph": return mediaCards("graph");
    case "Text": case "Plan": {
      const found = pairs("text", tag => isPlan(tag) === (tab === "Plan"));
      return new Map([["", found.map(([run, tag]) => [`${run}\n${tag}`, () => new Text(run, tag, tab === "Plan")])]]);
    }
  }
  return new Map();
}

// An image, a sound or the picture of a graph, with a slider over its steps.
class Media extends Card {
  constructor(kind, run, tag) {
    super(1000);
    Object.assign(this, {kind, run, tag, last: true});
    this.slider = make("input", {type: "range", min: 0, max: 0, hidden: true, "aria-label": `Step of ${tag}`});
    this.moment = make("div", {className: "moment"});
    this.place = make("div", {className: kind === "graph" ? "graph fit" : ""});
    const title = kind === "graph" ? run : tag;
    this.card = make("section", {className: `card${kind === "graph" ? " wide" : ""}`, "aria-label": `${title} of ${run}`,
      "data-tag": tag}, make("h3", {}, make("span", {className: "name"}, title),
      kind === "graph" ? this.sizes() : make("span", {className: "run"}, run)), this.place, this.slider, this.moment);
    this.card.chart = this;
    this.slider.oninput = () => {
      this.last = this.slider.value === this.slider.max;
      this.draw();
    };
  }

  sizes() {
    const button = make("button", {title: "Whole width or full size"}, "⤢ size");
    button.onclick = () => this.place.classList.toggle("fit");
    return button;
  }

  async ask() {
    this.places = await source.places(this.kind, this.run, this.tag);
    this.slider.max = Math.max(0, this.places.length - 1);
    this.slider.hidden = this.places.length < 2;
    if (this.last) this.slider.value = this.slider.max;
    this.draw();
  }

  draw() {
    const place = this.places[Number(this.slider.value)];
    if (!place) return;
    const url = source.media(this.kind, this.run, this.tag, this.slider.value, `${place.step}-${place.wall}`);
    if (this.url === url) return;
    this.url = url;
    if (this.kind !== "graph") this.moment.textContent = `step ${place.step}, ${moment(place.wall)}`;
    const failed = async () => {
      const why = source.live ? await fetch(url).then(reply => reply.text()).catch(String) : "it is not in this file";
      this.place.replaceChildren(make("p", {className: "moment"}, `It cannot be shown: ${why}`));
    };
    if (!url) { failed(); return; }
    if (this.kind === "audio") {
      this.place.replaceChildren(make("audio", {controls: true, src: url, onerror: failed}));
      return;
    }
    const image = make("img", {alt: `${this.tag || "graph"} of ${this.run}, step ${place.step}`, onerror: failed});
    image.onload = () => this.place.replaceChildren(image);
    if (this.kind === "graph" && !this.place.firstChild) {
      this.place.append(make("p", {className: "moment"}, "The graph is being drawn ..."));
    }
    image.src = url;
  }
}

// Texts of a tag, the newest first; a plan is a table that keeps its columns.
class Text extends Card {
  constructor(run, tag, wide) {
    super(1000);
    Object.assign(this, {run, tag});
    this.place = make("div", {className: "text"});
    this.card = make("section", {className: `card${wide ? " wide" : ""}`, "aria-label": `${tag} of ${run}`,
      "data-tag": tag}, make("h3", {}, make("span", {className: "name"}, tag),
      make("span", {className: "run"}, run)), this.place);
    this.card.chart = this;
  }

  async ask() {
    const texts = await source.texts(this.run, this.tag);
    this.place.replaceChildren(...texts.flatMap(({step, wall, text}) =>
      [make("div", {className: "moment"}, `step ${step}, ${moment(wall)}`), make("pre", {}, text)]));
  }
}

// What a tab says if it has nothing to show.
function emptyView(tab) {
  const box = make("div", {className: "empty"});
  if (settings.filter) {
    box.append(make("h2", {}, "Nothing has this name"), make("p", {}, `No tag contains “${settings.filter}”.`));
  } else if (!state.runs.length || tab === "Curves" || tab === "Throughput") {
    const where = state.folders.length ? [make("p", {}, "Looking for event files below ", make("code", {}, state.folders.join(", ")),
      ". A run that begins shows up here by itself.")] : [];
    box.append(make("h2", {}, "No points yet"), ...where,
      make("pre", {}, "import staticgraph as sg\n\nfor step in range(1000):\n    value, _ = sess.run([loss, train])\n"
        + "    sg.watch(loss=value)"));
  } else {
    const how = {
      Images: "sg.watch(samples=pixels)        # uint8, [height, width, 3]",
      Histograms: "sg.watch(weights=sess.run(w))   # any array of floats",
      Text: "sg.watch(note=\"learning rate halved\")",
      Graph: "sg.watch(graph=sess.graph)",
      Plan: "sg.watch(plan=sess.plan([loss, train], feeds))",
    }[tab];
    box.append(make("h2", {}, `No ${tab.toLowerCase()} in these runs`), make("pre", {}, how));
  }
  return box;
}
