// The drawing workspace: a picture, a brush, and the segmentation that follows.
import { makeAlbum } from "./album.js";
import { makeCanvas } from "./canvas.js";
import { makeClassList } from "./class_list.js";
import { digitOf, el, statusText } from "./dom.js";
import { setStatus, toast, updateHistoryButtons } from "./messages.js";
import { notesList } from "./notes.js";
import { makePen } from "./pen.js";
import { sendAction, upload } from "./saving.js";
import { bytes, query } from "./server.js";
import { makeShapes } from "./shapes.js";
import { makeViewOptions } from "./view_options.js";

const TOOLS = {
  brush: ["Brush", "Brush (B)"],
  eraser: ["Eraser", "Eraser (E)"],
  polygon: ["Polygon", "Polygon (Y): click its corners"],
  box: ["Box", "Box (R): drag from corner to corner"],
  fill: ["Fill", "Fill (F): connected pixels of nearly the same colour"],
  object: ["Object", "Object (O): click one, and all of it is marked"],
  hand: ["Hand", "Move the picture (P), or Shift + drag"],
};
const MAX_BRUSH = 120;
const HEADER_BYTES = 12;
const KEYS = {
  "1 … 9": "choose a class",
  "Shift 1 … 9": "choose the 10th to 18th class",
  N: "new class",
  B: "brush",
  E: "eraser",
  Y: "polygon (Enter closes it)",
  R: "box",
  F: "fill like colours",
  O: "mark a whole object by a click",
  P: "move the picture",
  "[ ]": "smaller, larger brush",
  V: "next view",
  S: "show or hide strokes",
  H: "hint: where a stroke helps most",
  "+ − 0": "zoom in, zoom out, whole picture",
  D: "to the picture",
  "← ↑ ↓ →": "move the pen (on the picture)",
  Space: "pen down, pen up",
  I: "import strokes or masks",
};
const ALBUM_KEYS = { ", .": "previous, next picture", G: "go to the picture that needs strokes most" };

// The bytes are: columns, rows and step (uint32 each), the class of every cell (uint16), the confidences.
function segmentationOf(version, content) {
  if (!content.byteLength) return null;
  const [columns, rows, step] = new Uint32Array(content, 0, 3);
  const n = columns * rows;
  const labels = new Uint16Array(content, HEADER_BYTES, n);
  return { version, columns, step, labels, confidences: new Uint8Array(content, HEADER_BYTES + 2 * n) };
}

