// The page: what is shown, and what happens when something is clicked, typed or dragged.

class Page {
  constructor(data, first) {
    this.title = data.title;
    this.kernels = new Map(data.kernels.map(kernel => [kernel.name, kernel]));
    this.names = data.stages.map(stage => stage.name);
    this.stages = [new Stage(first, this.kernels)];
    Object.assign(this, {memory: data.memory, compile: data.compile, programs: data.programs, roles: data.roles, works: data.works, language: data.language});
    this.estimated = data.kernels.some(kernel => kernel.estimate);
    this.stage = this.stages[0];
    this.views = new Map();  // where one was on each stage
    this.hits = [];
    this.hit = -1;
    this.canvas = document.getElementById("canvas");
    this.panel = document.getElementById("panel");
    this.search = document.getElementById("search");
    this.viewport = svg("g");
    const arrow = (id, color) => svg("marker", {id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6.5, markerHeight: 6.5,
      orient: "auto", markerUnits: "userSpaceOnUse"}, svg("path", {d: "M0 0.8L8 4L0 7.2Z", fill: `var(${color})`}));
    this.canvas.append(svg("defs", {}, arrow("arrow", "--line"), arrow("arrow-near", "--accent")), this.viewport);
    this.controls();
    this.draw();
    this.fit();
    this.tell();
  }

  // The other stages, one after the other, while one looks at the first.
  async load() {
    for (let i = 1; i < this.names.length; i++) {
      this.stages.push(new Stage(await block(`stage ${i}`), this.kernels));
      const tab = document.getElementById("stages").children[i];
      tab.stage = this.stages[i];
      tab.disabled = false;
      document.getElementById("compare").children[i + 1].disabled = false;
    }
  }

  async codeOf(kernel) {
    this.code ||= block("code");
    const texts = await this.code;
    return kernel.symbols.map(symbol => texts[symbol]).join("\n");
  }

  // What is shown

  get metric() { return document.getElementById("heat").value; }

  draw() {
    if (this.stage === this.memory) {
      this.drawing = memoryDrawn(this.memory, this.block, i => { this.block = i; this.draw(); this.tell(); });
    } else {
      const heat = this.metric && this.stage.kernelAt.size ? this.stage.heat(this.metric) : null;
      this.drawing = drawn(this.stage, {
        selected: this.selected, made: this.selected ? this.stage.box(this.selected).made : undefined,
        hits: this.stage.tally(this.hits), heat, hottest: heat && Math.max(...[...this.stage.kernelAt.values()].map(
          at => heat.get(`${at.sheet} ${at.box}`)), Number.MIN_VALUE),
        fresh: this.other && this.stage.tally(this.stage.without(this.other)),
      });
    }
    this.viewport.replaceChildren(this.drawing.root);
  }

  tell() {
    const parts = this.stage === this.memory ? memoryPanel(this) : this.selected ? boxPanel(this, this.selected) : stagePanel(this);
    this.panel.replaceChildren(...parts);
    this.panel.scrollTop = 0;
  }

  to(stage) {
    this.views.set(this.stage, this.view);
    Object.assign(this, {stage, selected: null, block: undefined});
    this.find();
    for (const tab of document.getElementById("stages").children) tab.setAttribute("aria-selected", tab.stage === stage);
    if (this.views.has(stage)) this.move(this.views.get(stage)); else this.fit();
    this.tell();
  }

  show(stage, at) {
    if (stage !== this.stage) this.to(stage);
    this.choose(at);
  }

  showKernel(name) {
    const stage = this.stages.find(each => each.kernelAt.has(name));
    if (stage) this.show(stage, stage.kernelAt.get(name));
  }

  // Select a box, and bring it to the middle.
  choose(at) {
    this.stage.reveal(at);
    this.selected = at;
    this.draw();
    this.centre(at);
    this.tell();
  }

  clicked(at, onBackground) {
    const box = this.stage.box(at);
    const before = rectangleOf(this.stage, this.drawing.layout, at);
    this.selected = at;
    if (box.inside !== undefined && !onBackground) {
      if (!this.stage.open.delete(box.inside)) this.stage.open.add(box.inside);
    }
    this.draw();
    const after = rectangleOf(this.stage, this.drawing.layout, at), {x, y, k} = this.view;
    const left = before.x + before.w / 2 - after.x - after.w / 2;
    this.move({x: x + k * left, y: y + k * (before.y - after.y), k});  // it stays where it is
    this.tell();
  }

