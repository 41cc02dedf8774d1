"use strict";
// Elements and texts. Names and texts of files become text nodes, never markup.

// An element with properties, attributes (`aria-...`, `data-...`, `role`) and children.
function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") made.setAttribute(name, value);
    else if (name === "style") for (const [key, each] of Object.entries(value)) made.style.setProperty(key, each);
    else made[name] = value;
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

// A number with the digits that tell something.
function shown(number) {
  if (number === null || number === undefined || !Number.isFinite(number)) return "–";
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return number.toExponential(3);
  return String(Number(number.toPrecision(5)));
}

function counted(number) {
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (number >= size) {
      const scaled = number / (unit === "k" ? 1e3 : size);
      return `${scaled >= 100 ? Math.round(scaled) : Number(scaled.toPrecision(2))} ${unit}`;
    }
  }
  return String(number);
}

function moment(wall) {
  const date = new Date(wall * 1000), now = new Date();
  const time = date.toLocaleTimeString([], {hour12: false});
  return date.toDateString() === now.toDateString() ? time : `${date.toLocaleDateString()} ${time}`;
}
