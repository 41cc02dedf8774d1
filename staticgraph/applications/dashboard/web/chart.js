"use strict";
// The chart of one tag: a line for each run, drawn by Bokeh. A zoom asks the source for more points.

const MOST_COLUMNS = 8000; // of all curves of a chart together

class Chart extends Card {
  constructor(tag, title) {
    super(30);
    this.tag = tag;
    this.curves = {};
    this.asked = {}; // the question that they answer, and the versions of their runs then
    this.lines = new Map();
    this.plot = make("div", {className: "plot"});
    this.unit = make("div", {className: "unit"});
    const wide = make("button", {title: "Larger or smaller", "aria-label": `Larger or smaller: ${title}`}, "⤢");
    const reset = make("button", {title: "Show all (double click)", hidden: true}, "show all");
    this.reset = reset;
    wide.onclick = () => { this.card.classList.toggle("wide"); this.rebuild(); };
    reset.onclick = () => this.show(null);
    this.card = make("section", {className: "card", tabIndex: -1, "aria-label": title, "data-tag": tag},
      make("h3", {}, make("span", {className: "name"}, title), reset, wide), this.plot, this.unit);
    this.card.chart = this;
    this.plot.tabIndex = 0;
    this.plot.onkeydown = event => this.walk(event);
    this.plot.onblur = () => tooltip.hide();
    this.plot.onpointerleave = event => { if (event.pointerType === "mouse") tooltip.hide(); };
    this.plot.ondblclick = () => this.show(null);
  }

  // Make the figure anew, for the axis, scale and theme of now.
  rebuild() {
    this.figure = null;
    this.lines.clear();
    this.plot.replaceChildren();
    if (this.visible) this.refresh();
  }

  build() {
    const touch = matchMedia("(pointer: coarse)").matches;
    const quiet = styleOf("--quiet"), line = styleOf("--line");
    this.x = new Bokeh.Range1d({start: 0, end: 1});
    this.y = new Bokeh.Range1d({start: 0, end: 1});
    const figure = Bokeh.Plotting.figure({
      height: this.card.classList.contains("wide") ? 430 : 232, sizing_mode: "stretch_width",
      toolbar_location: null, tools: [], x_range: this.x, y_range: this.y,
      x_axis_type: settings.axis === "wall" ? "datetime" : "linear", y_axis_type: settings.log ? "log" : "linear",
      background_fill_color: null, border_fill_color: null, outline_line_color: null,
      min_border_left: 44, min_border_right: 8, min_border_top: 6, min_border_bottom: 20,
    });
    for (const axis of [...figure.below, ...figure.left]) {
      axis.setv({axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: null,
        major_label_text_color: quiet, major_label_text_font_size: "11px", major_label_text_font: "system-ui"});
    }
    figure.below[0].ticker.desired_num_ticks = Math.max(2, Math.min(8, Math.round(this.plot.clientWidth / 75)));
    if (!settings.log) figure.left[0].ticker.desired_num_ticks = 5;
    for (const part of figure.center) {
      if ("grid_line_color" in part) part.grid_line_color = line;
    }
    const mark = new Bokeh.CrosshairTool({dimensions: "height", line_color: quiet, line_alpha: 0.6});
    figure.add_tools(mark, ...(touch ? [] : [new Bokeh.BoxZoomTool({dimensions: "width"})]));
    figure.on_event("mousemove", event => this.point(event.x));
    figure.on_event("tap", event => this.point(event.x));
    figure.on_event("rangesupdate", event => {
      if (event.x0 !== this.set[0] || event.x1 !== this.set[1]) this.show([event.x0, event.x1]);
    });
    this.figure = figure;
    this.set = [0, 1];
    return Bokeh.Plotting.show(figure, this.plot);
  }

  // Show a part of the axis, or all of it.
  show(zoom) {
    const inside = zoom && zoom[1] > zoom[0];
    this.zoom = inside ? zoom.map(end => (end - this.shift) * this.scale) : null;
    this.reset.hidden = this.zoom === null;
    this.refresh();
  }

  async ask() {
    const runs = shownRuns();
    const width = Math.round(this.plot.clientWidth * Math.min(devicePixelRatio, 2));
    const question = {axis: settings.axis, smoothing: settings.smoothing,
      columns: Math.max(100, Math.min(width, Math.floor(MOST_COLUMNS / runs.length)))};
    if (this.zoom) Object.assign(question, {from: this.zoom[0], to: this.zoom[1]});
    // Only runs with something new are asked for: the answer for a new point is that of one run.
    const versions = Object.fromEntries(runs.map(run => [run, known.versions[run]]));
    const asked = {question: JSON.stringify([question, connections]), versions};
    const same = asked.question === this.asked.question;
    const isKnown = run => same && versions[run] !== undefined && versions[run] === this.asked.versions[run];
    const unknown = runs.filter(run => !isKnown(run));
    const found = unknown.length ? await source.curves(this.tag, unknown, question) : {};
    const curves = {};
    for (const run of runs) {
      const curve = (isKnown(run) ? this.curves : found)[run];
      if (curve) curves[run] = curve;
    }
    if (question.axis !== settings.axis) {
      this.again = true;
      return;
    }
    this.curves = curves;
    this.asked = asked;
    if (!this.figure) await this.build();
    this.draw();
  }