  // What is found stands out; `next` goes there.
  find() {
    this.hits = this.stage === this.memory ? [] : this.stage.search(this.search.value);
    this.hit = -1;
    this.count();
    this.draw();
  }

  next(step) {
    if (!this.hits.length) return;
    this.hit = this.hit < 0 ? 0 : (this.hit + step + this.hits.length) % this.hits.length;
    this.choose(this.hits[this.hit]);
    this.count();
  }

  count() {
    const found = this.hits.length, text = this.hit >= 0 ? `${this.hit + 1} of ${found}` : `${found} found`;
    document.getElementById("found").textContent = this.search.value.trim() ? text : "";
  }

  // Where one looks

  move(view) {
    this.view = view;
    this.fitted = null;
    this.viewport.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`);
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const k = Math.min(Math.max(this.view.k * factor, 0.02), 6), by = k / this.view.k;
    this.move({x: x - (x - this.view.x) * by, y: y - (y - this.view.y) * by, k});
  }

  // The whole drawing, or at first as much of it as can be read.
  fit(whole = false) {
    const {clientWidth, clientHeight} = this.canvas, {width, height} = this.drawing.layout;
    const left = this.stage === this.memory ? 70 : 0;
    const k = Math.min((clientWidth - 40) / (width + left), (clientHeight - 40) / height, 1.2);
    const readable = whole ? k : Math.max(k, Math.min(0.6, (clientWidth - 40) / (width + left)), 0.35);
    this.move({
      x: Math.max((clientWidth - readable * (width - left)) / 2, 20 + readable * left),
      y: Math.max((clientHeight - readable * height) / 2, 20), k: readable,
    });
    this.fitted = () => this.fit(whole);  // again after a resize, until someone looks elsewhere
  }

  centre(at) {
    const {x, y, w, h} = rectangleOf(this.stage, this.drawing.layout, at), {clientWidth, clientHeight} = this.canvas;
    const k = Math.min(Math.max(this.view.k, 0.7), Math.max(clientHeight / (h + 40), 0.3), Math.max(clientWidth / (w + 40), 0.3));
    this.move({x: clientWidth / 2 - k * (x + w / 2), y: clientHeight / 2 - k * (y + h / 2), k});
  }

  // What one does

  controls() {
    const tab = (name, stage) => {
      const made = html("button", {role: "tab", "aria-selected": stage === this.stage, click: () => this.to(made.stage)}, name);
      Object.assign(made, {stage, disabled: !stage});
      return made;
    };
    const option = (value, text, later) => html("option", {value, disabled: later ? "" : null}, text);
    const measured = [...this.kernels.values()].some(kernel => kernel.seconds !== null);
    const button = (id, action) => document.getElementById(id).addEventListener("click", action);
    const compare = document.getElementById("compare"), heat = document.getElementById("heat");
    document.getElementById("stages").append(...this.names.map((name, i) => tab(name, this.stages[i])));
    if (this.memory) document.getElementById("stages").append(tab("memory", this.memory));
    compare.append(option("", "nothing"), ...this.names.map((name, i) => option(i, name, i)));
    compare.parentNode.hidden = this.names.length < 2;
    compare.addEventListener("change", () => {
      this.other = compare.value === "" ? null : this.stages[compare.value];
      this.selected = null;
      this.draw();
      this.tell();
    });
    heat.append(option("", "none"), ...(measured ? [option("seconds", "measured time")] : []),
      ...(this.estimated ? [option("estimate", "estimated time")] : []), option("flops", "FLOP"), option("bytes", "bytes"));
    heat.value = measured ? "seconds" : "";
    document.getElementById("heated").hidden = !this.kernels.size;
    heat.addEventListener("change", () => { this.draw(); this.tell(); });
    button("open", () => this.openSome());
    button("close", () => { this.stage.open = new Set([0]); this.redraw(); });
    button("fit", () => this.fit(true));
    button("svg", () => saved(this.drawing, this.title, "svg"));
    button("png", () => saved(this.drawing, this.title, "png"));
    button("fold", () => this.fold());
    new ResizeObserver(() => { this.fitted?.(); }).observe(this.canvas);
    button("theme", () => {
      const root = document.documentElement;
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    });
    this.search.addEventListener("input", () => this.find());
    this.search.addEventListener("keydown", event => {
      if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") { this.search.value = ""; this.find(); this.canvas.focus(); }
      event.stopPropagation();
    });
    document.addEventListener("keydown", event => this.key(event));
    this.pointer();
    this.divider();
  }

  fold() {
    const folded = this.panel.parentNode.classList.toggle("folded");
    document.getElementById("fold").setAttribute("aria-expanded", !folded);
  }

  // The panel is as wide as its border is dragged; on a narrow screen it is below, and as high.
  divider() {
    const divider = document.getElementById("divider"), {panel} = this, main = panel.parentNode;
    const below = () => getComputedStyle(main).flexDirection === "column";
    const size = () => below() ? panel.clientHeight : panel.clientWidth;
    const resize = wanted => {
      const most = 0.8 * (below() ? main.clientHeight : main.clientWidth);
      main.style.setProperty("--panel", `${Math.round(Math.min(Math.max(wanted, 120), most))}px`);
    };
    if (below()) resize(0.4 * main.clientHeight);
    divider.addEventListener("pointerdown", event => divider.setPointerCapture(event.pointerId));
    divider.addEventListener("pointermove", event => {
      if (!divider.hasPointerCapture(event.pointerId)) return;
      const {right, bottom} = main.getBoundingClientRect();
      resize(below() ? bottom - event.clientY : right - event.clientX);
    });
    divider.addEventListener("dblclick", () => this.fold());
    divider.addEventListener("keydown", event => {
      const step = {ArrowLeft: 20, ArrowUp: 20, ArrowRight: -20, ArrowDown: -20}[event.key];
      if (step) { resize(size() + step); event.stopPropagation(); event.preventDefault(); }
    });
  }

  openSome() {
    if (this.stage === this.memory) return;
    const closed = [...this.stage.open].flatMap(number => this.stage.sheets[number].boxes)
      .filter(box => box.inside !== undefined && !this.stage.open.has(box.inside));
    for (const box of closed) this.stage.open.add(box.inside);
    this.redraw();
  }

  redraw() {
    this.selected = null;
    this.draw();
    this.fit();
    this.tell();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|INPUT)$/.test(event.target.tagName)) return;
    const step = 60, pan = (x, y) => this.move({...this.view, x: this.view.x + x, y: this.view.y + y});
    const actions = {
      "/": () => this.search.focus(), p: () => this.fold(), f: () => this.fit(true), "+": () => this.zoom(1.25), "-": () => this.zoom(0.8),
      ArrowLeft: () => pan(step, 0), ArrowRight: () => pan(-step, 0), ArrowUp: () => pan(0, step), ArrowDown: () => pan(0, -step),
      Escape: () => { this.selected = null; this.block = undefined; this.draw(); this.tell(); },
    };
    if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
  }

  pointer() {
    let start = null;
    this.canvas.addEventListener("wheel", event => {
      event.preventDefault();
      const {left, top} = this.canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - left, event.clientY - top);
    }, {passive: false});
    this.canvas.addEventListener("pointerdown", event => {
      if (event.button === 0) start = {x: event.clientX, y: event.clientY, view: this.view, moved: false};
    });
    window.addEventListener("pointermove", event => {
      if (!start) return;
      const x = event.clientX - start.x, y = event.clientY - start.y;
      if (!start.moved && Math.hypot(x, y) < 4) return;
      start.moved = true;
      this.canvas.classList.add("dragged");
      this.move({...start.view, x: start.view.x + x, y: start.view.y + y});
    });
    window.addEventListener("pointerup", () => {
      this.dragged = start?.moved;
      start = null;
      this.canvas.classList.remove("dragged");
    });
    this.canvas.addEventListener("click", event => {
      if (this.dragged || this.stage === this.memory) return;
      const found = event.target.closest(".box, .port");
      if (found?.dataset.port) {
        const beyond = this.stage.beyond(+found.dataset.sheet, +found.dataset.port);
        if (beyond) this.choose(beyond);
      } else if (found) {
        const at = {sheet: +found.dataset.sheet, box: +found.dataset.box}, opened = found.classList.contains("opened");
        const rectangle = found.firstElementChild.nextElementSibling.getBoundingClientRect();
        this.clicked(at, opened && event.clientY > rectangle.top + HEAD * this.view.k);
      } else if (this.selected) {
        this.selected = null;
        this.draw();
        this.tell();
      }
    });
  }
}

// The data are compressed: the texts of a graph repeat each other.
async function block(name) {
  const packed = Uint8Array.from(atob(document.getElementById(name).textContent), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.dataset.theme = "dark";
Promise.all([block("page"), block("stage 0")]).then(async ([data, first]) => {
  const page = new Page(data, first);
  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  performance.mark("shown");
  await page.load();
  performance.mark("loaded");
}).catch(error => {
  document.getElementById("panel").textContent = `This page cannot be shown: ${error}. It needs a browser of 2023 or later.`;
});
