// The panel beside the drawing: what is known of the chosen thing, or of the whole stage.

const go = (text, action) => html("button", {class: "go", click: action}, text);
const section = (title, ...children) => [html("h3", {}, title), ...children];
const list = items => html("ul", {}, ...items.map(item => html("li", {}, ...[item].flat())));
const rows = pairs => html("table", {}, ...pairs.filter(([, value]) => value).map(([name, value]) =>
  html("tr", {}, html("td", {class: "quiet"}, name), html("td", {class: "number"}, value))));
const lineOf = ([place, text]) => [html("span", {class: "quiet"}, place), " ", html("code", {}, text)];

// Text that is fetched when someone wants to read it.
function folded(title, text) {
  const room = html("pre");
  return html("details", {toggle: async () => { room.textContent ||= await text(); }}, html("summary", {}, title), room);
}

function boxPanel(page, at) {
  const stage = page.stage, box = stage.box(at), kernel = box.kernel && page.kernels.get(box.kernel);
  const [title, ...tip] = box.tip.split("\n"), {from, to} = stage.links(at);
  const link = ({link, title, at}) => [at ? go(title, () => page.choose(at)) : title, " ", html("span", {class: "quiet"}, link.text)];
  return [
    html("h2", {}, kernel ? box.title : title || box.title),
    ...(kernel ? kernelPanel(page, kernel) : tip.filter(line => line.trim()).map(line => html("p", {}, line))),
    ...(kernel || !box.place || tip.some(line => line.includes(box.place)) ? [] : section("line", html("p", {}, ...lineOf([box.place, box.source])))),
    ...(from.length ? section("from", list(from.map(link))) : []),
    ...(to.length ? section("to", list(to.map(link))) : []),
    ...elsewhere(page, box),
  ];
}

function kernelPanel(page, kernel) {
  const stage = page.stages.find(each => each.kernelAt.has(kernel.name));
  const visit = name => stage.kernelAt.has(name) ? go(name, () => page.show(stage, stage.kernelAt.get(name))) : name;
  const intensity = kernel.bytes ? (kernel.flops / kernel.bytes).toPrecision(3) : "";
  return [
    html("p", {class: "quiet"}, kernel.inside ? `a kernel inside a ${kernel.inside}` : "a kernel"),
    rows([
      ["operations", number(kernel.flops) && `${number(kernel.flops)} FLOP`], ["moved", bytes(kernel.bytes)],
      ["FLOP per byte", intensity], ["functions", kernel.functions.join(", ")], ["time, estimated for one core", seconds(kernel.estimate)],
      ["time, measured", seconds(kernel.seconds)],
    ]),
    ...section("computes", html("p", {}, kernel.ops.join(", ") || "a copy")),
    ...(kernel.lines.length ? section("lines", list(kernel.lines.map(lineOf))) : []),
    ...(kernel.apart.length ? section("not fused with", list(kernel.apart.map(([name, reason]) =>
      [visit(name), html("span", {class: "quiet"}, ` ${reason}`)]))) : []),
    ...(kernel.ir ? section("code", folded("loops", () => kernel.ir), folded(page.language, () => page.codeOf(kernel))) : []),
  ];
}

// Boxes of other stages that come of the same operation of the program.
function elsewhere(page, box) {
  if (box.made === undefined || box.inside !== undefined) return [];
  const found = page.stages.filter(stage => stage !== page.stage).map(stage =>
    [stage, stage.leaves.filter(leaf => stage.box(leaf).made === box.made)]).filter(([, leaves]) => leaves.length);
  return found.length ? section("the same operation in other stages", list(found.map(([stage, leaves]) => [
    html("span", {class: "quiet"}, `${stage.name}: `),
    ...leaves.slice(0, 12).flatMap((leaf, i) => [i ? ", " : "", go(stage.box(leaf).title, () => page.show(stage, leaf))]),
    leaves.length > 12 ? ` and ${leaves.length - 12} more` : ""]))) : [];
}

function stagePanel(page) {
  const stage = page.stage, hidden = stage.sheets.reduce((sum, sheet) => sum + sheet.implied.length, 0);
  return [
    html("h2", {}, stage.name), html("p", {}, stage.about), ...stage.notes.map(note => html("p", {class: "quiet"}, note)),
    html("p", {class: "quiet"}, `${number(stage.leaves.length)} boxes on ${number(stage.sheets.length)} sheets`),
    ...(hidden ? [html("p", {class: "quiet"}, `${number(hidden)} arrows that lead where others do are drawn for the chosen box only`)] : []),
    ...(page.other ? differences(page) : []),
    ...(stage.kernelAt.size ? kernelTable(page) : []),
    ...(page.programs.length ? programTable(page) : []),
    ...section("legend", legend(page)),
    ...(page.compile.length ? compileTable(page) : []),
    ...section("keys", html("p", {class: "quiet"},
      "Drag to move, wheel to zoom, click a scope to open or close it. / searches, Enter goes to the next one found, " +
      "f shows all, p shows or hides this panel, + and − zoom, arrows move, Escape leaves.")),
  ];
}

