// Plays a recorded motion: everything it needs is in this page. Drag to turn, right or shift drag to move, wheel to zoom.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);

// --- numbers

function decoded(text, Type) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Type(bytes.buffer);
}

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const times = (s, a) => [s * a[0], s * a[1], s * a[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => times(1 / Math.hypot(...a), a);

// Matrices are 4x4, column by column, as WebGL wants them.
function multiply(a, b) {
  const out = new Float32Array(16);
  for (let j = 0; j < 4; j++)
    for (let i = 0; i < 4; i++)
      for (let k = 0; k < 4; k++) out[4 * j + i] += a[4 * k + i] * b[4 * j + k];
  return out;
}

// A pose from a quaternion x y z w and a position.
function poseMatrix(x, y, z, w, px, py, pz) {
  return new Float32Array([
    1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w), 0,
    2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w), 0,
    2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y), 0,
    px, py, pz, 1,
  ]);
}

function perspective(field, aspect, near, far) {
  const f = 1 / Math.tan(field / 2);
  return new Float32Array([
    f / aspect, 0, 0, 0,
    0, f, 0, 0,
    0, 0, (far + near) / (near - far), -1,
    0, 0, (2 * far * near) / (near - far), 0,
  ]);
}

function looking(eye, target, up) {
  const back = unit(sub(eye, target)), right = unit(cross(up, back)), top = cross(back, right);
  return new Float32Array([
    right[0], top[0], back[0], 0,
    right[1], top[1], back[1], 0,
    right[2], top[2], back[2], 0,
    -dot(right, eye), -dot(top, eye), -dot(back, eye), 1,
  ]);
}

// The matrix that lets everything down onto the floor, a little above it: p - (up·p - height) up.
function flattening(up, height) {
  const out = new Float32Array(16);
  for (let j = 0; j < 3; j++)
    for (let i = 0; i < 3; i++) out[4 * j + i] = (i === j ? 1 : 0) - up[i] * up[j];
  for (let i = 0; i < 3; i++) out[12 + i] = height * up[i];
  out[15] = 1;
  return out;
}

// --- the motion

const motion = {
  n: data.n,
  times: decoded(data.times, Float64Array), // of the samples, from zero; closer together where the motion is fast
  poses: decoded(data.poses, Float32Array), // n x bodies x (x y z w, position)
  center: decoded(data.center, Float32Array), // n x 3
  traces: data.traces.map((x) => decoded(x, Float32Array)), // each n x 3
};

motion.end = motion.times[motion.n - 1];

// The sample before a time, and how far it is to the next.
function sample(t) {
  let i = 0, j = motion.n - 1;
  while (j - i > 1) {
    const middle = (i + j) >> 1;
    if (motion.times[middle] <= t) i = middle; else j = middle;
  }
  const h = motion.times[j] - motion.times[i];
  return [i, h > 0 ? Math.min(Math.max((t - motion.times[i]) / h, 0), 1) : 0, j];
}

// Poses of all bodies: quaternions and positions between two samples.
function posesAt(t) {
  const [i, s, j] = sample(t), p = motion.poses, out = [];
  for (let b = 0; b < data.bodies; b++) {
    const a = 7 * (i * data.bodies + b), c = 7 * (j * data.bodies + b);
    let same = 0;
    for (let k = 0; k < 4; k++) same += p[a + k] * p[c + k];
    const x = [];
    for (let k = 0; k < 7; k++) x.push((1 - s) * p[a + k] + s * (k < 4 && same < 0 ? -1 : 1) * p[c + k]);
    const norm = Math.hypot(x[0], x[1], x[2], x[3]);
    out.push(poseMatrix(x[0] / norm, x[1] / norm, x[2] / norm, x[3] / norm, x[4], x[5], x[6]));
  }
  return out;
}

function pointAt(points, t) {
  const [i, s, j] = sample(t);
  return [0, 1, 2].map((k) => (1 - s) * points[3 * i + k] + s * points[3 * j + k]);
}

// --- drawing

const canvas = at("canvas");
const gl = canvas.getContext("webgl2", { alpha: false, preserveDrawingBuffer: true });
if (!gl) at("message").textContent = "This browser has no WebGL 2, which is needed to show the motion.";

const SOLID = [
  `#version 300 es
  uniform mat4 camera, world, flatten;
  in vec3 position, normal, tint;
  out vec3 outward, paint;
  void main() {
    paint = tint;
    mat3 A = mat3(world);  // A = R S, so the normal turns with R S^-1 = A S^-2
    outward = A * (normal / vec3(dot(A[0], A[0]), dot(A[1], A[1]), dot(A[2], A[2])));
    gl_Position = camera * flatten * world * vec4(position, 1.0);
  }`,
  `#version 300 es
  precision highp float;
  uniform vec4 color;
  uniform vec3 light;
  uniform float shaded;
  in vec3 outward, paint;
  out vec4 pixel;
  void main() {
    float bright = 0.55 + 0.45 * max(dot(normalize(outward), light), 0.0);
    pixel = vec4(color.rgb * mix(vec3(1.0), paint * bright, shaded), color.a);
  }`,
];

