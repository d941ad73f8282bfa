// Polygons, boxes and clicks on the picture: the tools besides the brush.
import { setStatus } from "./messages.js";

export const SHAPE_TOOLS = ["polygon", "box", "fill", "object"];

// A click this near to the first corner, in pixels of the screen, closes a polygon.
const CLOSING = 9;
const MIN_CORNERS = 3;

// `canStart` says whether a shape may begin; `onPolygon` gets corners, `onRegion` a place and what it means.
export function makeShapes(model, view, canStart, onPolygon, onRegion) {
  const handles = () => SHAPE_TOOLS.includes(model.tool);

  function cancel() {
    model.shape = null;
    view.draw();
  }

  function close() {
    const corners = model.shape?.points ?? [];
    model.shape = null;
    if (corners.length >= MIN_CORNERS) onPolygon(corners);
    view.draw();
  }

  const isNear = ([x, y], [u, v]) => Math.hypot(x - u, y - v) * view.scale() < CLOSING;

  function addCorner(point) {
    const { points } = model.shape ?? { points: [] };
    if (points.length >= MIN_CORNERS && isNear(point, points[0])) {
      close();
      return;
    }
    // A double click is two clicks at one place, and closes the polygon.
    if (points.length && isNear(point, points.at(-1))) {
      if (points.length >= MIN_CORNERS) close();
      return;
    }
    model.shape = { points: [...points, point] };
    setStatus("Click the next corner; Enter, or the first corner, closes the polygon, Escape drops it");
    view.draw();
  }

  const boxOf = ([x, y], [u, v]) => [
    [x, y],
    [u, y],
    [u, v],
    [x, v],
  ];

  function down(point) {
    if (!model.shape && !canStart()) return;
    if (model.tool === "polygon") addCorner(point);
    else if (model.tool === "box") model.shape = { points: boxOf(point, point), from: point };
    else onRegion(model.tool, point);
  }

  function move(point) {
    if (model.tool === "box" && model.shape) {
      model.shape = { ...model.shape, points: boxOf(model.shape.from, point) };
    }
  }

  // A box of no size is a click by mistake.
  function up(point) {
    if (model.tool !== "box" || !model.shape) return;
    if (isNear(point, model.shape.from)) cancel();
    else close();
  }

  // Enter closes a polygon, Escape drops it, space is a click at the cursor.
  function onKey(event) {
    if (!handles()) return false;
    if (event.key === "Escape" && model.shape) cancel();
    else if (event.key === "Enter" && model.tool === "polygon") close();
    else if (event.key === " " && document.activeElement === view.canvas) {
      const { width, height } = model.state;
      model.cursor ??= [width / 2, height / 2];
      if (model.tool === "box" && model.shape) up(model.cursor);
      else down(model.cursor);
    } else return false;
    return true;
  }

  return { handles, down, move, up, onKey, cancel };
}
