// The robot moving: kinematics from the joint positions, simple shapes with one light, drawn by WebGL 2 on demand.
(() => {
  "use strict";
  const VERTEX = `#version 300 es
    in vec3 position; in vec3 normal;
    uniform mat4 model, view;
    out vec3 n; out vec3 p;
    void main() { vec4 w = model * vec4(position, 1.0); p = w.xyz; n = mat3(model) * normal; gl_Position = view * w; }`;
  const FRAGMENT = `#version 300 es
    precision highp float;
    in vec3 n; in vec3 p;
    uniform vec3 colour, eye; uniform float lit, alpha;
    out vec4 pixel;
    void main() {
      vec3 m = normalize(n), to = normalize(eye - p), sun = normalize(vec3(0.35, -0.45, 0.85));
      if (dot(m, to) < 0.0) m = -m;
      float light = 0.42 + 0.22 * (0.5 + 0.5 * m.z) + 0.42 * max(dot(m, sun), 0.0);
      float shine = 0.16 * pow(max(dot(m, normalize(sun + to)), 0.0), 40.0);
      pixel = vec4(lit > 0.5 ? colour * light + shine : colour, alpha);
    }`;

  // -- meshes: [position, normal] per corner, triangles ---------------------------------------------------------
  const lathe = (profile, turns = 36) => {
    const corners = [];
    const corner = ([r, z, nr, nz], k) => {
      const a = 2 * Math.PI * k / turns;
      corners.push(r * Math.cos(a), r * Math.sin(a), z, nr * Math.cos(a), nr * Math.sin(a), nz);
    };
    for (let i = 0; i + 1 < profile.length; i += 1)
      for (let k = 0; k < turns; k++)
        for (const [row, step] of [[i, 0], [i, 1], [i + 1, 1], [i, 0], [i + 1, 1], [i + 1, 0]]) corner(profile[row], k + step);
    return corners;
  };
  const arc = [...Array(19).keys()].map((k) => Math.PI * (k / 18 - 0.5));
  const sphere = lathe(arc.map((a) => [Math.cos(a), Math.sin(a), Math.cos(a), Math.sin(a)]));
  const tube = lathe([[1, -0.5, 1, 0], [1, 0.5, 1, 0]]);
  const drum = [...tube, ...lathe([[0, 0.5, 0, 1], [1, 0.5, 0, 1]]), ...lathe([[0, -0.5, 0, -1], [1, -0.5, 0, -1]])];
  const box = [0, 1, 2].flatMap((axis) => [-1, 1].flatMap((side) =>
    [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]].flatMap(([a, b]) => {
      const position = [0, 0, 0], normal = [0, 0, 0];
      position[axis] = side / 2; position[(axis + 1) % 3] = a / 2; position[(axis + 2) % 3] = b / 2; normal[axis] = side;
      return [...position, ...normal];
    })));
  const pathTube = (points, radius, sides = 6) => {
    const rings = points.map((point, k) => {
      const along = mat.unit(mat.add(points[Math.min(k + 1, points.length - 1)], points[Math.max(k - 1, 0)], -1));
      const turn = mat.facing(Math.hypot(...along) > 0.5 ? along : [0, 0, 1]);
      return [...Array(sides + 1).keys()].map((s) => {
        const a = 2 * Math.PI * s / sides, normal = mat.apply(turn, [Math.cos(a), Math.sin(a), 0]);
        return [...mat.add(point, normal, radius), ...normal];
      });
    });
    const corners = [];
    for (let k = 0; k + 1 < rings.length; k++)
      for (let s = 0; s < sides; s++)
        corners.push(...rings[k][s], ...rings[k][s + 1], ...rings[k + 1][s + 1], ...rings[k][s], ...rings[k + 1][s + 1], ...rings[k + 1][s]);
    return corners;
  };

  // triangles of a mesh file: corners share a normal where the surface bends little
  const surface = ({ low, step, vertices, faces }) => {
    const points = Float32Array.from(vertices, (v, k) => low[k % 3] + step[k % 3] * v), corners = new Float32Array(6 * faces.length);
    const at = (v) => [points[3 * v], points[3 * v + 1], points[3 * v + 2]], sums = new Float32Array(points.length), flat = [];
    for (let f = 0; f < faces.length; f += 3) {
      const [a, b, c] = [at(faces[f]), at(faces[f + 1]), at(faces[f + 2])], normal = mat.cross(mat.add(b, a, -1), mat.add(c, a, -1));
      for (let k = 0; k < 9; k++) sums[3 * faces[f + Math.floor(k / 3)] + k % 3] += normal[k % 3];
      flat.push(mat.unit(normal));
    }
    for (let k = 0; k < faces.length; k++) {
      const v = faces[k], shared = mat.unit([sums[3 * v], sums[3 * v + 1], sums[3 * v + 2]]), own = flat[Math.floor(k / 3)];
      corners.set([...at(v), ...(mat.dot(shared, own) > 0.7 ? shared : own)], 6 * k);
    }
    return corners;
  };
  // the corners of its box, in the frame of the body
  const boxCorners = ({ low, step }, { rotation, translation }) => [...Array(8).keys()].map((k) =>
    mat.add(translation, mat.apply(rotation, low.map((v, i) => v + (k >> i & 1) * 65535 * step[i]))));

  // at most a thousand points, both ends included
  const thinned = (points) => points.length <= 1000 ? points : Array.from({ length: 1000 }, (_, k) => points[Math.round(k * (points.length - 1) / 999)]);

  // -- kinematics ----------------------------------------------------------------------------------------------
  // placement {r, p} of every joint frame in the upright view; −1, the base, is stored last
  const placements = (data, q) => {
    const base = { r: data.upright, p: [0, 0, 0] }, bodies = [];
    data.joints.forEach((joint, i) => {
      const parent = joint.parent < 0 ? base : bodies[joint.parent];
      const p = mat.add(parent.p, mat.apply(parent.r, joint.translation)), r = mat.times(parent.r, joint.rotation);
      bodies.push(joint.prismatic ? { r, p: mat.add(p, mat.apply(r, joint.axis), q[i]) }
        : { r: mat.times(r, mat.turn(joint.axis, q[i])), p });
    });
    bodies[-1] = base;
    return bodies;
  };
  const positionsAt = ({ time, q }, t) => {
    const last = time.length - 1, n = q.length / time.length;
    const at = Math.min(Math.max((t - time[0]) / (time[last] - time[0] || 1), 0), 1) * last;
    const k = Math.min(Math.floor(at), last - 1), part = at - k;
    return Array.from({ length: n }, (_, j) => (1 - part) * q[k * n + j] + part * q[(k + 1) * n + j]);
  };
  // half the size of a shape along its longest way
  const extent = ({ kind, size }) => kind === "box" ? Math.hypot(...size) / 2 : kind === "sphere" ? size[0]
    : size[0] + size[1] / 2;
  const point = (body, local) => mat.add(body.p, mat.apply(body.r, local));

  class Scene {
    constructor(figure) {
      this.canvas = figure.querySelector("canvas");
      this.data = report.data(figure);
      for (const motion of this.data.motions) {
        report.moves.add(motion.group);
        motion.corners = Array.from({ length: motion.path.length / 3 }, (_, k) =>
          mat.apply(this.data.upright, [...motion.path.subarray(3 * k, 3 * k + 3)]));
      }
      report.state.motion = this.data.motions[0].group;
      this.speed = 1;
      this.measure();
      this.camera();
      this.gl = this.canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
      this.addControls(figure);
      if (this.gl) this.prepare();
      else figure.append(Object.assign(document.createElement("p"), { className: "note",
        textContent: "This browser offers no WebGL 2, so the robot cannot be drawn; the path is shown below." }));
      report.on("time", (t) => { this.tellTime(t); this.request(); });
      report.on("theme", () => { if (report.state.printing) this.freeze(); else { this.picture?.remove(); this.request(); } });
      report.on("joint", () => this.request());
      new ResizeObserver(() => this.request()).observe(this.canvas);
      this.markers = [...document.querySelectorAll(".projections svg")];
      report.on("time", (t) => this.markPath(t));
    }

    get motion() { return this.data.motions.find((one) => one.group === report.state.motion) ?? this.data.motions[0]; }
    get start() { return this.motion.time[0]; }
    get end() { return this.motion.time[this.motion.time.length - 1]; }
    placements(t) { return placements(this.data, positionsAt(this.motion, t)); }

    // size of everything that is ever reached, for the camera and the thickness of lines
    measure() {
      const low = [0, 0, 0], high = [0, 0, 0];
      const reach = (p, r = 0) => { for (let i = 0; i < 3; i++) { low[i] = Math.min(low[i], p[i] - r); high[i] = Math.max(high[i], p[i] + r); } };
      for (const motion of this.data.motions) {
        for (let k = 0; k <= 40; k++) {
          const { time } = motion, bodies = placements(this.data, positionsAt(motion, time[0] + (time[time.length - 1] - time[0]) * k / 40));
          bodies.forEach((body) => reach(body.p));
          for (const shape of this.data.shapes) this.ends(shape).forEach(([p, r]) => reach(point(bodies[shape.joint], p), r));
        }
        motion.corners.forEach((p) => reach(p));
      }
      const still = this.data.shapes.filter((shape) => shape.joint < 0).flatMap((shape) => this.ends(shape));
      this.floor = Math.min(0, ...still.map(([p, r]) => mat.apply(this.data.upright, p)[2] - r)); // the base stands on it, unless the ground is known
      if (this.data.upright[8] < 0.9) this.floor = low[2]; // on a wall or under a ceiling it stands on no floor
      for (const { ground, rotation: r, translation } of this.data.around.filter((shape) => shape.ground)) {
        const p = mat.apply(this.data.upright, translation), up = mat.apply(this.data.upright, [r[2], r[5], r[8]])[2];
        if (up > 0.999) this.floor = p[2];
        else this.floor = low[2];
        reach(p);
      }
      this.middle = mat.add(low, high).map((v) => v / 2);
      this.size = Math.max(Math.hypot(...mat.add(high, low, -1)) / 2, 1e-3);
      this.thin = 0.004 * this.size;
    }

    // spheres that hold a shape, in the frame of its body: [centre, radius]
    ends(shape) {
      if (shape.surface === null) return [[shape.translation, extent(shape)]];
      return boxCorners(this.data.surfaces[shape.surface], shape).map((corner) => [corner, 0]);
    }

    camera() { this.around = -0.9; this.above = 0.42; this.distance = 2.35 * this.size; this.target = [...this.middle]; }

    prepare() {
      const { gl } = this;
      const program = gl.createProgram();
      for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
        const shader = gl.createShader(kind);
        gl.shaderSource(shader, text); gl.compileShader(shader); gl.attachShader(program, shader);
      }
      gl.bindAttribLocation(program, 0, "position"); gl.bindAttribLocation(program, 1, "normal");
      gl.linkProgram(program); gl.useProgram(program);
      this.at = Object.fromEntries(["model", "view", "colour", "eye", "lit", "alpha"].map((n) => [n, gl.getUniformLocation(program, n)]));
      this.meshes = { sphere: this.mesh(sphere), tube: this.mesh(tube), drum: this.mesh(drum), box: this.mesh(box) };
      this.data.surfaces.forEach((one, k) => { this.meshes["surface " + k] = this.mesh(surface(one)); });
      this.shapes = this.data.shapes.flatMap((shape) => this.parts(shape));
      this.scenery = this.data.around.flatMap((shape) => this.surroundings(shape));
      this.request();
    }

    mesh(corners) {
      const { gl } = this, array = gl.createVertexArray();
      gl.bindVertexArray(array);
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(corners), gl.STATIC_DRAW);
      for (const k of [0, 1]) { gl.enableVertexAttribArray(k); gl.vertexAttribPointer(k, 3, gl.FLOAT, false, 24, 12 * k); }
      return { array, count: corners.length / 6 };
    }

    // a shape as stretched meshes in the frame of its body
    parts(shape) {
      const [a, b, c] = shape.size, { rotation: r, translation: p, joint, colour } = shape;
      if (shape.kind === "mesh") return [{ mesh: "surface " + shape.surface, joint, colour, local: mat.place(r, p) }];
      const fit = joint % 2 ? 0.996 : 1; // neighbours of one radius must not flicker where they overlap
      const part = (mesh, at, scale) => ({ mesh, joint, colour, local: mat.place(r, at, scale.map((s) => fit * s)) });
      if (shape.kind === "box") return [part("box", p, [a, b, c])];
      if (shape.kind === "sphere") return [part("sphere", p, [a, a, a])];
      if (shape.kind === "cylinder") return [part("drum", p, [a, a, b])];
      const half = mat.apply(r, [0, 0, b / 2]);
      return [part("tube", p, [a, a, b]), part("sphere", mat.add(p, half), [a, a, a]), part("sphere", mat.add(p, half, -1), [a, a, a])];
    }

    // planes and endless cylinders reach as far as the scene
    surroundings(shape) {
      const { kind, rotation: r, translation: p, border } = shape, far = 2 * this.size;
      const centre = this.inBase(this.middle), z = [r[2], r[5], r[8]];
      if (kind === "plane") {
        const at = mat.add(centre, z, mat.dot(z, mat.add(p, centre, -1)));
        const slab = { mesh: "box", border, ground: shape.ground, local: mat.place(r, at, [far, far, this.thin]) };
        return shape.ground ? [slab, ...this.grid(r, at, far)] : [slab];
      }
      if (kind === "cylinder") {
        const along = mat.dot(z, mat.add(centre, p, -1)), [radius, ...ends] = shape.size;
        const [low, high] = ends.map((end, k) => end ?? along + (k - 0.5) * far);
        return [{ mesh: "drum", border, local: mat.place(r, mat.add(p, z, (low + high) / 2), [radius, radius, high - low]) }];
      }
      return this.parts(shape).map((part) => ({ ...part, border }));
    }

    // lines in a plane, a round length apart, in the base
    grid(r, at, far) {
      const x = [r[0], r[3], r[6]], y = [r[1], r[4], r[7]], step = this.step(), count = Math.floor(far / 2 / step), lines = [];
      for (const [along, across] of [[x, y], [y, x]])
        for (let k = -count; k <= count; k++) {
          const middle = mat.add(at, across, k * step), ends = [-0.5, 0.5].map((s) => mat.add(middle, along, s * far));
          lines.push({ mesh: "tube", line: true, local: this.rod(...ends, 0.35 * this.thin) });
        }
      return lines;
    }

    step() { return 10 ** Math.round(Math.log10(this.size / 3)); }

    rod(from, to, radius) {
      const along = mat.add(to, from, -1), length = Math.hypot(...along);
      return mat.place(mat.facing(length ? mat.unit(along) : [0, 0, 1]), mat.add(from, along, 0.5), [radius, radius, length || 1e-9]);
    }

    // everything solid at an instant: [mesh, model matrix, colour]
    solids(t) {
      const bodies = this.placements(t), list = [];
      const [light, dark] = [rgb("link-a"), rgb("link-b")], chosen = report.state.joint;
      const tint = (joint) => joint >= 0 && joint === chosen ? rgb("c" + joint % 8) : joint % 2 ? light : dark;
      for (const { mesh, joint, local, colour } of this.shapes)
        list.push([mesh, mat.times4(mat.place(bodies[joint].r, bodies[joint].p), local), colour && joint !== chosen ? colour : tint(joint)]);
      const thick = 0.02 * this.size;
      for (const stick of this.data.sticks) {
        const from = bodies[stick.from].p, to = point(bodies[stick.to], stick.offset), colour = tint(stick.from);
        list.push(["tube", this.rod(from, to, thick), colour]);
        for (const end of [from, to]) list.push(["sphere", mat.place(mat.identity, end, [1.4 * thick, 1.4 * thick, 1.4 * thick]), colour]);
      }
      return { list, bodies };
    }

    request() {
      if (this.waiting || !this.gl) return;
      this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.draw(); });
    }

    // a canvas of WebGL comes out empty on paper: a picture of it does not
    freeze() {
      if (!this.gl) return;
      this.draw();
      this.picture?.remove();
      this.picture = Object.assign(new Image(), { src: this.canvas.toDataURL(), alt: this.canvas.getAttribute("aria-label"), className: "printed" });
      this.canvas.after(this.picture);
    }

    draw() {
      const { gl, canvas, at } = this;
      if (!gl) return;
      const ratio = Math.min(devicePixelRatio || 1, 2), width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
      if (!width || !height) return;
      if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
      gl.viewport(0, 0, width, height);
      gl.enable(gl.DEPTH_TEST);
      gl.clearColor(...rgb("floor"), 1);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      const c = Math.cos(this.above);
      const eye = mat.add(this.target, [c * Math.cos(this.around), c * Math.sin(this.around), Math.sin(this.above)], this.distance);
      const angle = 0.62 * Math.max(1, 0.8 * height / width);
      const lens = mat.perspective(angle, width / height, 0.02 * this.size, 40 * this.size);
      gl.uniformMatrix4fv(at.view, false, mat.times4(lens, mat.lookAt(eye, this.target, [0, 0, 1])));
      gl.uniform3fv(at.eye, eye);
      gl.uniform1f(at.alpha, 1);
      const { list, bodies } = this.solids(report.state.time);
      this.drawFloor(list);
      gl.uniform1f(at.lit, 1);
      for (const [mesh, model, colour] of list) this.put(mesh, model, colour);
      this.put(this.pathMesh(), mat.place(mat.identity, [0, 0, 0]), rgb("track"));
      this.drawFrame(bodies);
      this.drawAround();
    }

    // translucent, behind everything solid in front of it, hiding nothing
    drawAround() {
      const { gl, at } = this;
      gl.enable(gl.BLEND);
      gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      gl.depthMask(false);
      const upright = mat.place(this.data.upright, [0, 0, 0]);
      for (const { mesh, local, border, ground, line } of this.scenery) {
        gl.uniform1f(at.alpha, line ? 0.55 : ground ? 0.22 : border ? 0.1 : 0.25);
        this.put(mesh, mat.times4(upright, local), rgb(line || ground ? "ground" : border ? "accent" : "poor"));
      }
      gl.depthMask(true);
      gl.disable(gl.BLEND);
    }

    // made when first shown
    pathMesh() {
      const name = "path of " + this.motion.group;
      this.meshes[name] ??= this.mesh(pathTube(thinned(this.motion.corners), this.thin));
      return name;
    }

    put(name, model, colour) {
      const { gl, at } = this, mesh = this.meshes[name];
      gl.uniformMatrix4fv(at.model, false, model);
      gl.uniform3fv(at.colour, colour.slice(0, 3));
      gl.bindVertexArray(mesh.array);
      gl.drawArrays(gl.TRIANGLES, 0, mesh.count);
    }

    // a shadow straight below, then the lines of the floor, neither hiding what comes later
    drawFloor(list) {
      const { gl, at } = this, flat = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, this.floor, 1]);
      gl.uniform1f(at.lit, 0);
      gl.depthMask(false);
      for (const [mesh, model] of list) this.put(mesh, mat.times4(flat, model), rgb("shadow"));
      if (this.data.around.some((shape) => shape.ground)) { gl.depthMask(true); return; } // its own lines are drawn
      const step = this.step(), count = Math.min(Math.ceil(1.6 * this.size / step), 20);
      for (let k = -count; k <= count; k++) {
        const a = k * step, b = count * step, radius = 0.35 * this.thin;
        this.put("tube", this.rod([a, -b, this.floor], [a, b, this.floor], radius), rgb("floor-line"));
        this.put("tube", this.rod([-b, a, this.floor], [b, a, this.floor], radius), rgb("floor-line"));
      }
      gl.depthMask(true);
    }

    // the frame whose path is drawn: x red, y green, z blue
    drawFrame(bodies) {
      const { joint, rotation, translation } = this.data.frame, origin = point(bodies[joint], translation);
      const turn = mat.times(bodies[joint].r, rotation), length = 0.1 * this.size;
      [[0.85, 0.2, 0.2], [0.2, 0.65, 0.25], [0.2, 0.4, 0.9]].forEach((colour, k) =>
        this.put("tube", this.rod(origin, mat.add(origin, [turn[k], turn[3 + k], turn[6 + k]], length), 1.6 * this.thin), colour));
    }

    // from the upright view back into the base
    inBase(p) { const u = this.data.upright; return [0, 1, 2].map((i) => u[i] * p[0] + u[3 + i] * p[1] + u[6 + i] * p[2]); }

    markPath(t) {
      const bodies = this.placements(t), { joint, translation } = this.data.frame;
      const q = point(bodies[joint], translation); // upright, as the side views are
      for (const drawing of this.markers) {
        const [a, b] = drawing.dataset.axes.split(" ").map(Number), [x, sx, y, sy] = drawing.dataset.place.split(" ").map(Number);
        const dot = drawing.querySelector(".now");
        dot.setAttribute("cx", x + sx * q[a]);
        dot.setAttribute("cy", y + sy * q[b]);
      }
    }

    // -- controls ----------------------------------------------------------------------------------------------
    addControls(figure) {
      const make = (name, properties) => bar.appendChild(Object.assign(document.createElement(name), properties));
      const bar = figure.appendChild(Object.assign(document.createElement("div"), { className: "controls" }));
      this.button = make("button", { type: "button", className: "play", textContent: "Play" });
      this.choice = make("select", { ariaLabel: "Run shown", hidden: this.data.motions.length < 2, className: "runs" });
      for (const motion of this.data.motions) this.choice.append(new Option(motion.name, motion.group));
      this.choice.addEventListener("change", () => { report.state.motion = this.choice.value; report.tell("time", this.start); });
      this.scrub = make("input", { type: "range", step: "any", ariaLabel: "Time" });
      this.output = make("output", {});
      const speed = make("select", { ariaLabel: "Speed" });
      for (const s of [0.1, 0.25, 0.5, 1, 2, 4]) speed.append(new Option(s + " ×", s, s === 1, s === 1));
      for (const [text, name, factor] of [["−", "Zoom out", 1.25], ["+", "Zoom in", 0.8]])
        make("button", { type: "button", textContent: text, ariaLabel: name }).addEventListener("click", () => this.zoom(factor));
      make("button", { type: "button", textContent: "Reset view" }).addEventListener("click", () => { this.camera(); this.request(); });
      this.button.addEventListener("click", () => this.toggle());
      this.scrub.addEventListener("input", () => report.tell("time", Number(this.scrub.value)));
      speed.addEventListener("change", () => { this.speed = Number(speed.value); });
      this.tellTime(this.start);
      this.addMouse();
      this.canvas.addEventListener("keydown", (event) => this.key(event));
    }

    tellTime(t) {
      this.scrub.min = this.start; this.scrub.max = this.end; this.scrub.value = t;
      this.choice.value = this.motion.group;
      this.output.textContent = `${t.toFixed(2)} s of ${this.end.toFixed(2)} s`;
    }

    toggle() {
      this.playing = !this.playing;
      this.button.textContent = this.playing ? "Pause" : "Play";
      if (!this.playing) return;
      if (report.state.time >= this.end) report.tell("time", this.start);
      let before = performance.now();
      const step = (now) => {
        if (!this.playing) return;
        const t = report.state.time + this.speed * Math.max(now - before, 0) / 1000;
        before = now;
        report.tell("time", t > this.end ? this.start : t); // over and over
        requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    }

    turn(around, above) {
      this.around += around;
      this.above = Math.min(Math.max(this.above + above, -1.5), 1.5);
      this.request();
    }

    pan(dx, dy) {
      const right = [-Math.sin(this.around), Math.cos(this.around), 0], s = Math.sin(this.above);
      const up = [-s * Math.cos(this.around), -s * Math.sin(this.around), Math.cos(this.above)];
      const scale = 0.75 * this.distance / this.canvas.clientHeight;
      this.target = mat.add(mat.add(this.target, right, -dx * scale), up, dy * scale);
      this.request();
    }

    zoom(factor) { this.distance = Math.min(Math.max(this.distance * factor, 0.2 * this.size), 12 * this.size); this.request(); }

    addMouse() {
      const { canvas } = this, fingers = new Map();
      const spread = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a[0] - b[0], a[1] - b[1]); };
      canvas.addEventListener("contextmenu", (event) => event.preventDefault());
      canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); fingers.set(event.pointerId, [event.clientX, event.clientY]); });
      for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
      canvas.addEventListener("pointermove", (event) => {
        const old = fingers.get(event.pointerId);
        if (!old) return;
        const before = fingers.size === 2 ? spread() : 0, [dx, dy] = [event.clientX - old[0], event.clientY - old[1]];
        fingers.set(event.pointerId, [event.clientX, event.clientY]);
        if (fingers.size === 2) this.zoom(before / (spread() || 1));
        else if (event.shiftKey || event.buttons & 6) this.pan(dx, dy);
        else this.turn(-0.008 * dx, 0.008 * dy);
      });
      // the wheel scrolls the page until the picture has been clicked
      canvas.addEventListener("wheel", (event) => {
        if (document.activeElement !== canvas) return;
        event.preventDefault();
        this.zoom(Math.exp(0.0012 * event.deltaY));
      }, { passive: false });
    }

    key(event) {
      const act = { ArrowLeft: () => this.turn(-0.1, 0), ArrowRight: () => this.turn(0.1, 0), ArrowUp: () => this.turn(0, 0.1),
        ArrowDown: () => this.turn(0, -0.1), "+": () => this.zoom(0.8), "=": () => this.zoom(0.8), "-": () => this.zoom(1.25),
        " ": () => this.toggle() }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    }
  }

  const rgb = (name) => {
    const hex = report.colour(name);
    return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255);
  };

  for (const figure of document.querySelectorAll("figure.scene")) report.scenes.push(new Scene(figure));
  if (report.scenes.length) report.tell("time", report.scenes[0].start);
  // [ms] from the request of the page to its first picture after all scripts have run
  requestAnimationFrame(() => setTimeout(() => { report.ready = performance.now(); }));
})();