// A line is a flat strip of a few pixels, the same rectangle for each.
const LINE = [
  `#version 300 es
  uniform mat4 camera;
  uniform vec2 size;
  uniform float width;
  in vec2 corner;
  in vec3 start, end;
  in vec4 color;
  out vec4 shade;
  void main() {
    vec4 a = camera * vec4(start, 1.0), b = camera * vec4(end, 1.0);
    float near = 1e-3;
    if (a.w < near && b.w >= near) a = mix(a, b, (near - a.w) / (b.w - a.w));
    if (b.w < near && a.w >= near) b = mix(b, a, (near - b.w) / (a.w - b.w));
    vec2 along = (b.xy / b.w - a.xy / a.w) * size;
    along = length(along) > 0.0 ? normalize(along) : vec2(1.0, 0.0);
    vec4 p = corner.x < 0.5 ? a : b;
    p.xy += vec2(-along.y, along.x) * corner.y * width / size * p.w;
    gl_Position = p;
    shade = color;
  }`,
  `#version 300 es
  precision highp float;
  in vec4 shade;
  out vec4 pixel;
  void main() { pixel = shade; }`,
];

function program(sources) {
  const made = gl.createProgram();
  [gl.VERTEX_SHADER, gl.FRAGMENT_SHADER].forEach((kind, i) => {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, sources[i]);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  });
  gl.linkProgram(made);
  return { id: made, uniform: (name) => gl.getUniformLocation(made, name), attribute: (name) => gl.getAttribLocation(made, name) };
}

function buffer(kind, values) {
  const id = gl.createBuffer();
  gl.bindBuffer(kind, id);
  gl.bufferData(kind, values, gl.STATIC_DRAW);
  return id;
}

function attribute(location, size, stride = 0, offset = 0, divisor = 0) {
  gl.enableVertexAttribArray(location);
  gl.vertexAttribPointer(location, size, gl.FLOAT, false, stride, offset);
  gl.vertexAttribDivisor(location, divisor);
}

const solid = program(SOLID), line = program(LINE);

const meshes = {};
for (const [name, mesh] of Object.entries(data.meshes)) {
  const array = gl.createVertexArray();
  gl.bindVertexArray(array);
  buffer(gl.ARRAY_BUFFER, decoded(mesh.vertices, Float32Array));
  attribute(solid.attribute("position"), 3);
  buffer(gl.ARRAY_BUFFER, decoded(mesh.normals, Float32Array));
  attribute(solid.attribute("normal"), 3);
  const faces = decoded(mesh.faces, Uint32Array);
  buffer(gl.ELEMENT_ARRAY_BUFFER, faces);
  meshes[name] = { array, count: faces.length };
}

// Lines from numbers: each start, end and colour.
function lines(segments) {
  const array = gl.createVertexArray(), count = segments.length / 10;
  gl.bindVertexArray(array);
  buffer(gl.ARRAY_BUFFER, new Float32Array([0, -1, 0, 1, 1, -1, 1, 1]));
  attribute(line.attribute("corner"), 2);
  const id = buffer(gl.ARRAY_BUFFER, new Float32Array(segments));
  attribute(line.attribute("start"), 3, 40, 0, 1);
  attribute(line.attribute("end"), 3, 40, 12, 1);
  attribute(line.attribute("color"), 4, 40, 24, 1);
  return { array, id, count };
}

function redrawn(made, segments) {
  gl.bindBuffer(gl.ARRAY_BUFFER, made.id);
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(segments), gl.DYNAMIC_DRAW);
  made.count = segments.length / 10;
}

const up = data.up, side = data.across, ahead = cross(up, side);

// A floor of lines around a point, fading out.
function floorAround(point) {
  const step = data.step, cells = 20, out = [];
  const i0 = Math.round(dot(point, side) / step), j0 = Math.round(dot(point, ahead) / step);
  const corner = (i, j) => add(add(times(step * (i0 + i), side), times(step * (j0 + j), ahead)), times(data.ground, up));
  for (let i = -cells; i <= cells; i++)
    for (let j = -cells; j < cells; j++) {
      const alpha = 0.55 * Math.max(0, 1 - Math.hypot(i, j + 0.5) / cells);
      if (alpha > 0) {
        out.push(...corner(i, j), ...corner(i, j + 1), 0.5, 0.5, 0.55, alpha);
        out.push(...corner(j, i), ...corner(j + 1, i), 0.5, 0.5, 0.55, alpha);
      }
    }
  return out;
}