function differences(page) {
  const gone = page.other.without(page.stage), fresh = page.stage.without(page.other);
  const named = (stage, leaves) => list([
    ...leaves.slice(0, 60).map(leaf => [go(stage.box(leaf).title, () => page.show(stage, leaf)), " ",
      html("span", {class: "quiet"}, stage.box(leaf).place)]),
    ...(leaves.length > 60 ? [`and ${leaves.length - 60} more`] : [])]);
  return [
    ...section(`only here, not in ${page.other.name}: ${fresh.length}`, named(page.stage, fresh)),
    ...section(`only in ${page.other.name}: ${gone.length}`, named(page.other, gone)),
  ];
}

function kernelTable(page) {
  const metric = page.metric || (page.estimated ? "estimate" : "bytes"), shown = {estimate: seconds, seconds, flops: number, bytes}[metric];
  const all = [...page.kernels.values()], most = Math.max(...all.map(kernel => kernel[metric] || 0), Number.MIN_VALUE);
  return section(`kernels: ${{estimate: "estimated time", seconds: "measured time", flops: "FLOP", bytes: "bytes"}[metric]}`,
    html("table", {}, ...all.map(kernel => html("tr", {},
      html("td", {}, page.stage.kernelAt.has(kernel.name) ? go(kernel.name, () => page.choose(page.stage.kernelAt.get(kernel.name))) : kernel.name),
      html("td", {}, html("meter", {value: kernel[metric] || 0, max: most})),
      html("td", {class: "number"}, shown(kernel[metric]))))));
}

// The programs of the session: which sizes are open in each, on which conditions, and what the older ones lacked.
function programTable(page) {
  const several = new Set(page.programs.map(program => program.what)).size > 1;
  const quiet = text => html("span", {class: "quiet"}, text);
  const row = (program, i) => html("tr", {class: "program"},
    html("td", {class: "number"}, `${i + 1}`),
    html("td", {},
      ...(several ? [html("p", {}, program.what)] : []),
      html("p", {}, quiet("sizes "), program.symbols.length ? program.symbols.join(", ") : "of one run"),
      ...(program.guards.length ? [html("p", {}, quiet("guards "), program.guards.join(", "))] : []),
      ...(program.failed ? [html("p", {class: "failed"}, quiet("failed before "), program.failed)] : []),
      html("p", {class: "quiet"}, program.place ? `${program.why}, ${program.place}` : program.why)));
  return section(`programs of the session: ${page.programs.length}`, html("table", {}, ...page.programs.map(row)));
}

// Every stage of the compiler. Those that changed nothing are folded.
function compileTable(page) {
  const row = stage => html("tr", {title: stage.about}, html("td", {class: "name"}, stage.name),
    html("td", {class: "quiet"}, stage.changed ? stage.about : stage.effect));
  const table = changed => html("table", {}, ...page.compile.filter(stage => stage.changed === changed).map(row));
  return section("stages of the compile", table(true),
    html("details", {}, html("summary", {}, "others, which changed nothing"), table(false)));
}

function legend(page) {
  const boxes = page.stage.sheets.flatMap(sheet => sheet.boxes);
  const roles = new Set(boxes.filter(box => box.work === "SCOPE").map(box => box.role)), works = new Set(boxes.map(box => box.work));
  const entry = (kind, role, text) => [html("span", {}, svg("svg", {width: 30, height: 20, viewBox: "-1 -6 32 27"},
    svg("g", {class: kind}, ...outline(role, 29, 20)))), html("span", {}, text)];
  return html("div", {class: "legend"},
    ...Object.entries(page.roles).filter(([role]) => roles.has(role)).flatMap(([role, text]) => entry(role, role, text)),
    ...Object.entries(page.works).filter(([work]) => works.has(work) && work !== "SCOPE").flatMap(([work, text]) => entry(work, "OP", text)),
    ...(boxes.some(box => box.fetched) ? entry("fetched", "OP", "fetched") : []));
}

function memoryPanel(page) {
  const {memory, block} = page, chosen = memory.blocks[block];
  const kernel = i => page.kernels.get(memory.steps[i]);
  const name = i => kernel(i) ? go(memory.steps[i], () => page.showKernel(memory.steps[i])) : memory.steps[i];
  return [
    html("h2", {}, chosen ? chosen[4] : "memory"),
    ...(chosen ? [
      rows([["size", bytes(chosen[1])], ["offset in the arena", number(chosen[0])]]),
      html("p", {}, "written by ", name(chosen[2])), html("p", {}, "last read by ", name(chosen[3])),
    ] : [html("p", {}, "The arena holds the values that live only during a run. Each block is one value: from left to " +
      "right from where it is written to where it is last read, as high as it is large.")]),
    html("pre", {}, memory.table),
  ];
}
