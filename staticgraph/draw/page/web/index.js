// What can be asked of a stage: where things are, what they are called, what another stage has of them.

class Stage {
  constructor(data, kernels) {
    Object.assign(this, data);
    this.kernels = kernels;
    this.open = new Set(data.opened);
    this.parent = new Map();   // of a sheet: where its scope is drawn
    this.things = [];          // everything that can be found
    this.kernelAt = new Map();
    this.sheets.forEach((sheet, number) => sheet.boxes.forEach((box, i) => {
      const at = {sheet: number, box: i};
      if (box.inside !== undefined) this.parent.set(box.inside, at);
      if (box.kernel) this.kernelAt.set(box.kernel, at);
      const text = [box.title, box.tip, box.place, box.source, ...box.lines].join("\n").toLowerCase();
      this.things.push({...at, text, leaf: box.inside === undefined});
    }));
    this.leaves = this.things.filter(thing => thing.leaf);
  }

  box({sheet, box}) { return this.sheets[sheet].boxes[box]; }

  // The places of the scopes around one, from the inside out.
  around({sheet}) {
    const found = [];
    for (let at = this.parent.get(sheet); at; at = this.parent.get(at.sheet)) found.push(at);
    return found;
  }

  reveal(at) { for (const scope of this.around(at)) this.open.add(this.box(scope).inside); }

  // What is wanted is found by all its words. Scopes come last: what is in them is meant more often.
  search(wanted) {
    const words = wanted.toLowerCase().split(/\s+/).filter(word => word);
    if (!words.length) return [];
    const found = this.things.filter(({text}) => words.every(word => text.includes(word)));
    return [...found.filter(each => each.leaf), ...found.filter(each => !each.leaf)];
  }

  // The leaves that the other stage has no match for. A user's graph is compared by operation and line only.
  without(other) {
    const kind = this.name === "user" || other.name === "user" ? 1 : 0, left = new Map();
    for (const leaf of other.leaves) {
      const key = other.box(leaf).same?.[kind];
      left.set(key, (left.get(key) || 0) + 1);
    }
    return this.leaves.filter(leaf => {
      const key = this.box(leaf).same?.[kind], count = left.get(key) || 0;
      if (count) left.set(key, count - 1);
      return !count;
    });
  }

  // For each place, how many of these places are in it.
  tally(places) {
    const counts = new Map();
    for (const place of places) {
      for (const at of [place, ...this.around(place)]) {
        const key = `${at.sheet} ${at.box}`;
        counts.set(key, (counts.get(key) || 0) + 1);
      }
    }
    return counts;
  }

  // The sum of a number of kernels for each place that has kernels in it.
  heat(metric) {
    const sums = new Map();
    for (const [name, at] of this.kernelAt) {
      const value = this.kernels.get(name)[metric] || 0;
      for (const each of [at, ...this.around(at)]) {
        const key = `${each.sheet} ${each.box}`;
        sums.set(key, (sums.get(key) || 0) + value);
      }
    }
    return sums;
  }

  // The box that a port of a sheet leads to.
  beyond(sheet, port) {
    const around = this.parent.get(sheet)?.sheet, found = this.sheets[sheet].ports[port].leads;
    if (around === undefined || found === undefined) return null;
    const {boxes} = this.sheets[around];
    return found < boxes.length ? {sheet: around, box: found} : this.beyond(around, found - boxes.length);
  }

  links({sheet, box}) {
    const {links, implied, boxes, ports} = this.sheets[sheet];
    const name = i => i < boxes.length ? {title: boxes[i].title, at: {sheet, box: i}} :
      {title: ports[i - boxes.length].tip, at: this.beyond(sheet, i - boxes.length)};
    const all = [...links, ...implied];
    return {
      from: all.filter(link => link.to === box).map(link => ({link, ...name(link.from)})),
      to: all.filter(link => link.from === box).map(link => ({link, ...name(link.to)})),
    };
  }
}
