"use strict";
// What all cards share: they ask when something has changed, one question at a time, and not too often.

class Card {
  constructor(pause) {
    this.pause = pause; // milliseconds between two questions, at least
    this.visible = false;
    this.stale = true;
    this.zoom = null;
  }

  // Make what is drawn anew, for the theme of now.
  rebuild() {}

  // Ask and draw; once more if something has changed meanwhile.
  async refresh() {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    try {
      do {
        this.again = false;
        const begun = performance.now();
        await this.ask().catch(error => {
          if (!source.live) throw error;
          console.info(String(error)); // the server has gone; the status line says so
        });
        const took = performance.now() - begun;
        if (took < this.pause || this.again) {
          await new Promise(resolve => setTimeout(resolve, Math.max(this.pause - took, Math.min(took, 1000))));
        }
      } while (this.again);
    } finally {
      this.busy = false;
    }
  }
}
