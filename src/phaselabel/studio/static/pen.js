// Drawing by mouse, pen, fingers and arrow keys.
import { setStatus } from "./messages.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// A point of a stroke is at least this many pixels of the screen from the last one.
const MIN_STEP = 1.5;

// `canStart` says whether a stroke may begin; `onStroke` gets every finished stroke, `shapes` has the other tools.
export function makePen(model, view, shapes, canStart, onStroke) {
  const { canvas, draw } = view;
  const pointers = new Map();
  let keyboardDown = false; // whether the arrow keys draw

  function begin(point) {
    if (!canStart()) return false;
    model.stroke = { class: model.tool === "eraser" ? 0 : model.active, size: model.size, points: [point] };
    draw();
    return true;
  }

  function extend(point) {
    const [x, y] = model.stroke.points.at(-1);
    if (Math.hypot(point[0] - x, point[1] - y) * view.scale() >= MIN_STEP) model.stroke.points.push(point);
    draw();
  }

  function finish() {
    const round = (value) => Math.round(100 * value) / 100;
    const stroke = { ...model.stroke, points: model.stroke.points.map((point) => point.map(round)) };
    model.stroke = null;
    onStroke(stroke);
  }

  function liftKeyboardPen() {
    if (!keyboardDown) return;
    keyboardDown = false;
    finish();
    setStatus("Pen up");
  }

  // Two fingers move and zoom.
  function pinch(event, before) {
    const other = [...pointers.values()].find((p) => p.pointerId !== event.pointerId);
    const box = canvas.getBoundingClientRect();
    const distance = (p) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
    view.pan((event.clientX - before.clientX) / 2, (event.clientY - before.clientY) / 2);
    const point = [other.clientX - box.left, other.clientY - box.top];
    view.zoomBy(distance(event) / Math.max(distance(before), 1), point);
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    liftKeyboardPen();
    if (pointers.size === 2) {
      model.stroke = null;
      return;
    }
    const moves = model.tool === "hand" || event.button === 1 || event.shiftKey;
    if (moves || event.button > 1) canvas.classList.add("moving");
    else if (shapes.handles()) shapes.down(view.toPicture(event));
    else if (pointers.size === 1) begin(view.toPicture(event));
  });

  canvas.addEventListener("pointermove", (event) => {
    model.cursor = view.toPicture(event);
    const before = pointers.get(event.pointerId);
    if (before && pointers.size === 2) pinch(event, before);
    else if (before && canvas.classList.contains("moving")) {
      view.pan(event.clientX - before.clientX, event.clientY - before.clientY);
    } else if (model.stroke && before) {
      for (const part of event.getCoalescedEvents?.() ?? [event]) extend(view.toPicture(part));
    } else if (before) shapes.move(model.cursor);
    if (before) pointers.set(event.pointerId, event);
    draw();
  });

  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => {
      const isMove = canvas.classList.contains("moving");
      pointers.delete(event.pointerId);
      canvas.classList.remove("moving");
      if (name === "pointerup" && !isMove) shapes.up(view.toPicture(event));
      if (model.stroke && !keyboardDown) {
        if (name === "pointerup") finish();
        else model.stroke = null;
      }
      draw();
    });
  }

  canvas.addEventListener("pointerleave", () => {
    if (!keyboardDown) model.cursor = null;
    draw();
  });

  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      view.zoomBy(Math.exp(-event.deltaY / 400), [event.clientX - box.left, event.clientY - box.top]);
    },
    { passive: false },
  );

  // Arrow keys move the pen, space puts it down and lifts it. Returns whether the key was one of these.
  function onKey(event) {
    const arrow = ARROWS[event.key];
    if (document.activeElement !== canvas || (!arrow && event.key !== " ")) return false;
    if (event.repeat && !arrow) return true;
    const { width, height } = model.state;
    model.cursor ??= [width / 2, height / 2];
    if (arrow) {
      const step = (event.shiftKey ? 40 : 8) / view.scale();
      const within = (value, most) => Math.min(most, Math.max(0, value));
      const [x, y] = model.cursor;
      model.cursor = [within(x + step * arrow[0], width), within(y + step * arrow[1], height)];
      if (keyboardDown) extend(model.cursor);
      else shapes.move(model.cursor);
    } else if (keyboardDown) liftKeyboardPen();
    else if (begin(model.cursor)) {
      keyboardDown = true;
      setStatus("Pen down: arrows draw, space lifts it");
    }
    draw();
    return true;
  }

  return { onKey };
}
