// A matrix of numbers from −limit to limit in colours: hover, tap or arrow keys name a cell and its value.
(() => {
  "use strict";
  const MARGIN = 6, LETTER = 0.62; // [px] room around, width of a letter over its height
  const rgb = (name) => { const hex = report.colour(name); return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16)); };
  const signed = (v) => (v < 0 ? "−" : "") + Math.abs(v).toFixed(2);

  class HeatMap {
    constructor(figure) {
      this.data = report.data(figure);
      this.rows = this.data.names;
      this.columns = this.data.columns;
      this.same = this.rows.join() === this.columns.join();
      this.canvas = figure.querySelector("canvas");
      this.told = figure.querySelector("output");
      this.hint = this.told.textContent;
      this.cell = null;
      this.drawn = false;
      const at = (event) => this.under(event.offsetX, event.offsetY);
      this.canvas.addEventListener("pointermove", (event) => this.choose(at(event)));
      this.canvas.addEventListener("pointerdown", (event) => this.choose(at(event)));
      this.canvas.addEventListener("pointerleave", () => this.choose(null));
      this.canvas.addEventListener("keydown", (event) => this.key(event));
      report.on("theme", () => { if (this.drawn || report.state.printing) this.draw(); });
      new ResizeObserver(() => { if (this.drawn) this.draw(); }).observe(this.canvas.parentElement);
      new IntersectionObserver((seen) => { if (!this.drawn && seen[0].isIntersecting) this.draw(); }, { rootMargin: "300px" }).observe(this.canvas);
    }

    value(row, column) { return this.data.values[row * this.columns.length + column]; }

    // sizes in CSS pixels; letters shrink with the cells, and names are left out where they would overlap
    layout() {
      const width = Math.max(this.canvas.parentElement.clientWidth, 240), most = (names) => Math.max(...names.map((n) => n.length));
      let letter = 11, edge, top, side;
      for (; letter >= 7; letter -= 0.5) {
        edge = Math.ceil(LETTER * letter * most(this.rows)) + MARGIN;
        top = Math.ceil(LETTER * letter * most(this.columns)) + MARGIN;
        side = Math.min((width - edge - MARGIN) / this.columns.length, 22);
        if (side >= letter) break;
      }
      const right = edge + side * this.columns.length + MARGIN, bottom = top + side * this.rows.length + MARGIN;
      return { edge, top, side, letter, every: Math.max(1, Math.ceil(letter / side)), right, bottom };
    }

    colour(v) {
      const [zero, end] = [rgb("card"), rgb(v < 0 ? "minus" : "plus")], share = Math.min(Math.abs(v) / this.data.limit, 1);
      return `rgb(${zero.map((c, k) => Math.round(c + share * (end[k] - c))).join(" ")})`;
    }

    draw() {
      this.drawn = true;
      const { edge, top, side, letter, every, right, bottom } = this.place = this.layout(), ratio = devicePixelRatio || 1, { canvas, rows, columns } = this;
      canvas.width = Math.round(right * ratio);
      canvas.height = Math.round(bottom * ratio);
      canvas.style.width = right + "px";
      canvas.style.height = bottom + "px";
      const ink = canvas.getContext("2d");
      ink.scale(ratio, ratio);
      ink.fillStyle = report.colour("grid");
      ink.fillRect(edge, top, side * columns.length, side * rows.length);
      const gap = side > 8 ? 0.5 : 0;
      for (let i = 0; i < rows.length; i++) for (let j = 0; j < columns.length; j++) {
        if (Number.isNaN(this.value(i, j))) continue;
        ink.fillStyle = this.colour(this.value(i, j));
        ink.fillRect(edge + j * side, top + i * side, side - gap, side - gap);
      }
      ink.font = `${letter}px system-ui, sans-serif`;
      ink.textBaseline = "middle";
      const shown = (k, axis) => { const chosen = this.cell && (this.cell[axis] === k || (this.same && this.cell.includes(k))); ink.fillStyle = report.colour(chosen ? "ink" : "soft"); return chosen || k % every === 0; };
      rows.forEach((name, k) => {
        if (!shown(k, 0)) return;
        ink.textAlign = "right";
        ink.fillText(name, edge - 3, top + (k + 0.5) * side);
      });
      columns.forEach((name, k) => {
        if (!shown(k, 1)) return;
        ink.save();
        ink.translate(edge + (k + 0.5) * side, top - 3);
        ink.rotate(-Math.PI / 2);
        ink.textAlign = "left";
        ink.fillText(name, 0, 0);
        ink.restore();
      });
      if (!this.cell) return;
      const [i, j] = this.cell;
      ink.strokeStyle = report.colour("ink");
      ink.lineWidth = 1.5;
      ink.strokeRect(edge + j * side - 0.75, top + i * side - 0.75, side + 1, side + 1);
    }

    under(x, y) {
      if (!this.place) return null;
      const [i, j] = [[y, this.place.top], [x, this.place.edge]].map(([v, from]) => Math.floor((v - from) / this.place.side));
      return i >= 0 && j >= 0 && i < this.rows.length && j < this.columns.length ? [i, j] : null;
    }

    choose(cell) {
      if (String(cell) === String(this.cell)) return;
      this.cell = cell;
      this.told.textContent = cell ? `${this.rows[cell[0]]} and ${this.columns[cell[1]]}: ${signed(this.value(...cell))}` : this.hint;
      this.draw();
    }

    key(event) {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const limit = (v, k) => Math.min(Math.max(v, 0), [this.rows, this.columns][k].length - 1);
      this.choose(this.cell ? this.cell.map((v, k) => limit(v + step[k], k)) : [0, 0]);
    }
  }

  for (const figure of document.querySelectorAll("figure.heat")) report.maps.push(new HeatMap(figure));
})();
