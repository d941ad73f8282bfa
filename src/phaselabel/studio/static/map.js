// All items on a plane, coloured by label and dimmed by doubt; a lasso or the arrow keys select some of them.
import { el, rgb } from "./dom.js";
import { makeMapHover } from "./map_hover.js";
import { oncePerFrame, pixelSize } from "./painting.js";
import { bytes } from "./server.js";

const PADDING = 12;
const N_NEAREST = 24;
const CONFIDENCE_STEPS = 16;
const NO_CLASS = [140, 146, 158];
const MAX_ZOOM = 80;
const ZOOM_STEP = 1.5;
const OUTSIDE = 0xffffffff;

// An item is under the pointer if it is at most this many CSS pixels away.
const HOVER_DISTANCE = 10;
const ZOOM_KEYS = { "+": ZOOM_STEP, "=": ZOOM_STEP, "-": 1 / ZOOM_STEP };
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export function makeMap(onSelect) {
  const canvas = el("canvas", {
    tabindex: "0",
    role: "application",
    "aria-label":
      "Map of all items. Arrow keys move the cross, Enter inspects what is near it, plus and minus zoom, drag to lasso.",
  });
  const hover = makeMapHover();
  const node = el("div", { class: "map" }, canvas, hover.node);
  let camera = { zoom: 1, x: 0, y: 0 }; // the corner of the part that is shown, from 0 to 1
  let positions = null; // x and y of every item, from 0 to 1
  let classes = new Uint16Array(0);
  let confidences = new Uint16Array(0);
  let version = 0;
  let palette = {};
  let lasso = null;
  let moving = false;
  let cross = null;
  let questionRow = null;
  let pixels = null; // the pixel of every item, for the canvas size in pixelsFor
  let pixelsFor = "";
  let dotsImage = null; // all dots; null when they must be painted again

  async function load() {
    const { content } = await bytes("map");
    positions = content.byteLength ? new Float32Array(content) : null;
    pixelsFor = "";
    classes = new Uint16Array((positions?.length ?? 0) / 2);
    confidences = new Uint16Array(classes.length);
    version = 0;
    await updateColours();
  }

  // The server sends only the items that have changed: their number, rows, classes and confidences.
  async function updateColours() {
    if (!positions) return;
    const { content, version: newest } = await bytes(`colours?since=${version}`);
    const n = new Uint32Array(content, 0, 1)[0];
    const rows = new Uint32Array(content, 4, n);
    const values = new Uint16Array(content, 4 + 4 * n);
    for (let i = 0; i < n; i += 1) {
      classes[rows[i]] = values[i];
      confidences[rows[i]] = values[n + i];
    }
    version = newest;
    if (n) {
      dotsImage = null;
      draw();
    }
  }

  function show(state) {
    const next = Object.fromEntries(state.classes.map((c) => [c.id, rgb(c.color)]));
    if (JSON.stringify(next) !== JSON.stringify(palette)) {
      palette = next;
      dotsImage = null;
    }
    questionRow = state.question?.item.row ?? null;
    draw();
  }

  // -- painting
  const draw = oncePerFrame(paint);

  // The place of an item in pixels of the canvas.
  function place(i, { width, height, ratio }) {
    const u = (positions[2 * i] - camera.x) * camera.zoom;
    const v = (positions[2 * i + 1] - camera.y) * camera.zoom;
    const x = PADDING + u * (width / ratio - 2 * PADDING);
    const y = PADDING + v * (height / ratio - 2 * PADDING);
    return [x * ratio, y * ratio];
  }

  // -- camera
  const inner = (side) => side - 2 * PADDING;
  function setCamera(zoom, x, y) {
    const within = (value) => Math.min(1 - 1 / zoom, Math.max(0, value));
    camera = { zoom, x: within(x), y: within(y) };
    hover.hide();
    draw();
  }
  function zoomBy(factor, point = null) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = point ?? [box.width / 2, box.height / 2];
    const [u, v] = [(x - PADDING) / inner(box.width), (y - PADDING) / inner(box.height)];
    const zoom = Math.min(MAX_ZOOM, Math.max(1, camera.zoom * factor));
    setCamera(zoom, camera.x + u / camera.zoom - u / zoom, camera.y + v / camera.zoom - v / zoom);
  }
  function pan(dx, dy) {
    const box = canvas.getBoundingClientRect();
    const { zoom, x, y } = camera;
    setCamera(zoom, x - dx / inner(box.width) / zoom, y - dy / inner(box.height) / zoom);
  }

  // Colour and opacity of every class at every step of confidence.
  function dotColours() {
    const background = getComputedStyle(canvas).backgroundColor.match(/\d+/g) ?? [255];
    // On a dark page colours are mixed with white: the darkest ones would be invisible.
    const onPage = (v) => (Number(background[0]) < 100 ? Math.round(0.7 * v + 76) : v);
    const most = Math.max(0, ...Object.keys(palette).map(Number));
    const colours = new Uint32Array((most + 1) * CONFIDENCE_STEPS);
    for (let c = 0; c <= most; c += 1) {
      const [red, green, blue] = (palette[c] ?? NO_CLASS).map(onPage);
      for (let step = 0; step < CONFIDENCE_STEPS; step += 1) {
        const certain = Math.max(0, (step / (CONFIDENCE_STEPS - 1) - 0.4) / 0.6);
        const alpha = Math.round(palette[c] ? 50 + 205 * certain : 110);
        colours[CONFIDENCE_STEPS * c + step] = ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
      }
    }
    return colours;
  }

  // Fewer dots are larger ones; zooming in leaves fewer.
  function dotSize(n) {
    const shown = n / camera.zoom ** 2;
    return shown > 20000 ? 1 : shown > 4000 ? 1.6 : shown > 400 ? 2.6 : 4;
  }

  function paintDots(pen, box) {
    const key = [box.width, box.height, camera.zoom, camera.x, camera.y].join(" ");
    if (!dotsImage || pixelsFor !== key) {
      const n = positions.length / 2;
      const image = pen.createImageData(box.width, box.height);
      const out = new Uint32Array(image.data.buffer);
      const dot = Math.max(1, Math.round(dotSize(n) * box.ratio));
      if (pixelsFor !== key) {
        pixelsFor = key;
        pixels = Uint32Array.from({ length: n }, (_, i) => {
          const [x, y] = place(i, box);
          const isInside = x >= 0 && y >= 0 && x < box.width && y < box.height;
          return isInside ? Math.round(y) * box.width + Math.round(x) : OUTSIDE;
        });
      }
      const colours = dotColours();
      for (let i = 0; i < n; i += 1) {
        if (pixels[i] === OUTSIDE) continue;
        const colour = colours[CONFIDENCE_STEPS * classes[i] + (confidences[i] >> 4)];
        for (let v = 0; v < dot; v += 1) {
          for (let u = 0; u < dot; u += 1) {
            const p = pixels[i] + v * box.width + u;
            if (p < out.length && colour >>> 24 >= 0.6 * (out[p] >>> 24)) out[p] = colour;
          }
        }
      }
      dotsImage = image;
    }
    pen.putImageData(dotsImage, 0, 0);
  }

  function ring(pen, x, y, radius, ratio) {
    for (const [colour, width] of [
      ["#000", 4],
      ["#fff", 2],
    ]) {
      pen.beginPath();
      pen.strokeStyle = colour;
      pen.lineWidth = width * ratio;
      pen.arc(x, y, radius * ratio, 0, 7);
      pen.stroke();
    }
  }

  function paintLasso(pen, ratio) {
    pen.beginPath();
    lasso.forEach(([x, y], k) => (k ? pen.lineTo(x * ratio, y * ratio) : pen.moveTo(x * ratio, y * ratio)));
    pen.closePath();
    pen.fillStyle = "rgba(86,180,233,.25)";
    pen.strokeStyle = "#56b4e9";
    pen.lineWidth = 1.5 * ratio;
    pen.fill();
    pen.stroke();
  }

  function paint() {
    const box = pixelSize(canvas);
    if (canvas.width !== box.width || canvas.height !== box.height) {
      canvas.width = box.width;
      canvas.height = box.height;
    }
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, box.width, box.height);
    if (!positions) return;
    paintDots(pen, box);
    if (questionRow !== null) ring(pen, ...place(questionRow, box), 6, box.ratio);
    if (cross) ring(pen, cross[0] * box.ratio, cross[1] * box.ratio, 14, box.ratio);
    if (lasso) paintLasso(pen, box.ratio);
  }

  // -- selecting
  // Distance and number of every item, the nearest first.
  function byDistance(x, y) {
    const box = pixelSize(canvas);
    const distances = [];
    for (let i = 0; i < positions.length / 2; i += 1) {
      const [u, v] = place(i, box);
      distances.push([Math.hypot(u / box.ratio - x, v / box.ratio - y), i]);
    }
    return distances.sort((p, q) => p[0] - q[0]);
  }

  function nearest(x, y) {
    const box = pixelSize(canvas);
    let best = [Infinity, -1];
    for (let i = 0; i < positions.length / 2; i += 1) {
      const [u, v] = place(i, box);
      const distance = Math.hypot(u / box.ratio - x, v / box.ratio - y);
      if (distance < best[0]) best = [distance, i];
    }
    return best;
  }

  function selectNear(x, y) {
    onSelect(
      byDistance(x, y)
        .slice(0, N_NEAREST)
        .map((pair) => pair[1]),
      "near that place",
    );
  }

  // Show the item under the pointer, or nearest to the cross.
  function look(x, y, most) {
    if (!positions) return;
    const [distance, row] = nearest(x, y);
    if (distance <= most) hover.show(row, x, y, canvas.getBoundingClientRect());
    else hover.hide();
  }

  function selectInside(line) {
    const box = pixelSize(canvas);
    const rows = [];
    const path = new Path2D();
    line.forEach(([x, y], k) => (k ? path.lineTo(x, y) : path.moveTo(x, y)));
    path.closePath();
    const pen = canvas.getContext("2d");
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    for (let i = 0; i < positions.length / 2; i += 1) {
      const [u, v] = place(i, box);
      if (pen.isPointInPath(path, u / box.ratio, v / box.ratio)) rows.push(i);
    }
    pen.restore();
    if (rows.length) onSelect(rows, "in the lasso");
  }

  function pointOf(event) {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    hover.hide();
    if (event.button === 1 || event.shiftKey) {
      moving = true;
      return;
    }
    lasso = [pointOf(event)];
    cross = null;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (moving) pan(event.movementX, event.movementY);
    else if (lasso) {
      lasso.push(pointOf(event));
      draw();
    } else if (event.pointerType === "mouse") look(...pointOf(event), HOVER_DISTANCE);
  });
  canvas.addEventListener("pointerleave", hover.hide);
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      zoomBy(Math.exp(-event.deltaY / 300), pointOf(event));
    },
    { passive: false },
  );
  canvas.addEventListener("pointerup", (event) => {
    const line = lasso;
    lasso = null;
    moving = false;
    draw();
    if (!positions || !line) return;
    if (line.length < 6) selectNear(...pointOf(event));
    else selectInside(line);
  });
  canvas.addEventListener("keydown", (event) => {
    const arrow = ARROWS[event.key];
    const box = canvas.getBoundingClientRect();
    if (arrow) {
      cross ??= [box.width / 2, box.height / 2];
      const step = event.shiftKey ? 30 : 10;
      const within = (value, most) => Math.min(most, Math.max(0, value));
      cross = [within(cross[0] + step * arrow[0], box.width), within(cross[1] + step * arrow[1], box.height)];
      look(...cross, Infinity);
      draw();
    } else if (event.key === "Enter" && cross) selectNear(...cross);
    else if (event.key in ZOOM_KEYS) zoomBy(ZOOM_KEYS[event.key], cross);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function repaint() {
    dotsImage = null;
    draw();
  }
  new ResizeObserver(() => {
    hover.hide(); // its place is that of another size
    draw();
  }).observe(node);
  window.addEventListener("themechange", repaint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  canvas.addEventListener("blur", hover.hide);
  return { node, canvas, load, updateColours, show };
}