// The paths of all traces, in the order of time, so that a first part of them is the path so far.
function traceLines() {
  const out = [];
  for (let i = 0; i + 1 < motion.n; i++)
    for (const points of motion.traces) out.push(...points.slice(3 * i, 3 * i + 6), 0.8, 0.25, 0.2, 1);
  return out;
}

function frameLines(poses) {
  const out = [], length = 0.08 * data.size;
  for (const p of poses)
    for (let axis = 0; axis < 3; axis++) {
      const start = [p[12], p[13], p[14]], direction = [p[4 * axis], p[4 * axis + 1], p[4 * axis + 2]];
      out.push(...start, ...add(start, times(length, direction)), ...[0, 1, 2].map((k) => (k === axis ? 0.85 : 0.1)), 1);
    }
  return out;
}

const floor = lines([]), axes = lines([]), trace = lines(traceLines());

// --- what is seen, and from where

const view = { azimuth: data.azimuth, elevation: data.elevation, distance: data.distance, target: data.target.slice() };
const state = { t: 0, playing: motion.n > 1, speed: 1, factor: data.exaggeration, changed: true, before: null };
const started = pointAt(motion.center, 0);
const IDENTITY = poseMatrix(0, 0, 0, 1, 0, 0, 0);

function drawParts(poses, camera, flatten, paint) {
  gl.useProgram(solid.id);
  gl.uniformMatrix4fv(solid.uniform("camera"), false, camera);
  gl.uniformMatrix4fv(solid.uniform("flatten"), false, flatten);
  const world = solid.uniform("world"), color = solid.uniform("color");
  for (const part of paint) {
    const mesh = meshes[part.mesh];
    gl.bindVertexArray(mesh.array);
    gl.uniformMatrix4fv(world, false, multiply(poses[part.body], part.matrix));
    gl.uniform4fv(color, part.piece ? pieceColor(part) : part.color);
    gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
  }
}

function drawLines(made, camera, width) {
  gl.useProgram(line.id);
  gl.uniformMatrix4fv(line.uniform("camera"), false, camera);
  gl.uniform2f(line.uniform("size"), canvas.width, canvas.height);
  gl.uniform1f(line.uniform("width"), width * devicePixelRatio);
  gl.bindVertexArray(made.array);
  if (made.count) gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, made.count);
}

const SHADOW = [0.82, 0.83, 0.85, 1];
const opaque = data.parts.filter((part) => part.color[3] >= 1), clear = data.parts.filter((part) => part.color[3] < 1);
const shadow = opaque.map((part) => ({ ...part, piece: false, color: SHADOW }));

function draw() {
  const width = Math.round(canvas.clientWidth * devicePixelRatio), height = Math.round(canvas.clientHeight * devicePixelRatio);
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const poses = posesAt(state.t), center = pointAt(motion.center, state.t);
  const target = at("follow").checked ? add(view.target, sub(center, started)) : view.target;
  const { azimuth: a, elevation: e } = view;
  const back = add(times(Math.cos(e), add(times(Math.cos(a), side), times(Math.sin(a), ahead))), times(Math.sin(e), up));
  const eye = add(target, times(view.distance, back));
  const reach = view.distance + 30 * data.step + data.size;
  const camera = multiply(perspective(data.field, width / Math.max(height, 1), 0.01 * view.distance, reach), looking(eye, target, up));
  gl.viewport(0, 0, width, height);
  gl.clearColor(0.957, 0.961, 0.969, 1);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  gl.enable(gl.DEPTH_TEST);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  for (const x of surfaces) deform(x, state.t, eye, poses[x.body]);
  gl.vertexAttrib3f(solid.attribute("tint"), 1, 1, 1); // of meshes, which have none
  gl.useProgram(solid.id);
  gl.uniform3fv(solid.uniform("light"), unit(add(add(up, times(0.6, back)), times(0.5, unit(cross(up, back))))));
  if (data.ground !== null) {
    redrawn(floor, floorAround(target));
    gl.depthMask(false); // the floor and what lies on it hide nothing
    drawLines(floor, camera, 1);
    gl.useProgram(solid.id);
    gl.uniform1f(solid.uniform("shaded"), 0);
    if (dot(back, up) > 0) {
      drawParts(poses, camera, flattening(up, data.ground), shadow);
      drawSurfaces(poses, camera, flattening(up, data.ground), SHADOW);
    }
    gl.depthMask(true);
  }
  gl.useProgram(solid.id);
  gl.uniform1f(solid.uniform("shaded"), 1);
  drawParts(poses, camera, IDENTITY, opaque);
  drawSurfaces(poses, camera, IDENTITY, [1, 1, 1, 1]);
  const [before, part] = sample(state.t);
  drawLines({ ...trace, count: motion.traces.length * Math.min(before + Math.ceil(part), motion.n - 1) }, camera, 1.25);
  drawParts(poses, camera, IDENTITY, clear);
  gl.disable(gl.DEPTH_TEST); // marks are seen through everything
  if (at("frames").checked) {
    redrawn(axes, frameLines(poses));
    drawLines(axes, camera, 1.5);
  }
  if (at("center").checked) {
    const r = 0.02 * data.size;
    const ball = { body: 0, mesh: "sphere", matrix: [r, 0, 0, 0, 0, r, 0, 0, 0, 0, r, 0, ...center, 1], color: [0.85, 0.2, 0.2, 1] };
    drawParts([IDENTITY], camera, IDENTITY, [ball]);
  }
}

