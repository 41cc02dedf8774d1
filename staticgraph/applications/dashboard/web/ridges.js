"use strict";
// Histograms of a tag over the steps: one ridge for each, the newest in front.

class Ridges extends Card {
  constructor(run, tag) {
    super(1000);
    this.run = run;
    this.tag = tag;
    this.plot = make("div", {className: "plot"});
    this.unit = make("div", {className: "unit"});
    this.card = make("section", {className: "card", "aria-label": `${tag} of ${run}`, "data-tag": tag},
      make("h3", {}, make("span", {className: "name"}, tag), make("span", {className: "run"}, run)),
      this.plot, this.unit);
    this.card.chart = this;
  }

  rebuild() {
    if (this.visible) this.refresh();
  }

  async ask() {
    const found = await source.histograms(this.run, this.tag);
    if (!found.length) return;
    const quiet = styleOf("--quiet"), line = styleOf("--line");
    const low = Math.min(...found.map(each => each.edges[0]));
    const high = Math.max(...found.map(each => each.edges[each.edges.length - 1]));
    const steps = found.map((_, index) => index);
    const figure = Bokeh.Plotting.figure({
      height: 232, sizing_mode: "stretch_width", toolbar_location: null, tools: [],
      x_range: new Bokeh.Range1d({start: low, end: high}),
      y_range: new Bokeh.Range1d({start: found.length + 0.3, end: -2.6}),
      background_fill_color: null, border_fill_color: null, outline_line_color: null,
      min_border_left: 44, min_border_right: 8, min_border_top: 6, min_border_bottom: 20,
    });
    for (const axis of [...figure.below, ...figure.left]) {
      axis.setv({axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: null,
        major_label_text_color: quiet, major_label_text_font_size: "11px", major_label_text_font: "system-ui"});
    }
    const every = Math.max(1, Math.ceil(found.length / 6));
    const ticks = steps.filter(index => index % every === 0);
    figure.left[0].ticker = new Bokeh.FixedTicker({ticks});
    figure.left[0].major_label_overrides = new Map(ticks.map(index => [index, String(found[index].step)]));
    for (const part of figure.center) {
      if ("grid_line_color" in part) part.grid_line_color = null;
    }
    // A ridge is its outline, upwards from its own base line, as high as three distances between ridges.
    const xs = [], ys = [];
    for (const [index, {edges, counts}] of found.entries()) {
      const width = edges[1] - edges[0];
      const density = counts.map(count => count / width);
      const tallest = Math.max(...density) || 1;
      const x = [edges[0]], y = [index + 0.12];
      for (const [bar, each] of density.entries()) {
        x.push(edges[bar], edges[bar + 1]);
        y.push(index - 2.4 * each / tallest, index - 2.4 * each / tallest);
      }
      x.push(edges[edges.length - 1]);
      y.push(index + 0.12);
      xs.push(x);
      ys.push(y);
    }
    const alphas = steps.map(index => 0.35 + 0.5 * (index + 1) / found.length);
    figure.patches({field: "xs"}, {field: "ys"}, {
      source: new Bokeh.ColumnDataSource({data: {xs, ys, alphas}}), fill_color: colourOf(this.run),
      fill_alpha: {field: "alphas"}, line_color: styleOf("--card"), line_width: 0.8});
    this.plot.replaceChildren();
    await Bokeh.Plotting.show(figure, this.plot);
    this.unit.textContent = `${found.length} steps, the newest in front; ${counted(found.at(-1).number)} values`;
  }
}
