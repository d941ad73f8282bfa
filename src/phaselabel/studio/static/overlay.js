// The segmentation as the screen shows it, and masks in pixels of the picture.
import { rgb } from "./dom.js";

const WHITE = 0xffffffff;
const DOUBT = [0xff, 0x28, 0xb4];

// The line between two classes, in CSS pixels.
const LINE = 1.5;

const pack = ([red, green, blue], alpha) => ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;

// For every pixel of the screen along one side: the cell of the segmentation there, or -1 outside.
function cellsAlong(n, offset, scale, side, step) {
  const cells = new Int32Array(n);
  for (let i = 0; i < n; i += 1) {
    const place = Math.floor((i + 0.5 - offset) / scale);
    cells[i] = place >= 0 && place < side ? Math.floor(place / step) : -1;
  }
  return cells;
}

// Fill and line colour of every class; hidden classes have neither.
function classColours({ state, opacity, hidden }) {
  const most = Math.max(0, ...state.classes.map((c) => c.id));
  const fill = new Uint32Array(most + 1);
  const solid = new Uint32Array(most + 1);
  for (const c of state.classes.filter((one) => !hidden.has(one.id))) {
    fill[c.id] = pack(rgb(c.color), Math.round(255 * opacity));
    solid[c.id] = pack(rgb(c.color), 255);
  }
  return { fill, solid };
}

// The picture that a view lays over the image, made anew when something in it changes.
export function makeOverlay(model) {
  let canvas = null;
  let key = "";
  let painted = null; // the segmentation that the canvas shows

  function paintDoubt(out, width, columns, rows, { confidences, columns: wide }) {
    const shades = Uint32Array.from({ length: 256 }, (_, sure) =>
      pack(DOUBT, Math.min(255, 2 * (255 - sure))),
    );
    for (let y = 0, i = 0; y < rows.length; y += 1) {
      for (let x = 0; x < width; x += 1, i += 1) {
        if (rows[y] >= 0 && columns[x] >= 0) out[i] = shades[confidences[rows[y] * wide + columns[x]]];
      }
    }
  }

  function paintClasses(out, width, columns, rows, { labels, columns: wide }, line) {
    const { fill, solid } = classColours(model);
    const outlines = model.view === "outline";
    const at = (x, y) => (rows[y] >= 0 && columns[x] >= 0 ? labels[rows[y] * wide + columns[x]] : -1);
    const differs = (x, y, k) => {
      const other = at(x, y);
      return other >= 0 && other !== undefined && other !== k && (fill[k] || fill[other]);
    };
    for (let y = 0, i = 0; y < rows.length; y += 1) {
      for (let x = 0; x < width; x += 1, i += 1) {
        const k = at(x, y);
        if (k < 0) continue;
        const after = differs(x + line, y, k) || differs(x, y + line, k);
        if (!outlines) out[i] = after ? WHITE : fill[k];
        else if (after || differs(x - line, y, k) || differs(x, y - line, k)) out[i] = solid[k];
      }
    }
  }

  // `camera` says where the picture is on the screen, in pixels of the screen.
  function image(width, height, camera, ratio) {
    const { segmentation, state, view, opacity, hidden } = model;
    if (!segmentation || view === "picture") return null;
    const colours = state.classes.map((c) => c.color).join();
    const now = [
      width,
      height,
      camera.scale,
      camera.x,
      camera.y,
      view,
      opacity,
      [...hidden].join(),
      colours,
    ].join(" ");
    if (now === key && painted === segmentation) return canvas;
    key = now;
    painted = segmentation;
    if (canvas?.width !== width || canvas?.height !== height) canvas = new OffscreenCanvas(width, height);
    const pen = canvas.getContext("2d");
    const data = pen.createImageData(width, height);
    const out = new Uint32Array(data.data.buffer);
    const columns = cellsAlong(width, camera.x, camera.scale, state.width, segmentation.step);
    const rows = cellsAlong(height, camera.y, camera.scale, state.height, segmentation.step);
    if (view === "confidence") paintDoubt(out, width, columns, rows, segmentation);
    else paintClasses(out, width, columns, rows, segmentation, Math.max(1, Math.round(LINE * ratio)));
    pen.putImageData(data, 0, 0);
    return canvas;
  }

  return { image };
}

const masks = new WeakMap();

// The picture of a mask that is given as run lengths, column by column.
export function maskImage(layer, colour, { width, height }) {
  if (masks.get(layer)?.colour === colour) return masks.get(layer).image;
  const canvas = new OffscreenCanvas(width, height);
  const pen = canvas.getContext("2d");
  const data = pen.createImageData(width, height);
  const out = new Uint32Array(data.data.buffer);
  const ink = pack(rgb(colour), 255);
  let start = 0;
  layer.runs.forEach((run, k) => {
    if (k % 2) {
      for (let i = start; i < start + run; i += 1) out[(i % height) * width + Math.floor(i / height)] = ink;
    }
    start += run;
  });
  pen.putImageData(data, 0, 0);
  masks.set(layer, { colour, image: canvas });
  return canvas;
}
