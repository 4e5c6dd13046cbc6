// Line plots: all joints as percentages of their limits, or one joint in its unit with its limits.
// A plot is drawn when it comes near the screen, or when the page is printed.
(() => {
  "use strict";
  const groups = new Map();
  const percent = (line) => line.lower !== null && line.upper !== null && line.upper > line.lower;
  const scaled = (line) => {
    const middle = (line.lower + line.upper) / 2, half = (line.upper - line.lower) / 2;
    return line.values.map((v) => 100 * (v - middle) / half);
  };
  const gaps = (values) => values.some(Number.isNaN) ? Array.from(values, (v) => Number.isNaN(v) ? null : v) : values;
  const short = (v) => v === null || v === undefined ? "" : String(Number(v.toPrecision(4))).replace("-", "−");

  const power = (v) => { // a tick of a logarithmic axis
    const e = Math.round(Math.log10(v));
    return Math.abs(e) < 4 ? short(v) : `${v / 10 ** e > 1.5 ? short(v / 10 ** e) + "·" : ""}10${[...String(e)].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("")}`;
  };

  // what is visible: lines with their colours, a unit, and levels to be drawn as limits
  const content = (data, byJoint, joint) => {
    const before = (k) => data.lines.filter((_, i) => i < k && !data.band?.includes(i)).length; // a band has its own colour
    const all = data.lines.map((line, k) => ({ ...line, colour: () => line.colour ? report.colour(line.colour) : report.lineColour(before(k)), dash: before(k) < 8 ? [] : [6, 3] }));
    if (!byJoint) return { lines: all, unit: "", levels: data.level === null ? [] : [data.level], note: "" };
    if (joint >= 0) {
      const line = all[joint], levels = [line.lower, line.upper].filter((level) => level !== null);
      return { lines: [line], unit: line.unit, levels, note: "" };
    }
    const limited = all.filter(percent);
    const units = [...new Set(all.map((line) => line.unit))].join(" or ");
    if (limited.length === 0) return { lines: all, unit: units, levels: [], note: "" };
    const lines = limited.map((line) => ({ ...line, values: scaled(line) }));
    const without = all.filter((line) => !percent(line)).map((line) => line.name);
    return { lines, unit: "% of limit", levels: [-100, 100],
      note: without.length ? "without limits, shown one by one: " + without.join(", ") : "" };
  };

  const drawLevels = (levels) => (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = report.colour("poor");
    ctx.lineWidth = 1.25 * devicePixelRatio;
    ctx.setLineDash([7 * devicePixelRatio, 4 * devicePixelRatio]);
    for (const level of levels) {
      const y = Math.round(u.valToPos(level, "y", true));
      if (y < bbox.top - 1 || y > bbox.top + bbox.height + 1) continue;
      ctx.beginPath(); ctx.moveTo(bbox.left, y); ctx.lineTo(bbox.left + bbox.width, y); ctx.stroke();
    }
    ctx.restore();
  };

  // line k of n as bars, beside those of the other lines
  const bars = (k, n) => (u, series, first, last) => {
    const path = new Path2D(), [xs, ys] = [u.data[0], u.data[series]], x = (i) => u.valToPos(xs[i], "x", true);
    const step = Math.min((x(1) - x(0)) / (n + 2), 5 * devicePixelRatio), zero = u.valToPos(0, "y", true);
    for (let i = first; i <= last; i++) {
      const at = x(i) + (k - (n - 1) / 2) * step;
      path.moveTo(at, zero);
      path.lineTo(at, u.valToPos(ys[i], "y", true));
    }
    return { stroke: path };
  };

  const rangeWith = (levels) => (_, low, high) => {
    low = Math.min(low ?? 0, ...levels); high = Math.max(high ?? 1, ...levels);
    const room = 0.06 * (high - low) || Math.abs(high) || 1;
    return [low - room, high + room];
  };

  class LinePlot {
    constructor(figure) {
      this.figure = figure;
      this.group = figure.dataset.group ?? "";
      this.byJoint = figure.dataset.byJoint !== undefined;
      this.box = figure.querySelector(".canvas");
      this.note = figure.appendChild(Object.assign(document.createElement("p"), { className: "note" }));
      this.note.hidden = true;
      this.range = null;
      if (this.group) groups.set(this.group, [...(groups.get(this.group) ?? []), this]);
      new ResizeObserver(() => this.resize()).observe(this.box);
      this.box.addEventListener("focus", () => { if (!this.u) this.build(); });
      this.box.addEventListener("keydown", (event) => this.key(event));
      report.on("theme", () => { if (this.u || report.state.printing) this.build(); });
      if (this.byJoint) report.on("joint", () => this.u && this.build());
      if (this.group) report.on("time", (t) => this.mark(t));
    }

    // unpacked when first needed
    get data() { return this.unpacked ??= report.data(this.figure); }
    get full() { return [this.data.x[0], this.data.x[this.data.x.length - 1]]; }
    get shown() { return content(this.data, this.byJoint, report.state.joint); }
    get moves() { return report.moves.has(this.group); } // whether the robot can be sent to an instant of this plot

    get size() { return { width: Math.max(this.box.clientWidth, 120), height: 230 }; }

    resize() {
      if (!this.u || !this.box.clientWidth || this.box.clientWidth === this.u.width) return;
      this.u.setSize(this.size);
      this.mark(report.state.time);
    }


    options(shown) {
      const { data } = this, axis = { stroke: () => report.colour("soft"), font: "12px system-ui, sans-serif",
        grid: { stroke: () => report.colour("grid"), width: 1 }, ticks: { stroke: () => report.colour("grid"), width: 1 } };
      const label = data.yLabel + (shown.unit ? ` [${shown.unit}]` : "");
      const unit = data.xLabel.match(/ \[(.*)\]$/) ? " " + data.xLabel.match(/ \[(.*)\]$/)[1] : ""; // of the instant under the pointer
      const minus = (_, values) => values.map((v) => v === null ? "" : short(v));
      const powers = (_, values) => values.map((v) => v === null ? "" : power(v));
      const path = (k) => shown.lines[k].points ? { paths: () => null, points: { show: true, size: 2.2 * shown.lines[k].width, width: 0, fill: shown.lines[k].colour } }
        : data.steps ? { paths: uPlot.paths.stepped({ align: 1 }) }
        : data.bars ? { paths: bars(k, shown.lines.length), width: 3.5 } : {};
      const [low, high] = data.band ?? [-1, -1]; // the legend names the band once, with both ends
      const between = (u, v, _, i) => i === null || i === undefined ? "" : `${short(u.data[low + 1][i])} … ${short(u.data[high + 1][i])}`;
      const banded = (k) => k === low ? { label: data.bandLabel, value: between, stroke: () => report.colour("band-edge") }
        : k === high ? { class: "unlisted", stroke: () => report.colour("band-edge") } : {};
      return {
        ...this.size,
        padding: [8, 10, 0, 0],
        scales: { x: { time: false }, y: data.log ? { distr: 3 } : { range: rangeWith(shown.levels) } },
        axes: [{ ...axis, label: data.xLabel, labelSize: 18, labelFont: axis.font, labelGap: -2, size: 32, values: minus },
          { ...axis, label, labelSize: 20, labelFont: axis.font, size: (_, ticks) => 24 + 6.6 * Math.max(4, ...(ticks ?? []).map((t) => t.length)), values: data.log ? powers : minus }],
        series: [{ label: "", value: (_, v) => v === null || v === undefined ? "" : `at ${short(v)}${unit}` }, ...shown.lines.map((line, k) => ({
          label: line.name, stroke: line.colour, width: k === low || k === high ? 0.6 : line.width, dash: line.dash, value: (_, v) => short(v), pxAlign: 0,
          points: { show: false }, ...path(k), ...banded(k) }))],
        bands: data.band ? [{ series: [high + 1, low + 1], fill: () => report.colour("band") }] : [],
        cursor: { drag: { x: true, y: false }, sync: this.group ? { key: this.group, setSeries: false } : undefined },
        hooks: { draw: [drawLevels(shown.levels)], setScale: [(_, key) => key === "x" && this.zoomed()],
          ready: [(u) => this.ready(u)] },
      };
    }

    build() {
      if (this.u) this.u.destroy();
      const { shown } = this;
      this.note.textContent = shown.note;
      this.note.hidden = !shown.note;
      this.building = true;
      this.u = new uPlot(this.options(shown), [this.data.x, ...shown.lines.map((line) => gaps(line.values))], this.box);
      this.building = false;
      if (this.range) this.zoom(...this.range);
      this.mark(report.state.time);
    }

    // a click (not a drag) sends the robot to that instant
    ready(u) {
      this.head = u.over.appendChild(Object.assign(document.createElement("div"), { className: "playhead", hidden: true }));
      let from = 0;
      u.over.addEventListener("mousedown", (event) => { from = event.clientX; });
      u.over.addEventListener("click", (event) => {
        if (this.moves && Math.abs(event.clientX - from) < 3)
          report.show(this.group, Math.min(Math.max(u.posToVal(event.offsetX, "x"), this.full[0]), this.full[1]));
      });
    }

    mark(t) {
      if (!this.moves || !this.head) return;
      const { min, max } = this.u.scales.x;
      this.head.hidden = !(this.group === report.state.motion && t >= min && t <= max);
      if (!this.head.hidden) this.head.style.left = this.u.valToPos(t, "x") + "px";
    }

    zoom(min, max) {
      const width = Math.min(max - min, this.full[1] - this.full[0]);
      const low = Math.min(Math.max(min, this.full[0]), this.full[1] - width);
      this.u.setScale("x", { min: low, max: low + width });
    }

    zoomed() {
      if (this.building) return;
      const { min, max } = this.u.scales.x;
      const same = this.range && this.range[0] === min && this.range[1] === max;
      this.range = [min, max];
      this.mark(report.state.time);
      if (same || !this.group) return;
      for (const other of groups.get(this.group))
        if (other !== this) other.follow(min, max);
    }

    follow(min, max) {
      if (!this.u) this.range = [min, max];
      else if (this.u.scales.x.min !== min || this.u.scales.x.max !== max) this.u.setScale("x", { min, max });
    }

    key(event) {
      const { min, max } = this.u.scales.x, width = max - min, middle = (min + max) / 2;
      const to = { ArrowLeft: [min - width / 8, max - width / 8], ArrowRight: [min + width / 8, max + width / 8],
        "+": [middle - width / 3, middle + width / 3], "=": [middle - width / 3, middle + width / 3],
        "-": [middle - width * 0.75, middle + width * 0.75], 0: this.full, Escape: this.full }[event.key];
      if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.zoom(...to);
    }
  }

  const near = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    near.unobserve(entry.target);
    const plot = report.plots.find((one) => one.box === entry.target);
    if (!plot.u) plot.build();
  }), { rootMargin: "300px" });
  for (const figure of document.querySelectorAll("figure.plot")) {
    const plot = new LinePlot(figure);
    report.plots.push(plot);
    near.observe(plot.box);
  }
})();
