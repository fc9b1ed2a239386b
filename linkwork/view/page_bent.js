// Flexible bodies in the player, which page.js is: surfaces, colours by deformation, and how much it is exaggerated.

// Flexible bodies as surfaces: triangles with corners r0 + P x + x* G x / 2, x the modal coordinates, and a normal each.
const surfaces = data.surfaces.map((x) => {
  const array = gl.createVertexArray(), faces = decoded(x.faces, Uint32Array);
  gl.bindVertexArray(array);
  const buffers = ["position", "normal", "tint"].map((name) => {
    const id = buffer(gl.ARRAY_BUFFER, new Float32Array(3 * faces.length));
    attribute(solid.attribute(name), 3);
    return id;
  });
  const [points, shapes, eta] = [x.points, x.shapes, x.eta].map((text) => decoded(text, Float32Array));
  const bends = x.bends && decoded(x.bends, Float32Array), tints = x.tints && decoded(x.tints, Uint8Array);
  return { ...x, array, buffers, faces, points, shapes, eta, bends, tints };
});

function placesAt(x, t) {
  const [i, s, j] = sample(t), n = x.modes, r = Float32Array.from(x.points), eta = [];
  for (let k = 0; k < n; k++) eta.push(state.factor * ((1 - s) * x.eta[n * i + k] + s * x.eta[n * j + k]));
  for (let c = 0; c < r.length; c++)
    for (let k = 0; k < n; k++) {
      r[c] += x.shapes[n * c + k] * eta[k];
      if (x.bends) for (let l = 0; l < n; l++) r[c] += 0.5 * x.bends[n * (n * c + k) + l] * eta[k] * eta[l];
    }
  return r;
}

function deform(x, t, eye, pose) {
  const r = placesAt(x, t), [row] = sample(t), filled = [[], [], []];
  for (let f = 0; f < x.faces.length; f += 3) {
    const nodes = [0, 1, 2].map((k) => x.faces[f + k]), [a, b, c] = nodes.map((k) => [r[3 * k], r[3 * k + 1], r[3 * k + 2]]);
    let normal = cross(sub(b, a), sub(c, a));
    const away = [0, 1, 2].map((k) => eye[k] - pose[12 + k] - a[0] * pose[k] - a[1] * pose[4 + k] - a[2] * pose[8 + k]);
    const turned = [0, 1, 2].map((k) => normal[0] * pose[k] + normal[1] * pose[4 + k] + normal[2] * pose[8 + k]);
    if (dot(away, turned) < 0) normal = times(-1, normal); // seen from both sides
    filled[0].push(...a, ...b, ...c);
    filled[1].push(...normal, ...normal, ...normal);
    for (const k of nodes)
      for (let m = 0; m < 3; m++) filled[2].push(x.tints ? x.tints[r.length * row + 3 * k + m] / 255 : x.color[m]);
  }
  filled.forEach((values, k) => {
    gl.bindBuffer(gl.ARRAY_BUFFER, x.buffers[k]);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(values), gl.DYNAMIC_DRAW);
  });
}

function drawSurfaces(poses, camera, flatten, color) {
  gl.useProgram(solid.id);
  gl.uniformMatrix4fv(solid.uniform("camera"), false, camera);
  gl.uniformMatrix4fv(solid.uniform("flatten"), false, flatten);
  gl.uniform4fv(solid.uniform("color"), color);
  for (const x of surfaces) {
    gl.bindVertexArray(x.array);
    gl.uniformMatrix4fv(solid.uniform("world"), false, poses[x.body]);
    gl.drawArrays(gl.TRIANGLES, 0, x.faces.length);
  }
}

// Colours by deformation of the pieces of flexible bodies: n x pieces x 3.
const tints = data.pieces && decoded(data.pieces.tints, Uint8Array), pieces = tints ? tints.length / 3 / motion.n : 0;
for (const part of data.parts) part.piece = pieces > 0 && part.body >= data.pieces.first && part.body < data.pieces.first + pieces;

function pieceColor(part) {
  const k = 3 * (pieces * sample(state.t)[0] + part.body - data.pieces.first);
  return [tints[k] / 255, tints[k + 1] / 255, tints[k + 2] / 255, 1];
}

// Take poses, centre and traces of one of the stored exaggerations.
function take(stored) {
  motion.poses = decoded(stored.poses, Float32Array);
  motion.center = decoded(stored.center, Float32Array);
  motion.traces = stored.traces.map((x) => decoded(x, Float32Array));
}

function exaggerate(level) {
  take(level);
  redrawn(trace, traceLines());
  state.factor = level.factor;
  at("times").textContent = `${Number(level.factor.toPrecision(3))}×`;
  state.changed = true;
}

at("factor").oninput = () => exaggerate(data.levels[Number(at("factor").value)]);
if (data.levels.length) {
  const start = data.levels.findIndex((x) => x.factor === data.exaggeration);
  at("bend").hidden = false;
  [at("factor").max, at("factor").value] = [data.levels.length - 1, start];
  exaggerate(data.levels[start]);
}
if (data.scale) {
  at("scale").hidden = false;
  at("scale").textContent = data.scale.label;
  at("scale").style.borderImage = `linear-gradient(to right, ${data.scale.colors.map((c) => `rgb(${c})`).join()}) 1`;
}
Object.assign(window.linkwork, { surfaces, placesAt, exaggerate });
