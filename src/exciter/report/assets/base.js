// What all parts of a report share: embedded data, colours, the chosen joint, the instant shown; and tables.
const report = (() => {
  "use strict";
  const listeners = { joint: [], time: [], theme: [] };
  const state = { joint: -1, time: 0, motion: "", printing: false };
  const on = (what, call) => listeners[what].push(call);
  const moves = new Set(); // motions that the robot of the page can replay, each the name of a group of plots
  const show = (motion, time) => { if (moves.has(motion)) state.motion = motion; tell("time", time); };
  const tell = (what, value) => { state[what] = value; listeners[what].forEach((call) => call(value)); };

  const arrays = { f32: Float32Array, u16: Uint16Array, u32: Uint32Array }; // packed as base64 under these keys
  const unpack = (value) => {
    const kind = value && Object.keys(arrays).find((key) => typeof value[key] === "string");
    return kind ? new arrays[kind](Uint8Array.from(atob(value[kind]), (c) => c.charCodeAt(0)).buffer) : value;
  };
  const data = (figure) => JSON.parse(figure.querySelector('script[type="application/json"]').textContent, (_, value) => unpack(value));

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const lineColour = (k) => colour("c" + k % 8);

  // theme: system, light, dark; paper is always light
  const root = document.documentElement, button = document.getElementById("theme"), themes = ["system", "light", "dark"];
  let theme = 0;
  const paint = () => {
    const name = state.printing ? "light" : themes[theme];
    if (name === "system") root.removeAttribute("data-theme"); else root.dataset.theme = name;
    button.textContent = "Theme: " + themes[theme];
    tell("theme", name);
  };
  button.addEventListener("click", () => { theme = (theme + 1) % 3; paint(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  const print = (printing) => () => {
    state.printing = printing;
    root.classList.toggle("printing", printing); // drawings are made as wide as the paper
    document.querySelectorAll("details").forEach((part) => { if (printing) part.open = true; });
    paint();
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));

  // one joint or all of them, everywhere at once
  const choices = [...document.querySelectorAll(".joints button")];
  choices.forEach((choice) => choice.addEventListener("click", () => tell("joint", Number(choice.dataset.joint))));
  on("joint", (joint) => choices.forEach((c) => c.setAttribute("aria-pressed", Number(c.dataset.joint) === joint)));
  const ofJoint = [...document.querySelectorAll(".of-joint")];
  on("joint", (joint) => ofJoint.forEach((part) => { part.hidden = joint >= 0 && Number(part.dataset.joint) !== joint; }));

  // tables: unknown values last, whichever way
  const order = new Intl.Collator(undefined, { numeric: true });
  const sortBy = (table, column, down) => {
    const cell = (row) => row.cells[column], body = table.tBodies[0];
    const numeric = [...body.rows].some((row) => cell(row).dataset.sort !== undefined);
    const value = (row) => numeric ? Number(cell(row).dataset.sort ?? NaN) : cell(row).textContent;
    const compare = (a, b) => {
      const x = value(a), y = value(b);
      if (!numeric) return (down ? -1 : 1) * order.compare(x, y);
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
      return (down ? -1 : 1) * (x - y);
    };
    body.append(...[...body.rows].sort(compare));
  };
  for (const table of document.querySelectorAll("table.sortable"))
    [...table.tHead.rows[0].cells].forEach((head, column, heads) => head.firstElementChild.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sortBy(table, column, down);
    }));

  return { state, on, tell, show, moves, data, colour, lineColour, plots: [], scenes: [], maps: [] };
})();
