// The arena over the instructions of a step: each block is a value, as high as it is large.

const WIDTH = 1100, HEIGHT = 460, LIVE = 70;

function memoryDrawn(memory, selected, choose) {
  const step = Math.min(Math.max(WIDTH / memory.steps.length, 3), 26), width = step * memory.steps.length;
  const most = Math.max(memory.arena, 1), up = size => HEIGHT * size / most;
  const root = svg("g");
  for (let i = 0; i <= 4; i++) {
    const y = HEIGHT - HEIGHT * i / 4;
    root.append(svg("path", {class: "axis", d: `M0 ${y}H${width}`}), label(-8, y + 3, bytes(memory.arena * i / 4), "left"));
  }
  memory.blocks.forEach(([offset, size, first, last, text], i) => {
    const y = HEIGHT - up(offset + size), height = Math.max(up(size), 0.5), wide = step * (last - first + 1);
    const tip = `${text}, ${bytes(size)}\nwritten by ${memory.steps[first]}, last read by ${memory.steps[last]}`;
    const shape = svg("rect", {x: step * first, y, width: wide, height, rx: 2,
      class: selected === i ? "block selected" : "block", click: () => choose(i)}, svg("title", {}, tip));
    root.append(shape);
    const [middle, centre] = [step * first + wide / 2, y + height / 2 + 3.5], both = height > 28;
    if (height > 11 && wide > 6 * text.length) root.append(label(middle, both ? centre - 6 : centre, text));
    if (both && wide > 6 * memory.steps[first].length) root.append(label(middle, centre + 7, memory.steps[first], "small"));
  });
  const peak = Math.max(...memory.live, 1), floor = HEIGHT + 26 + LIVE;
  const curve = memory.live.map((size, i) => `L${step * i} ${floor - LIVE * size / peak}H${step * (i + 1)}`).join("");
  root.append(svg("path", {class: "live", d: `M0 ${floor}${curve}V${floor}Z`}),
    label(-8, floor - LIVE + 4, bytes(peak), "left"), label(-8, floor, "in use", "left"));
  const every = Math.ceil(11 / step);  // names that do not lie on each other
  memory.steps.forEach((name, i) => {
    if (i % every) return;
    const text = label(0, 0, name, "from");
    text.setAttribute("transform", `translate(${step * i + step / 2 - 3} ${floor + 10}) rotate(62)`);
    root.append(text);
  });
  return {root, layout: {width: width + 60, height: floor + 160}};
}
