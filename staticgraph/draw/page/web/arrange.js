// Where everything is, with some scopes open. Every sheet has been laid out with its scopes closed; where
// one is open, the sheet around it is stretched like rubber, in x and in y, until what is inside has room.

const PAD = 14, HEAD = 26;

// The map of coordinates along one axis that gives each interval at least the length that it needs.
function stretched(length, intervals) {
  const cuts = [...new Set([0, length, ...intervals.flatMap(each => [each.from, each.to])])].sort((a, b) => a - b);
  const sizes = cuts.slice(1).map((cut, i) => cut - cuts[i]);
  const own = [...sizes];
  for (const {from, to, need} of [...intervals].sort((a, b) => (a.to - a.from) - (b.to - b.from))) {
    const first = cuts.indexOf(from), last = cuts.indexOf(to);
    const missing = need - sizes.slice(first, last).reduce((a, b) => a + b, 0);
    if (missing > 0) for (let i = first; i < last; i++) sizes[i] += missing * own[i] / (to - from);
  }
  const places = [cuts[0]];
  sizes.forEach((size, i) => places.push(places[i] + size));
  return value => {
    if (value <= cuts[0]) return value - cuts[0] + places[0];
    let low = 0, high = cuts.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (cuts[middle] <= value) low = middle; else high = middle;
    }
    return places[low] + (value - cuts[low]) * (high < cuts.length - 1 || value <= cuts[high] ? sizes[low] / own[low] : 1);
  };
}

// A sheet with what is open on it: its size, boxes and ports as rectangles, and links as paths.
function arranged(sheets, number, open) {
  const sheet = sheets[number], [width, height] = sheet.size;
  const inner = sheet.boxes.map(box => open.has(box.inside) ? arranged(sheets, box.inside, open) : null);
  const across = [], down = [];
  sheet.boxes.forEach((box, i) => {
    if (!inner[i]) return;
    const [x, y, w, h] = box.at;
    across.push({from: x - w / 2, to: x + w / 2, need: Math.max(w, inner[i].width + 2 * PAD)});
    down.push({from: y - h / 2, to: y + h / 2, need: inner[i].height + HEAD + PAD});
  });
  const mapX = stretched(width, across), mapY = stretched(height, down);
  const rectangles = [...sheet.boxes, ...sheet.ports].map(({at: [x, y, w, h]}, i) => {
    if (!inner[i]) return {x: mapX(x) - w / 2, y: mapY(y) - h / 2, w, h, inner: null};
    const middle = (mapX(x - w / 2) + mapX(x + w / 2)) / 2, centre = (mapY(y - h / 2) + mapY(y + h / 2)) / 2;
    const wide = Math.max(w, inner[i].width + 2 * PAD), high = inner[i].height + HEAD + PAD;
    return {x: middle - wide / 2, y: centre - high / 2, w: wide, h: high, inner: inner[i]};
  });
  const paths = sheet.links.map(link => path(link.route, mapX, mapY, rectangles[link.from], rectangles[link.to]));
  return {number, width: mapX(width), height: mapY(height), rectangles, paths};
}

// A route as the path of an SVG, from border to border: boxes beside an open one are further from their arrows.
function path(route, mapX, mapY, source, target) {
  const points = [];
  for (let i = 0; i < route.length; i += 2) points.push([mapX(route[i]), mapY(route[i + 1])]);
  const text = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const curves = [];
  for (let i = 1; i + 2 < points.length; i += 3) curves.push("C" + points.slice(i, i + 3).map(text).join(" "));
  const start = points[0], end = points[points.length - 1], from = border(source, start), to = border(target, end);
  const tail = Math.hypot(to[0] - end[0], to[1] - end[1]) < 1 ? "" : `L${text(to)}`; // or the head has no direction
  return `M${text(from)}L${text(start)}${curves.join("")}${tail}`;
}

// The point on the border of a rectangle that is nearest to one outside of it.
function border({x, y, w, h}, [px, py]) {
  const inX = Math.min(Math.max(px, x), x + w), inY = Math.min(Math.max(py, y), y + h);
  if (py <= y) return [inX, y];
  if (py >= y + h) return [inX, y + h];
  return px < x + w / 2 ? [x, inY] : [x + w, inY];
}
