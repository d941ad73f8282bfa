// All items on a plane, coloured by label and dimmed by doubt; a lasso or the arrow keys pick some of them.
import { bytes, el, rgb } from "./page.js";

export function makeMap(inspect) {
  const canvas = el("canvas", { tabindex: "0", role: "application",
    "aria-label": "Map of all items. Arrow keys move the cross, Enter inspects what is near it, drag to lasso." });
  const node = el("div", { class: "map" }, canvas);
  let places = null, classes = null, sure = null, version = 0, palette = {}, lasso = null, cross = null, here = null;
  let spots = null, size = "", painted = null;  // where the dots are, for which size; the dots themselves

  async function load() {
    const { content } = await bytes("map");
    places = content.byteLength ? new Float32Array(content) : null;
    size = "";
    classes = new Uint8Array((places?.length ?? 0) / 2);
    sure = new Uint8Array(classes.length);
    version = 0;
    await colours();
  }
  // Only what has changed is sent: how many items, which, their classes, how sure these are.
  async function colours() {
    if (!places) return;
    const { content, number } = await bytes(`colours?since=${version}`);
    const n = new Uint32Array(content, 0, 1)[0], rows = new Uint32Array(content, 4, n), raw = new Uint8Array(content, 4 + 4 * n);
    for (let i = 0; i < n; i += 1) { classes[rows[i]] = raw[i]; sure[rows[i]] = raw[n + i]; }
    version = number;
    if (n) { painted = null; draw(); }
  }
  function show(state) {
    const next = Object.fromEntries(state.classes.map((c) => [c.id, rgb(c.color)]));
    if (JSON.stringify(next) !== JSON.stringify(palette)) { palette = next; painted = null; }
    here = state.question?.item.row ?? null;
    draw();
  }

  let asked = false;
  function draw() {
    if (!asked) { asked = true; requestAnimationFrame(() => { asked = false; paint(); }); }
  }
  function box() {
    const r = canvas.getBoundingClientRect(), dpr = window.devicePixelRatio || 1;
    return { w: Math.max(1, Math.round(r.width * dpr)), h: Math.max(1, Math.round(r.height * dpr)), dpr, r };
  }
  const pad = 12;
  const at = (i, b) => [(pad + places[2 * i] * (b.w / b.dpr - 2 * pad)) * b.dpr, (pad + places[2 * i + 1] * (b.h / b.dpr - 2 * pad)) * b.dpr];

  function dots(pen, b) {
    if (painted && size === `${b.w} ${b.h}`) { pen.putImageData(painted, 0, 0); return; }
    const n = places.length / 2, image = pen.createImageData(b.w, b.h), out = new Uint32Array(image.data.buffer);
    const dot = Math.max(1, Math.round((n > 20000 ? 1 : n > 4000 ? 1.6 : 2.6) * b.dpr));
    if (size !== `${b.w} ${b.h}`) {
      size = `${b.w} ${b.h}`;
      spots = Uint32Array.from({ length: n }, (_, i) => { const [x, y] = at(i, b); return Math.round(y) * b.w + Math.round(x); });
    }
    // Colour and opacity by class and by sureness in 16 steps.
    const inks = new Uint32Array(256 * 16), back = getComputedStyle(canvas).backgroundColor.match(/\d+/g) ?? [255];
    // On a dark page colours are mixed with white: the darkest of them would be lost there.
    const light = (v) => (Number(back[0]) < 100 ? Math.round(0.7 * v + 76) : v);
    for (let c = 0; c < 256; c += 1) for (let s = 0; s < 16; s += 1) {
      const [red, green, blue] = (palette[c] ?? [140, 146, 158]).map(light), alpha = palette[c] ? 50 + 205 * Math.max(0, (s / 15 - 0.4) / 0.6) : 110;
      inks[16 * c + s] = ((Math.round(alpha) << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    }
    for (let i = 0; i < n; i += 1) {
      const colour = inks[16 * classes[i] + (sure[i] >> 4)];
      for (let v = 0; v < dot; v += 1) for (let u = 0; u < dot; u += 1) {
        const p = spots[i] + v * b.w + u;
        if (p < out.length && (colour >>> 24) >= 0.6 * (out[p] >>> 24)) out[p] = colour;
      }
    }
    painted = image;
    pen.putImageData(image, 0, 0);
  }

  function paint() {
    const b = box();
    if (canvas.width !== b.w || canvas.height !== b.h) { canvas.width = b.w; canvas.height = b.h; }
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, b.w, b.h);
    if (!places) return;
    dots(pen, b);
    const ring = (x, y, radius) => { for (const [colour, width] of [["#000", 4], ["#fff", 2]]) {
      pen.beginPath(); pen.strokeStyle = colour; pen.lineWidth = width * b.dpr; pen.arc(x, y, radius * b.dpr, 0, 7); pen.stroke(); } };
    if (here !== null) ring(...at(here, b), 6);
    if (cross) ring(cross[0] * b.dpr, cross[1] * b.dpr, 14);
    if (lasso) {
      pen.beginPath();
      lasso.forEach(([x, y], k) => (k ? pen.lineTo(x * b.dpr, y * b.dpr) : pen.moveTo(x * b.dpr, y * b.dpr)));
      pen.closePath();
      pen.fillStyle = "rgba(86,180,233,.25)"; pen.strokeStyle = "#56b4e9"; pen.lineWidth = 1.5 * b.dpr;
      pen.fill(); pen.stroke();
    }
  }

  const spot = (event) => { const r = canvas.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };
  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); lasso = [spot(event)]; cross = null; });
  canvas.addEventListener("pointermove", (event) => { if (lasso) { lasso.push(spot(event)); draw(); } });
  canvas.addEventListener("pointerup", (event) => {
    const line = lasso;
    lasso = null;
    draw();
    if (!places || !line) return;
    const [x, y] = spot(event);
    if (line.length < 6) near(x, y); else inside(line);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const r = canvas.getBoundingClientRect();
    if (step) {
      cross ??= [r.width / 2, r.height / 2];
      const far = event.shiftKey ? 30 : 10;
      cross = [Math.min(r.width, Math.max(0, cross[0] + far * step[0])), Math.min(r.height, Math.max(0, cross[1] + far * step[1]))];
      draw();
    } else if (event.key === "Enter" && cross) near(...cross);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function near(x, y) {
    const b = box(), far = [];
    for (let i = 0; i < places.length / 2; i += 1) { const [u, v] = at(i, b); far.push([Math.hypot(u / b.dpr - x, v / b.dpr - y), i]); }
    far.sort((p, q) => p[0] - q[0]);
    inspect(far.slice(0, 24).map((p) => p[1]), "near that place");
  }
  function inside(line) {
    const b = box(), rows = [], path = new Path2D();
    line.forEach(([x, y], k) => (k ? path.lineTo(x, y) : path.moveTo(x, y)));
    path.closePath();
    const pen = canvas.getContext("2d");
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    for (let i = 0; i < places.length / 2; i += 1) { const [u, v] = at(i, b); if (pen.isPointInPath(path, u / b.dpr, v / b.dpr)) rows.push(i); }
    pen.restore();
    if (rows.length) inspect(rows, "in the lasso");
  }
  new ResizeObserver(draw).observe(node);
  const redress = () => { painted = null; draw(); };
  window.addEventListener("dressed", redress);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redress);
  return { node, canvas, load, colours, show };
}