export function open(root, first) {
  // What the parts of the workspace share; see canvas.js and pen.js.
  const model = {
    state: first,
    active: first.classes[0]?.id ?? 0,
    choices: 0, // how often a class was chosen
    tool: "brush",
    size: Math.max(4, Math.round(Math.max(first.width, first.height) / 60)),
    view: "overlay",
    strokesShown: true,
    hint: -1,
    picture: null,
    segmentation: null,
    opacity: 0.4,
    hidden: new Set(), // classes that are not shown
    bands: "", // the bands of a cube that are shown; by default the server chooses
    stroke: null,
    shape: null, // the polygon or box that is being drawn
    pending: [], // strokes that the server has not confirmed
    cursor: null,
  };
  const view = makeCanvas(model);
  const { canvas, draw } = view;
  const shapes = makeShapes(model, view, canStart, savePolygon, saveRegion);
  const pen = makePen(model, view, shapes, canStart, saveStroke);
  const classes = makeClassList(model, { choose, change: changeClass, remove: removeClass, draw });

  // -- layout
  const nameField = el("input", {
    type: "text",
    maxLength: 60,
    placeholder: "New class, e.g. sky",
    "aria-label": "Name of a new class",
  });
  const form = el(
    "form",
    { class: "add", onsubmit: addClass },
    nameField,
    el("button", { class: "primary" }, "Add"),
  );
  const toolButtons = Object.entries(TOOLS).map(([name, [text, title]]) =>
    el("button", { "data-tool": name, "aria-pressed": "false", title, onclick: () => setTool(name) }, text),
  );
  const sizeField = el("input", {
    type: "range",
    min: "1",
    max: String(MAX_BRUSH),
    value: String(model.size),
    "aria-label": "Size of the brush",
    oninput: () => setSize(Number(sizeField.value)),
  });
  const sizeText = el("output", {}, `${model.size} px`);
  const options = makeViewOptions(model, draw, () => loadPicture());
  const strokesBox = el("input", {
    type: "checkbox",
    checked: true,
    onchange: () => {
      model.strokesShown = strokesBox.checked;
      draw();
    },
  });
  const hintButton = el(
    "button",
    { onclick: nextHint, disabled: true, title: "Where a stroke would help most (H)" },
    "Hint",
  );
  // An album has several pictures; every request names the one that is shown.
  const isAlbum = Boolean(first.images);
  const ofPicture = () => (isAlbum ? { image: model.state.image } : {});
  const album = isAlbum ? makeAlbum(goTo) : null;
  const fileField = el("input", {
    type: "file",
    accept: ".json,.png,.zip",
    hidden: true,
    "aria-label": "File of strokes",
    onchange: importFile,
  });
  const section = (title, ...children) => el("section", {}, el("h2", {}, title), ...children);
  const strokesLabel = el("label", { class: "check" }, strokesBox, "Strokes");
  const panel = el(
    "aside",
    { class: "panel", "aria-label": "Classes and tools" },
    notesList(first.notes),
    album ? section("Pictures", album.node) : null,
    section("Classes", classes.node, form, classes.tip),
    section(
      "Pen",
      el("div", { class: "tools" }, toolButtons),
      el("label", { class: "size" }, "Size", sizeField, sizeText),
    ),
    section("View", options.node, el("div", { class: "row options" }, strokesLabel, hintButton)),
    fileField,
  );
  root.replaceChildren(el("div", { class: "drawing" }, view.stage, panel));

  // -- strokes
  function canStart() {
    if (model.tool === "eraser" || model.state.classes.some((c) => c.id === model.active)) return true;
    toast("Name a class first, then draw it.", "note");
    nameField.focus();
    return false;
  }

  function saveStroke(stroke) {
    model.pending.push(stroke);
    sendAction("stroke", { ...stroke, ...ofPicture() })
      .then(show)
      .catch(() => {})
      .finally(() => {
        model.pending = model.pending.filter((other) => other !== stroke);
        draw();
      });
  }

  const activeClass = () => (model.tool === "eraser" ? 0 : model.active);

  // What a click means is found on the server; until then the page has nothing to show.
  function saveRegion(how, point) {
    setStatus(how === "fill" ? "Filling…" : "Looking for the object…");
    const body = { class: activeClass(), how, point, box: view.shownBox(), ...ofPicture() };
    sendAction("region", body)
      .then(show)
      .catch(() => setStatus(""));
  }

  function savePolygon(points) {
    const shape = { class: activeClass(), polygon: points };
    model.pending.push(shape);
    sendAction("polygon", { ...shape, ...ofPicture() })
      .then(show)
      .catch(() => {})
      .finally(() => {
        model.pending = model.pending.filter((other) => other !== shape);
        draw();
      });
  }

  async function importFile() {
    if (!fileField.files.length) return;
    const before = model.state.images; // an event may bring the new ones before the response
    const next = await upload(fileField.files[0], ofPicture()).catch(() => null);
    fileField.value = "";
    if (!next) return;
    if (isAlbum) sayWhere(before, next.images);
    show(next);
  }

  // A file may be for other pictures than the one that is shown.
  function sayWhere(before, images) {
    const strokes = Object.fromEntries(before.map((one) => [one.id, one.strokes]));
    const names = images.filter((one) => one.strokes > strokes[one.id]).map((one) => one.name);
    const others = names.length > 3 ? ` and ${names.length - 3} more` : "";
    toast(`Added to ${names.slice(0, 3).join(", ")}${others}`, "note");
  }

  // -- tools and views
  function setTool(name) {
    model.tool = name;
    shapes.cancel();
    for (const button of toolButtons) {
      button.setAttribute("aria-pressed", String(button.dataset.tool === name));
    }
    canvas.dataset.tool = name;
    draw();
  }

  function setSize(size) {
    model.size = Math.min(MAX_BRUSH, Math.max(1, size));
    sizeField.value = String(model.size);
    sizeText.textContent = `${model.size} px`;
    draw();
  }

  const resizeBy = (sign) => setSize(model.size + sign * Math.max(1, Math.round(model.size / 5)));

  function nextHint() {
    const { hints } = model.state;
    if (!hints.length) return;
    model.hint = (model.hint + 1) % hints.length;
    view.bringIntoView(hints[model.hint]);
    model.cursor = [...hints[model.hint]];
    setStatus(`Hint ${model.hint + 1} of ${hints.length}: a stroke in the ring would help most`);
    draw();
  }

  // -- classes
  async function addClass(event) {
    event.preventDefault();
    const name = nameField.value;
    if (!name.trim()) return;
    nameField.value = ""; // at once: text that is typed before the response is the next name
    const before = model.choices;
    const next = await sendAction("class", { name }).catch(() => null);
    if (!next) {
      nameField.value ||= name;
      return;
    }
    if (model.choices === before) choose(next.classes.at(-1).id); // a class chosen meanwhile stays
    setTool("brush");
    show(next);
  }

  function choose(id) {
    model.active = id;
    model.choices += 1;
    if (["eraser", "hand"].includes(model.tool)) setTool("brush");
    classes.show();
  }

  function changeClass(c, changes) {
    sendAction("rename", { class: c.id, ...changes })
      .then(show)
      .catch(classes.reset);
  }

  function removeClass(c) {
    sendAction("remove", { class: c.id })
      .then(show)
      .catch(() => {});
  }

  // -- state and events
  // Show another picture of the album. Responses overtake each other: the latest request counts.
  let wanted = null;
  async function goTo(image) {
    wanted = image;
    const next = await query("state", { image }).catch(() => null);
    if (wanted !== image || !next) return;
    model.state = next;
    model.picture = model.segmentation = model.shape = null;
    model.hint = -1;
    show(next);
    await Promise.all([loadPicture(), loadSegmentation()]);
    if (wanted !== image) return;
    view.fit();
    root.dataset.image = String(image);
  }

  function show(next) {
    if (next.version < model.state.version) return;
    if (isAlbum && next.image !== model.state.image) {
      refresh(); // an undo may concern another picture
      return;
    }
    album?.show(next);
    model.state = next;
    if (!next.classes.some((c) => c.id === model.active)) model.active = next.classes[0]?.id ?? 0;
    classes.update();
    updateHistoryButtons(next);
    hintButton.disabled = !next.hints.length;
    if (model.hint >= next.hints.length) model.hint = -1;
    if (next.segmented == null && next.previewed == null) model.segmentation = null;
    setStatus(statusText(next.status));
    draw();
  }

  // What was taken back is shown, also if it is on another picture.
  function showHistory(next) {
    if (next.concerns === undefined || next.concerns === model.state.image) show(next);
    else goTo(next.concerns);
  }

  async function loadSegmentation() {
    const { image } = model.state;
    const { version, content } = await bytes("segmentation", ofPicture());
    if (image !== model.state.image) return;
    model.segmentation = segmentationOf(version, content);
    draw();
  }

  async function refresh() {
    show(await query("state", ofPicture()));
  }

  async function onEvent(event) {
    if (event.status) setStatus(statusText(event.status));
    if ("previewed" in event) {
      await loadSegmentation();
      root.dataset.previewed = shownVersion();
    } else if ("segmented" in event) {
      model.hint = -1;
      await refresh();
      if (model.state.segmented != null) await loadSegmentation();
      root.dataset.segmented = shownVersion();
    } else if ("settled" in event) {
      await refresh();
      await loadSegmentation();
      root.dataset.settled = shownVersion();
    } else if (event.changed > model.state.version || event.opened) await catchUp();
  }

  const shownVersion = () => String(model.segmentation?.version ?? -1);

  // Show what another page did, or what happened while there was no connection.
  async function catchUp() {
    await refresh();
    const { segmented } = model.state;
    if (segmented == null || segmented === model.segmentation?.version) return;
    await loadSegmentation();
    root.dataset.segmented = String(segmented);
  }

  const COMMANDS = {
    b: () => setTool("brush"),
    e: () => setTool("eraser"),
    p: () => setTool("hand"),
    "[": () => resizeBy(-1),
    "]": () => resizeBy(1),
    y: () => setTool("polygon"),
    r: () => setTool("box"),
    f: () => setTool("fill"),
    o: () => setTool("object"),
    v: options.nextView,
    h: nextHint,
    s: () => strokesBox.click(),
    "+": view.zoomIn,
    "=": view.zoomIn,
    "-": view.zoomOut,
    0: view.fit,
    n: () => nameField.focus(),
    d: () => canvas.focus(),
    i: () => fileField.click(),
  };

  function onKey(event) {
    const key = event.key.toLowerCase();
    if (shapes.onKey(event) || pen.onKey(event)) return true;
    const [digit, isShifted] = digitOf(event);
    if (digit) {
      const c = model.state.classes[digit - 1 + (isShifted ? 9 : 0)];
      if (c) choose(c.id);
      return true;
    }
    if (album?.onKey(key)) return true;
    if (!(key in COMMANDS)) return false;
    COMMANDS[key]();
    return true;
  }

  async function loadPicture() {
    const { bands, state } = model;
    const { content } = await bytes("picture", { ...ofPicture(), bands });
    const picture = await createImageBitmap(new Blob([content]));
    if (bands !== model.bands || state.image !== model.state.image) return; // another one is shown by now
    model.picture = picture;
    draw();
  }

  loadPicture();
  setTool("brush");
  show(first);
  const importButton = el("button", { role: "menuitem", onclick: () => fileField.click() }, "Import…");
  const keys = isAlbum ? { ...KEYS, ...ALBUM_KEYS } : KEYS;
  return { show: showHistory, onEvent, onKey, menu: [importButton], keys };
}
