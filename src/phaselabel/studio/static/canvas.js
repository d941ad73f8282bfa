// The picture with its segmentation and strokes on the screen: camera and painting.
import { el } from "./dom.js";
import { oncePerFrame, pixelSize } from "./painting.js";
import { makeOverlay, maskImage } from "./overlay.js";

const FIT_SHARE = 0.97;
const MIN_SCALE = 0.02;
const MAX_SCALE = 60;
const ZOOM_STEP = 1.4;

// Paint what `model` holds: state, picture, segmentation, view, stroke, shape, pending, cursor, hint, tool, size.
export function makeCanvas(model) {
  const canvas = el("canvas", {
    tabindex: "0",
    role: "application",
    "aria-label":
      "Picture. Arrow keys move the pen, space puts it down or lifts it, digits choose the class.",
  });
  const strokesCanvas = document.createElement("canvas");
  const overlay = makeOverlay(model);
  const zoomButtons = el(
    "div",
    { class: "zoom" },
    el(
      "button",
      { class: "icon", "aria-label": "Zoom out", title: "Zoom out (−)", onclick: () => zoomOut() },
      "−",
    ),
    el("button", { "aria-label": "Whole picture", title: "Whole picture (0)", onclick: () => fit() }, "Fit"),
    el(
      "button",
      { class: "icon", "aria-label": "Zoom in", title: "Zoom in (+)", onclick: () => zoomIn() },
      "+",
    ),
  );
  const stage = el("div", { class: "stage" }, canvas, zoomButtons);
  let camera = { scale: 1, x: 0, y: 0 };
  let fitted = true; // whether the camera follows the size of the window

  // -- camera
  function fitCamera(box) {
    const { width, height } = model.state;
    const scale = Math.min(box.width / width, box.height / height) * FIT_SHARE;
    camera = { scale, x: (box.width - scale * width) / 2, y: (box.height - scale * height) / 2 };
  }
  function fit() {
    fitted = true;
    draw();
  }
  const toScreen = ([x, y]) => [x * camera.scale + camera.x, y * camera.scale + camera.y];
  function toPicture(event) {
    const box = canvas.getBoundingClientRect();
    if (fitted) fitCamera(stage.getBoundingClientRect()); // a stroke can come before the first frame
    const x = event.clientX - box.left - camera.x;
    const y = event.clientY - box.top - camera.y;
    return [x / camera.scale, y / camera.scale];
  }
  function zoomBy(factor, point = null) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = point ?? [box.width / 2, box.height / 2];
    const scale = Math.min(MAX_SCALE, Math.max(MIN_SCALE, camera.scale * factor));
    const ratio = scale / camera.scale;
    camera = { scale, x: x - (x - camera.x) * ratio, y: y - (y - camera.y) * ratio };
    fitted = false;
    draw();
  }
  const zoomIn = () => zoomBy(ZOOM_STEP);
  const zoomOut = () => zoomBy(1 / ZOOM_STEP);
  function pan(dx, dy) {
    camera.x += dx;
    camera.y += dy;
    fitted = false;
    draw();
  }
  // Move the picture as little as possible, so that a place is in sight and not under the buttons.
  function bringIntoView(point, margin = 30) {
    const box = canvas.getBoundingClientRect();
    const bottom = box.bottom - zoomButtons.getBoundingClientRect().top + margin;
    const [x, y] = toScreen(point);
    const dx = Math.min(Math.max(x, margin), box.width - margin) - x;
    const dy = Math.min(Math.max(y, margin), box.height - bottom) - y;
    if (dx || dy) pan(dx, dy);
  }

  // -- painting
  const draw = oncePerFrame(paint);

  function paint() {
    const { width, height, ratio, box } = pixelSize(stage);
    for (const c of [canvas, strokesCanvas]) {
      if (c.width !== width || c.height !== height) {
        c.width = width;
        c.height = height;
      }
    }
    if (fitted) fitCamera(box);
    const pen = canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, width, height);
    const scale = camera.scale * ratio;
    pen.setTransform(scale, 0, 0, scale, camera.x * ratio, camera.y * ratio);
    pen.imageSmoothingEnabled = camera.scale < 2;
    if (model.picture) pen.drawImage(model.picture, 0, 0);
    const onScreen = { scale, x: camera.x * ratio, y: camera.y * ratio };
    const classes = overlay.image(width, height, onScreen, ratio);
    pen.setTransform(1, 0, 0, 1, 0, 0);
    if (classes) pen.drawImage(classes, 0, 0);
    if (model.strokesShown || model.stroke || model.pending.length) {
      paintStrokes(scale, ratio);
      pen.drawImage(strokesCanvas, 0, 0);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintShape(pen);
    paintHint(pen);
    paintCursor(pen);
  }

  // The polygon or box that is being drawn, with a white line that a black one makes visible everywhere.
  function paintShape(pen) {
    if (!model.shape) return;
    const corners = model.shape.points.map(toScreen);
    for (const [colour, width] of [
      ["#000", 3.5],
      ["#fff", 1.5],
    ]) {
      pen.beginPath();
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      corners.forEach((point, k) => (k ? pen.lineTo(...point) : pen.moveTo(...point)));
      if (model.shape.from) pen.closePath();
      else if (model.cursor) pen.lineTo(...toScreen(model.cursor));
      pen.stroke();
    }
    for (const corner of corners) circle(pen, corner, 3, "#fff", 3);
  }

  // Strokes have a canvas of their own, so that the eraser removes strokes and not the picture.
  function paintStrokes(scale, ratio) {
    const pen = strokesCanvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, strokesCanvas.width, strokesCanvas.height);
    pen.setTransform(scale, 0, 0, scale, camera.x * ratio, camera.y * ratio);
    const colours = Object.fromEntries(model.state.classes.map((c) => [c.id, c.color]));
    const stored = model.strokesShown ? model.state.layers : [];
    for (const layer of [...stored, ...model.pending, ...(model.stroke ? [model.stroke] : [])]) {
      pen.globalCompositeOperation = layer.class === 0 ? "destination-out" : "source-over";
      const colour = colours[layer.class];
      if (layer.runs) pen.drawImage(maskImage(layer, colour ?? "#888888", model.state), 0, 0);
      else if (layer.polygon) paintPolygon(pen, layer, colour ?? "#000");
      else paintLine(pen, layer, colour ?? "#000");
    }
    pen.globalCompositeOperation = "source-over";
  }

  function paintLine(pen, layer, colour) {
    pen.strokeStyle = colour;
    pen.fillStyle = colour;
    pen.lineWidth = layer.size;
    pen.lineCap = "round";
    pen.lineJoin = "round";
    pen.beginPath();
    const [first, ...rest] = layer.points;
    if (!rest.length) {
      pen.arc(...first, layer.size / 2, 0, 7);
      pen.fill();
      return;
    }
    pen.moveTo(...first);
    for (const point of rest) pen.lineTo(...point);
    pen.stroke();
  }

  function paintPolygon(pen, layer, colour) {
    pen.fillStyle = colour;
    pen.beginPath();
    layer.polygon.forEach((point, k) => (k ? pen.lineTo(...point) : pen.moveTo(...point)));
    pen.closePath();
    pen.fill("evenodd");
  }

  function circle(pen, [x, y], radius, colour, width) {
    pen.beginPath();
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.arc(x, y, radius, 0, 7);
    pen.stroke();
  }

  function paintHint(pen) {
    const hint = model.state.hints[model.hint];
    if (!hint) return;
    const centre = toScreen(hint);
    circle(pen, centre, 22, "#000", 5);
    circle(pen, centre, 22, "#fff", 2.5);
    circle(pen, centre, 3, "#fff", 4);
  }

  function paintCursor(pen) {
    if (!model.cursor || model.tool === "hand") return;
    const isBrush = model.tool === "brush" || model.tool === "eraser";
    const radius = isBrush ? Math.max(1.5, (model.size * camera.scale) / 2) : 4;
    circle(pen, toScreen(model.cursor), radius, "#000", 2.5);
    circle(pen, toScreen(model.cursor), radius, "#fff", 1.2);
  }

  new ResizeObserver(draw).observe(stage);
  return {
    canvas,
    stage,
    draw,
    fit,
    zoomBy,
    zoomIn,
    zoomOut,
    pan,
    bringIntoView,
    toPicture,
    scale: () => camera.scale,
    // Left, top, right and bottom of the part of the picture that is on the screen.
    shownBox: () => {
      const box = canvas.getBoundingClientRect();
      if (fitted) fitCamera(box);
      const corner = (x, y) => [(x - camera.x) / camera.scale, (y - camera.y) / camera.scale];
      const [left, top] = corner(0, 0).map(Math.floor);
      const [right, bottom] = corner(box.width, box.height).map(Math.ceil);
      const { width, height } = model.state;
      return [Math.max(0, left), Math.max(0, top), Math.min(width, right), Math.min(height, bottom)];
    },
  };
}
