// The drawing as a file: what is shown, whole, with its colours.

function standalone(drawing) {
  const {width, height} = drawing.layout, margin = 16;
  const style = svg("style", {}, document.querySelector("style").textContent);
  const made = svg("svg", {
    xmlns: SVG, width: width + 2 * margin, height: height + 2 * margin,
    viewBox: `${-margin} ${-margin} ${width + 2 * margin} ${height + 2 * margin}`,
    "data-theme": document.documentElement.dataset.theme, "font-family": "Helvetica, Arial, sans-serif",
  }, style, document.querySelector("#canvas > defs").cloneNode(true),
  svg("rect", {x: -margin, y: -margin, width: width + 2 * margin, height: height + 2 * margin, fill: "var(--page)"}),
  drawing.root.cloneNode(true));
  return new Blob([new XMLSerializer().serializeToString(made)], {type: "image/svg+xml"});
}

async function saved(drawing, title, format) {
  const picture = standalone(drawing);
  const file = format === "svg" ? picture : await painted(picture, drawing.layout);
  const place = URL.createObjectURL(file);
  html("a", {href: place, download: `${title.replace(/[^\w.-]+/g, "_") || "graph"}.${format}`}).click();
  setTimeout(() => URL.revokeObjectURL(place), 10000);
}

// Two dots for each point, but no more than a browser can hold.
async function painted(picture, {width, height}) {
  const place = URL.createObjectURL(picture), image = new Image();
  image.src = place;
  await image.decode();
  const k = Math.min(2, 8000 / Math.max(width, height));
  const canvas = html("canvas", {width: Math.ceil(k * (width + 32)), height: Math.ceil(k * (height + 32))});
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(place);
  return new Promise(done => canvas.toBlob(done, "image/png"));
}
