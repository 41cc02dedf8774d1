"use strict";
// Data of the page: from the server that it came from, or from within the file itself.

// `changed` is called with the versions of all runs whenever something is new, `connected` with true or false.
function liveSource() {
  const ask = async (name, question) => {
    const reply = await fetch(`api/${name}?${new URLSearchParams(question)}`);
    if (!reply.ok) throw new Error(await reply.text());
    return reply.json();
  };
  const source = {
    live: true,
    changed: () => {}, connected: () => {},
    state: () => ask("state", {}),
    async curves(tag, runs, question) { // some runs at a time, so that no answer is long
      const found = {};
      for (let at = 0; at < runs.length; at += 10) {
        const some = runs.slice(at, at + 10).map(run => ["run", run]);
        Object.assign(found, await ask("curves", [["tag", tag], ...some, ...Object.entries(question)]));
      }
      return found;
    },
    places: (kind, run, tag) => ask("places", {kind, run, tag}),
    histograms: (run, tag) => ask("histograms", {run, tag}),
    texts: (run, tag) => ask("texts", {run, tag}),
    media: (kind, run, tag, index, version) => `media?${new URLSearchParams({kind, run, tag, index, version})}`,
    begin() {
      const socket = new WebSocket(new URL("changes", location.href).href.replace(/^http/, "ws"));
      socket.onopen = () => source.connected(true);
      socket.onmessage = message => source.changed(JSON.parse(message.data));
      socket.onclose = () => { source.connected(false); setTimeout(source.begin, 1000); };
    },
  };
  return source;
}

function embeddedSource(data) {
  const key = (...parts) => parts.join("\n");
  return {
    live: false,
    changed: () => {}, connected: () => {},
    state: async () => data.state,
    async curves(tag, runs, question) {
      const found = {};
      for (const run of runs) {
        const all = data.curves[tag];
        if (all && Object.hasOwn(all, run)) found[run] = along(all[run], question);
      }
      return found;
    },
    places: async (kind, run, tag) => data.places[key(kind, run, tag)] || [],
    histograms: async (run, tag) => data.histograms[key(run, tag)] || [],
    texts: async (run, tag) => data.texts[key(run, tag)] || [],
    media: (kind, run, tag) => data.media[key(kind, run, tag)] || "",
    begin() {},
  };
}

// A curve of the file along another axis, and smoothed. Its points stand for more, so they weigh more.
function along(curve, question) {
  const {walls, steps, y} = curve;
  const x = question.axis === "wall" ? walls.map(wall => wall * 1000)
    : question.axis === "relative" ? walls.map(wall => wall - walls[0]) : steps;
  const made = {x, y, steps, walls, points: curve.points, bad: curve.bad};
  const weight = Number(question.smoothing) || 0;
  if (weight > 0) {
    const each = weight ** Math.max(1, curve.points / y.length);
    let sum = 0, total = 0;
    made.smooth_x = x;
    made.smooth_y = y.map(number => {
      sum = sum * each + number * (1 - each);
      total = total * each + (1 - each);
      return sum / total;
    });
  }
  return made;
}

const embedded = document.getElementById("data");
const source = embedded ? embeddedSource(JSON.parse(embedded.textContent)) : liveSource();
