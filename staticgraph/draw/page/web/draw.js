// A stage as SVG: sheets inside one another.

function drawn(stage, look) {
  const layout = arranged(stage.sheets, 0, stage.open);
  const root = svg("g", {class: look.fresh ? "comparing" : ""}, sheetElement(stage, layout, look, 0));
  return {root, layout};
}

function sheetElement(stage, layout, look, depth) {
  const sheet = stage.sheets[layout.number], group = svg("g");
  layout.paths.forEach((d, i) => {
    const link = sheet.links[i], wide = link.count > 1 ? 1 + Math.log2(link.count) / 3 : 1;
    const near = look.selected && look.selected.sheet === layout.number &&
      (link.from === look.selected.box || link.to === look.selected.box);
    const arrow = link.flow === "REFERENCE" ? undefined : near ? "url(#arrow-near)" : "url(#arrow)";
    const tip = svg("title", {}, [link.text, link.tip].filter(text => text).join("\n"));
    group.append(
      svg("path", {d, class: `link ${link.flow}${near ? " near" : ""}`, "stroke-width": wide, "marker-end": arrow}),
      svg("path", {d, class: "reach"}, tip));
  });
  if (look.selected && look.selected.sheet === layout.number) group.append(...implied(sheet, layout, look.selected.box));
  sheet.boxes.forEach((box, i) => group.append(boxElement(stage, layout, look, box, i, depth)));
  sheet.ports.forEach((port, i) => {
    const {x, y, w, h} = layout.rectangles[sheet.boxes.length + i];
    group.append(svg("g", {class: "port", transform: `translate(${x} ${y})`, "data-sheet": layout.number, "data-port": i},
      svg("title", {}, port.tip), svg("rect", {class: "shape", width: w, height: h, rx: h / 2}),
      label(w / 2, h / 2 + 3.5, port.title)));
  });
  return group;
}

// Links that others imply are drawn for the chosen box only.
function implied(sheet, layout, chosen) {
  return sheet.implied.filter(link => link.from === chosen || link.to === chosen).map(link => {
    const a = layout.rectangles[link.from], b = layout.rectangles[link.to];
    const [x1, y1, x2, y2] = [a.x + a.w / 2, a.y + a.h, b.x + b.w / 2, b.y], bend = (y2 - y1) / 2;
    const d = `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
    return svg("path", {d, class: `link near ${link.flow}`, "marker-end": "url(#arrow-near)"}, svg("title", {}, link.tip));
  });
}

function boxElement(stage, layout, look, box, i, depth) {
  const {x, y, w, h, inner} = layout.rectangles[i], key = `${layout.number} ${i}`;
  const kinds = ["box", box.work === "SCOPE" ? box.role : box.work];
  if (inner) kinds.push("opened");
  if (box.fetched) kinds.push("fetched");
  if (look.selected?.sheet === layout.number && look.selected?.box === i) kinds.push("selected");
  else if (look.made !== undefined && box.made === look.made && box.inside === undefined) kinds.push("same");
  const hits = look.hits.get(key), fresh = look.fresh?.get(key);
  if (hits) kinds.push(box.inside === undefined ? "hit" : inner ? "" : "holds");
  if (fresh) kinds.push("new");
  const shapes = inner ? [svg("rect", {class: "shape", width: w, height: h, rx: 7})] : outline(box.role, w, h);
  const heat = look.heat?.get(key);
  if (heat && !(inner && !box.kernel)) {
    const share = Math.round(90 * Math.sqrt(Math.min(heat / look.hottest, 1)));
    kinds.push("heated");
    for (const shape of shapes) shape.style.fill = `color-mix(in oklab, var(--hot) ${share}%, var(--op))`;
  }
  const group = svg("g", {class: kinds.join(" "), transform: `translate(${x} ${y})`, "data-sheet": layout.number, "data-box": i});
  group.append(svg("title", {}, [box.tip, box.place && `${box.place}  ${box.source}`].filter(text => text).join("\n")), ...shapes);
  if (inner) {
    group.append(label(10, 17, `− ${box.title}`, "head"));
    const room = svg("g", {transform: `translate(${(w - inner.width) / 2} ${HEAD})`});
    room.append(sheetElement(stage, inner, look, depth + 1));
    group.append(room);
  } else {
    const below = box.role === "VARIABLE" && box.work === "SCOPE" ? 3 : 0;  // the rim
    const top = (h - 14 - 13 * box.lines.length) / 2 + 11 + below, title = box.inside === undefined ? box.title : `+ ${box.title}`;
    group.append(label(w / 2, top, title, "title"));
    box.lines.forEach((line, n) => group.append(label(w / 2, top + 14 + 13 * n, line, "small")));
  }
  const count = [hits && box.inside !== undefined ? `${hits} found` : "", fresh && box.inside !== undefined ? `${fresh} new` : ""];
  const told = count.filter(text => text).join(", ");
  if (told && !inner) group.append(label(w / 2, h + 11, told, "tally"));
  return group;
}

// The rectangle of a place on the whole drawing.
function rectangleOf(stage, layout, at) {
  let inside = layout, x = 0, y = 0;
  for (const scope of stage.around(at).reverse()) {
    const rectangle = inside.rectangles[scope.box];
    if (!rectangle.inner) return {...rectangle, x: x + rectangle.x, y: y + rectangle.y};
    x += rectangle.x + (rectangle.w - rectangle.inner.width) / 2;
    y += rectangle.y + HEAD;
    inside = rectangle.inner;
  }
  const {w, h, ...rest} = inside.rectangles[at.box];
  return {x: x + rest.x, y: y + rest.y, w, h};
}
