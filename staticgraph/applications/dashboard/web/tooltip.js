"use strict";
// The values of all runs below the pointer.

const tooltip = {
  hide() { document.getElementById("tooltip").hidden = true; },

  // Show rows of {run, value, smooth, step, wall} beside a point of the window.
  show(rows, left, top) {
    const box = document.getElementById("tooltip");
    const smooth = rows.some(row => row.smooth !== null);
    const cell = (text, name = "") => make("td", {className: name}, text);
    const head = ["", ...(smooth ? ["smoothed"] : []), "value", "step", "time"];
    box.replaceChildren(make("table", {},
      make("tr", {}, ...head.map(text => make("th", {}, text))),
      ...rows.map(row => {
        const name = cell(row.run, "name");
        name.prepend(make("span", {className: "swatch", style: {background: colourOf(row.run)}}));
        return make("tr", {}, name, smooth ? cell(shown(row.smooth)) : null, cell(shown(row.value)),
          cell(String(row.step)), cell(moment(row.wall)));
      })));
    box.hidden = false;
    const {width, height} = box.getBoundingClientRect();
    const beside = left + 18 + width < innerWidth ? left + 18 : left - 18 - width;
    box.style.left = `${Math.max(4, Math.min(beside, innerWidth - width - 4))}px`;
    box.style.top = `${Math.max(4, Math.min(top - height / 2, innerHeight - height - 4))}px`;
  },
};

// The index of the number that is nearest, in an ascending list.
function nearest(numbers, wanted) {
  let low = 0, high = numbers.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < wanted) low = middle; else high = middle;
  }
  return Math.abs(numbers[low] - wanted) <= Math.abs(numbers[high] - wanted) ? low : high;
}