// --- a person's hands

function seek(t) {
  state.t = Math.min(Math.max(t, 0), motion.end);
  state.changed = true;
}

function play(yes) {
  if (yes && state.t >= motion.end) seek(0);
  state.playing = yes && motion.n > 1;
  at("play").textContent = state.playing ? "Pause" : "Play";
}

at("play").onclick = () => play(!state.playing);
at("time").oninput = () => { play(false); seek(Number(at("time").value) * motion.end); };
at("speed").onchange = () => { state.speed = Number(at("speed").value); };
for (const id of ["frames", "center", "follow"]) at(id).onchange = () => { state.changed = true; };
addEventListener("resize", () => { state.changed = true; });
addEventListener("keydown", (event) => {
  if (event.code === "Space" && event.target.tagName !== "BUTTON") { event.preventDefault(); play(!state.playing); }
});

const held = new Map(); // fingers, or the mouse
canvas.onpointerdown = (event) => { canvas.setPointerCapture(event.pointerId); held.set(event.pointerId, event); };
canvas.onpointerup = canvas.onpointercancel = (event) => held.delete(event.pointerId);
canvas.oncontextmenu = (event) => event.preventDefault();
canvas.onwheel = (event) => { event.preventDefault(); zoom(Math.exp(0.001 * event.deltaY)); };
canvas.onpointermove = (event) => {
  const last = held.get(event.pointerId);
  if (!last) return;
  const dx = event.clientX - last.clientX, dy = event.clientY - last.clientY;
  const other = [...held.entries()].find(([id]) => id !== event.pointerId);
  const apart = (one) => Math.hypot(one.clientX - other[1].clientX, one.clientY - other[1].clientY);
  if (other) zoom(apart(last) / Math.max(apart(event), 1));
  else if (event.shiftKey || event.buttons & 6) move(dx, dy);
  else turn(dx, dy);
  held.set(event.pointerId, event);
};

function zoom(factor) {
  view.distance *= factor;
  state.changed = true;
}

function turn(dx, dy) {
  view.azimuth -= 0.008 * dx;
  view.elevation = Math.min(Math.max(view.elevation + 0.008 * dy, -1.55), 1.55);
  state.changed = true;
}

function move(dx, dy) {
  const scale = (2 * Math.tan(data.field / 2) * view.distance) / canvas.clientHeight;
  const { azimuth: a, elevation: e } = view;
  const outward = add(times(Math.cos(a), side), times(Math.sin(a), ahead));
  const right = cross(up, outward), top = add(times(Math.cos(e), up), times(-Math.sin(e), outward));
  view.target = add(view.target, add(times(-dx * scale, right), times(dy * scale, top)));
  state.changed = true;
}

function tick(now) {
  const dt = state.before === null ? 0 : Math.min((now - state.before) / 1000, 0.1);
  state.before = now;
  if (state.playing) {
    const next = state.t + dt * state.speed;
    seek(next > motion.end ? 0 : next);
  }
  if (state.changed) {
    state.changed = false;
    at("time").value = motion.end > 0 ? state.t / motion.end : 0;
    at("clock").textContent = `${(data.start + state.t).toFixed(2)} / ${(data.start + motion.end).toFixed(2)} s`;
    draw();
  }
  requestAnimationFrame(tick);
}

// page.html#t=1.5 shows that time and waits.
const asked = new URLSearchParams(location.hash.slice(1)).get("t");
at("follow").checked = data.follow;
play(asked === null);
if (asked !== null) seek(Number(asked) - data.start);
if (motion.n < 2 && !data.levels.length) at("bar").style.display = "none";
window.linkwork = { data, motion, state, view, seek, play, posesAt };
if (gl) requestAnimationFrame(tick);
