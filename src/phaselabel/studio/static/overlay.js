// Pictures made from the segmentation and from masks, in pixels of the picture.
import { rgb } from "./dom.js";

const CLASS_ALPHA = 100;
const WHITE = 0xffffffff;

// The outline of a class is this many pixels wide.
const outlineWidth = (width) => Math.max(1, Math.round(width / 900));

const pack = ([red, green, blue], alpha) => ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;

function blank(width, height) {
  const canvas = new OffscreenCanvas(width, height);
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(width, height);
  const finish = () => {
    pen.putImageData(image, 0, 0);
    return canvas;
  };
  return { out: new Uint32Array(image.data.buffer), finish };
}

function paintConfidence(out, confidences) {
  for (let i = 0; i < out.length; i += 1) {
    const doubt = Math.min(255, 2 * (255 - confidences[i]));
    out[i] = pack([0xff, 0x28, 0xb4], doubt);
  }
}

function paintClasses(out, labels, { width, height, classes }, outlinesOnly) {
  const most = Math.max(0, ...classes.map((c) => c.id));
  const fill = new Uint32Array(most + 1);
  const solid = new Uint32Array(most + 1);
  for (const c of classes) {
    fill[c.id] = pack(rgb(c.color), CLASS_ALPHA);
    solid[c.id] = pack(rgb(c.color), 255);
  }
  const wide = outlineWidth(width);
  const down = wide * width;
  const differs = (i, inside, k) => inside && labels[i] !== k;
  for (let y = 0, i = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, i += 1) {
      const k = labels[i];
      const after = differs(i + wide, x + wide < width, k) || differs(i + down, y + wide < height, k);
      if (!outlinesOnly) out[i] = after ? WHITE : fill[k];
      else if (after || differs(i - wide, x >= wide, k) || differs(i - down, y >= wide, k)) out[i] = solid[k];
    }
  }
}

// The picture that a view lays over the image; null if there is none.
export function overlayImage(state, segmentation, view) {
  if (!segmentation || view === "picture") return null;
  const { out, finish } = blank(state.width, state.height);
  if (view === "confidence") paintConfidence(out, segmentation.confidences);
  else paintClasses(out, segmentation.labels, state, view === "outline");
  return finish();
}

const masks = new WeakMap();

// The picture of a mask that is given as run lengths, column by column.
export function maskImage(layer, colour, { width, height }) {
  if (masks.get(layer)?.colour === colour) return masks.get(layer).image;
  const { out, finish } = blank(width, height);
  const ink = pack(rgb(colour), 255);
  let start = 0;
  layer.runs.forEach((run, k) => {
    if (k % 2) {
      for (let i = start; i < start + run; i += 1) out[(i % height) * width + Math.floor(i / height)] = ink;
    }
    start += run;
  });
  const image = finish();
  masks.set(layer, { colour, image });
  return image;
}
