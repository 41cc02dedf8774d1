// Elements of the page. Text from the graph only ever becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";

function element(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== undefined && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}
const svg = (tag, attributes = {}, ...children) => element(document.createElementNS(SVG, tag), attributes, children);
const html = (tag, attributes = {}, ...children) => element(document.createElement(tag), attributes, children);
const label = (x, y, text, kind) => svg("text", {x, y, class: kind}, text);

// The outline of a box, which tells its role without colour too.
function outline(role, w, h) {
  const polygon = points => svg("polygon", {class: "shape", points: points.map(p => p.join(",")).join(" ")});
  const rectangle = (rx, more = {}) => svg("rect", {class: "shape", width: w, height: h, rx, ...more});
  switch (role) {
    case "INPUT": case "CARRIED": return [rectangle(Math.min(h / 2, 14))];
    case "VARIABLE": {
      const d = `M0 6V${h - 6}C0 ${h + 2} ${w} ${h + 2} ${w} ${h - 6}V6C${w} -2 0 -2 0 6C0 14 ${w} 14 ${w} 6`;
      return [svg("path", {class: "shape", d})];
    }
    case "CONSTANT": return [polygon([[0, 0], [w - 8, 0], [w, 8], [w, h], [0, h]])];
    case "RANDOM": return [polygon([[12, 0], [w - 12, 0], [w, h / 2], [w - 12, h], [12, h], [0, h / 2]])];
    case "GRADIENTS":
      return [polygon([[9, 0], [w - 9, 0], [w, 9], [w, h - 9], [w - 9, h], [9, h], [0, h - 9], [0, 9]])];
    case "ASSIGN": return [rectangle(2), svg("rect", {class: "mark", x: 3, y: 3, width: w - 6, height: h - 6})];
    case "REPEATS": return [rectangle(3, {x: 5, y: -5}), rectangle(3)];
    case "CONTROL": return [rectangle(h / 2)];
    case "HIDDEN": return [rectangle(6)];
  }
  return [rectangle(3)];
}

const number = n => n === null || n === undefined ? "" : n < 1e4 ? n.toLocaleString("en") : withPrefix(n, ["", " k", " M", " G", " T"], 1000);
const bytes = n => n === null ? "" : withPrefix(n, [" B", " KB", " MB", " GB", " TB"], 1024);
const seconds = t => t === null ? "" : t >= 1 ? `${t.toPrecision(3)} s` : t >= 1e-3 ? `${(t * 1e3).toPrecision(3)} ms` : `${(t * 1e6).toPrecision(3)} µs`;

function withPrefix(value, units, base) {
  let unit = 0;
  while (value >= base && unit < units.length - 1) { value /= base; unit++; }
  return (unit ? value.toPrecision(3) : value) + units[unit];
}