  draw() {
    const curves = Object.entries(this.curves);
    this.rescale(curves);
    for (const [run, {raw, smooth}] of this.lines) {
      if (!Object.hasOwn(this.curves, run)) raw.visible = smooth.visible = false;
    }
    const bounds = [[], []];
    for (const [run, curve] of curves) {
      const line = this.linesOf(run);
      const {raw, smooth} = line;
      const smoothed = curve.smooth_y !== undefined;
      raw.visible = true;
      smooth.visible = smoothed;
      const unit = `${this.scale} ${this.shift}`;
      if (line.curve !== curve || line.unit !== unit) {
        Object.assign(line, {curve, unit});
        const y = this.above(curve.y);
        curve.shown_x = this.scaled(curve.x);
        curve.drawn_x = smoothed ? this.scaled(curve.smooth_x) : [];
        const smooth_y = smoothed ? this.above(curve.smooth_y) : [];
        raw.data_source.data = {x: curve.shown_x, y};
        raw.glyph.line_alpha = smoothed ? 0.25 : 1;
        smooth.data_source.data = {x: curve.drawn_x, y: smooth_y};
        curve.seen = smoothed ? this.seen(smooth_y, y) : this.seen(y, null);
      }
      bounds[0].push(curve.shown_x);
      bounds[1].push(...curve.seen);
    }
    this.fit(bounds);
    const bad = curves.filter(([, curve]) => curve.bad).map(([run, curve]) => `${run}: ${curve.bad}`);
    this.unit.replaceChildren(...(bad.length ? [make("span", {className: "bad"}, bad.join("; "))] : []), this.word);
    this.card.dataset.points = curves.reduce((sum, [, curve]) => sum + curve.points, 0);
  }

  // The unit of the axis: seconds become minutes or hours, and moments those of the clock here.
  rescale(curves) {
    this.scale = 1;
    this.shift = 0;
    this.word = settings.axis;
    if (settings.axis === "relative") {
      const last = Math.max(0, ...curves.map(([, curve]) => curve.x[curve.x.length - 1]));
      [this.scale, this.word] = last > 7200 ? [3600, "hours"] : last > 300 ? [60, "minutes"] : [1, "seconds"];
    } else if (settings.axis === "wall") {
      this.shift = -new Date().getTimezoneOffset() * 60000;
      this.word = "time";
    }
  }

  scaled(x) {
    return this.scale === 1 && !this.shift ? x : x.map(each => each / this.scale + this.shift);
  }

  // Numbers that a logarithmic scale has.
  above(y) {
    return settings.log ? y.map(each => each > 0 ? each : NaN) : y;
  }

  // The ordinates to be seen: of a smoothed curve without the outliers of what is behind it.
  seen(y, behind) {
    const within = behind === null ? y : y.concat(middle(behind));
    return within.filter(Number.isFinite);
  }

  fit([abscissae, ordinates]) {
    let low = Infinity, high = -Infinity;
    for (const x of abscissae) {
      if (x.length) [low, high] = [Math.min(low, x[0]), Math.max(high, x[x.length - 1])];
    }
    if (this.zoom) [low, high] = this.scaled(this.zoom);
    if (!(low < high)) [low, high] = Number.isFinite(low) ? [low - 0.5, low + 0.5] : [0, 1];
    if (settings.axis === "step") { // 400k, unless the steps that are seen differ by less
      const format = high >= 10000 && high - low > high / 50 ? "0[.]0a" : "0[.]0";
      if (this.figure.below[0].formatter.format !== format) {
        this.figure.below[0].formatter = new Bokeh.NumeralTickFormatter({format});
      }
    }
    this.set = [low, high];
    this.x.setv({start: low, end: high});
    let least = Infinity, most = -Infinity;
    for (const each of ordinates) {
      if (each < least) least = each;
      if (each > most) most = each;
    }
    if (!Number.isFinite(least)) [least, most] = settings.log ? [0.1, 1] : [0, 1];
    if (settings.log) {
      const margin = Math.max((most / least) ** 0.05, 1.05);
      this.y.setv({start: least / margin, end: most * margin});
    } else {
      const margin = (most - least) * 0.06 || Math.abs(most) * 0.1 || 0.5;
      this.y.setv({start: least - margin, end: most + margin});
    }
  }

  linesOf(run) {
    if (!this.lines.has(run)) {
      const line = width => this.figure.line({field: "x"}, {field: "y"}, {
        source: new Bokeh.ColumnDataSource({data: {x: [], y: []}}), line_color: colourOf(run), line_width: width,
        line_join: "round"});
      this.lines.set(run, {raw: line(1.3), smooth: line(2)});
    }
    return this.lines.get(run);
  }

  // Arrows go from point to point, Home and End to the first and the last one.
  walk(event) {
    const abscissae = Object.values(this.curves).map(curve => curve.shown_x).sort((a, b) => b.length - a.length)[0];
    if (!abscissae || !abscissae.length) return;
    const last = abscissae.length - 1;
    const at = this.at === undefined ? last : this.at;
    const places = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last};
    if (!Object.hasOwn(places, event.key)) return;
    this.at = Math.max(0, Math.min(last, places[event.key]));
    this.point(abscissae[this.at]);
    event.preventDefault();
    event.stopPropagation();
  }

  // Tell the values at an abscissa.
  point(x) {
    const rows = [];
    for (const [run, curve] of Object.entries(this.curves)) {
      if (!curve.x.length) continue;
      const at = nearest(curve.shown_x, x);
      const smooth = curve.smooth_y ? curve.smooth_y[nearest(curve.drawn_x, x)] : null;
      rows.push({run, value: curve.y[at], smooth, step: curve.steps[at], wall: curve.walls[at]});
    }
    if (!rows.length) return;
    const {left, top, width, height} = this.plot.getBoundingClientRect();
    const inner = width - 60;
    const share = (x - this.x.start) / (this.x.end - this.x.start);
    tooltip.show(rows, left + 50 + share * inner, top + height / 2);
  }
}

// The middle nine tenths of some numbers: their bounds.
function middle(numbers) {
  const sorted = numbers.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length < 20) return sorted;
  return [sorted[Math.floor(sorted.length * 0.05)], sorted[Math.floor(sorted.length * 0.95)]];
}
