// 3×3 matrices are row by row, as the data; 4×4 ones column by column, as WebGL wants them.
const mat = (() => {
  "use strict";
  const identity = [1, 0, 0, 0, 1, 0, 0, 0, 1];
  const times = (a, b) => {
    const c = new Array(9);
    for (let i = 0; i < 3; i++)
      for (let j = 0; j < 3; j++) c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
    return c;
  };
  const apply = (a, v) => [0, 3, 6].map((i) => a[i] * v[0] + a[i + 1] * v[1] + a[i + 2] * v[2]);
  const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => { const n = Math.hypot(...a) || 1; return [a[0] / n, a[1] / n, a[2] / n]; };
  // Rodrigues' formula
  const turn = ([x, y, z], angle) => {
    const c = Math.cos(angle), s = Math.sin(angle), k = 1 - c;
    return [c + k * x * x, k * x * y - s * z, k * x * z + s * y, k * x * y + s * z, c + k * y * y, k * y * z - s * x,
      k * x * z - s * y, k * y * z + s * x, c + k * z * z];
  };
  // a rotation whose third column is the unit vector z
  const facing = (z) => {
    const x = unit(cross(Math.abs(z[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], z)), y = cross(z, x);
    return [x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]];
  };
  const place = (r, p, [a, b, c] = [1, 1, 1]) => new Float32Array([r[0] * a, r[3] * a, r[6] * a, 0, r[1] * b, r[4] * b,
    r[7] * b, 0, r[2] * c, r[5] * c, r[8] * c, 0, p[0], p[1], p[2], 1]);
  const times4 = (a, b) => {
    const c = new Float32Array(16);
    for (let j = 0; j < 4; j++)
      for (let i = 0; i < 4; i++)
        for (let k = 0; k < 4; k++) c[4 * j + i] += a[4 * k + i] * b[4 * j + k];
    return c;
  };
  const lookAt = (eye, target, up) => {
    const z = unit(add(eye, target, -1)), x = unit(cross(up, z)), y = cross(z, x);
    return new Float32Array([x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0,
      -dot(x, eye), -dot(y, eye), -dot(z, eye), 1]);
  };
  const perspective = (angle, aspect, near, far) => {
    const f = 1 / Math.tan(angle / 2);
    return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (near + far) / (near - far), -1,
      0, 0, 2 * near * far / (near - far), 0]);
  };
  return { identity, times, apply, add, dot, cross, unit, turn, facing, place, times4, lookAt, perspective };
})();
