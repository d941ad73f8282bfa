// The drawing workspace: a picture, a brush, and the segmentation that follows.
import { makeAlbum } from "./album.js";
import { makeCanvas } from "./canvas.js";
import { el, percent, statusText, textColour } from "./dom.js";
import { setStatus, toast, updateHistoryButtons } from "./messages.js";
import { notesList } from "./notes.js";
import { overlayImage } from "./overlay.js";
import { makePen } from "./pen.js";
import { sendAction, upload } from "./saving.js";
import { bytes, query } from "./server.js";

const VIEWS = ["overlay", "outline", "confidence", "picture"];
const TOOLS = {
  brush: ["Brush", "Brush (B)"],
  eraser: ["Eraser", "Eraser (E)"],
  hand: ["Hand", "Move the picture (P), or Shift + drag"],
};
const MAX_BRUSH = 120;
const KEYS = {
  "1 … 9": "choose a class",
  N: "new class",
  B: "brush",
  E: "eraser",
  P: "move the picture",
  "[ ]": "smaller, larger brush",
  V: "next view",
  S: "show or hide strokes",
  H: "hint: where a stroke helps most",
  "+ −": "zoom",
  0: "whole picture",
  D: "to the picture",
  "← ↑ ↓ →": "move the pen (on the picture)",
  Space: "pen down, pen up",
  I: "import strokes",
};
const ALBUM_KEYS = { ", .": "previous, next picture", G: "go to the picture that needs strokes most" };

export function open(root, first) {
  // What the parts of the workspace share; see canvas.js and pen.js.
  const model = {
    state: first,
    active: first.classes[0]?.id ?? 0,
    tool: "brush",
    size: Math.max(4, Math.round(Math.max(first.width, first.height) / 60)),
    view: "overlay",
    strokesShown: true,
    hint: -1,
    picture: null,
    overlay: null,
    stroke: null,
    pending: [], // strokes that the server has not confirmed
    cursor: null,
  };
  let segmentation = null;
  const view = makeCanvas(model);
  const { canvas, draw } = view;
  const pen = makePen(model, view, canStart, saveStroke);

  // -- layout
  const classList = el("ul", { class: "classes", "aria-label": "Classes" });
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
  const tip = el("p", { class: "tip" });
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
  const viewChoice = el(
    "div",
    { class: "segments", role: "radiogroup", "aria-label": "View" },
    VIEWS.map((name) => {
      const checked = name === model.view;
      const onchange = () => setView(name);
      return el(
        "label",
        {},
        el("input", { type: "radio", name: "view", value: name, checked, onchange }),
        name,
      );
    }),
  );
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
    accept: ".json,.png",
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
    section("Classes", classList, form, tip),
    section(
      "Pen",
      el("div", { class: "row" }, toolButtons),
      el("label", { class: "size" }, "Size", sizeField, sizeText),
    ),
    section("View", viewChoice, el("div", { class: "row" }, strokesLabel, hintButton)),
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

  async function importFile() {
    if (!fileField.files.length) return;
    const next = await upload(fileField.files[0]).catch(() => null);
    fileField.value = "";
    if (next) show(next);
  }

  // -- tools and views
  function setTool(name) {
    model.tool = name;
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

  function setView(name) {
    model.view = name;
    for (const input of viewChoice.querySelectorAll("input")) input.checked = input.value === name;
    updateOverlay();
  }

  function updateOverlay() {
    model.overlay = overlayImage(model.state, segmentation, model.view);
    draw();
  }

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
    const next = await sendAction("class", { name }).catch(() => null);
    if (!next) {
      nameField.value ||= name;
      return;
    }
    model.active = next.classes.at(-1).id;
    setTool("brush");
    show(next);
  }

  function choose(id) {
    model.active = id;
    setTool("brush");
    listClasses();
  }

  function changeClass(c, changes) {
    sendAction("rename", { class: c.id, ...changes })
      .then(show)
      .catch(() => listClasses());
  }

  function classEntry(c, k) {
    const button = el(
      "button",
      {
        class: "pick",
        "aria-pressed": String(model.active === c.id),
        "aria-label": `Draw ${c.name}`,
        title: k < 9 ? `Key ${k + 1}` : "",
        onclick: () => choose(c.id),
        style: { background: c.color, color: textColour(c.color) },
      },
      k < 9 ? String(k + 1) : "•",
    );
    const name = el("input", {
      type: "text",
      class: "name",
      value: c.name,
      maxLength: 60,
      "aria-label": `Name of class ${c.name}`,
      onchange: () => changeClass(c, { name: name.value }),
      onfocus: () => {
        if (model.active === c.id) return;
        model.active = c.id;
        markActive();
      },
    });
    const share = el(
      "span",
      { class: "share", title: "Share of the picture" },
      c.share == null ? "" : percent(c.share),
    );
    const colour = el("input", {
      type: "color",
      value: c.color,
      "aria-label": `Colour of ${c.name}`,
      onchange: () => changeClass(c, { color: colour.value }),
    });
    const remove = el(
      "button",
      {
        class: "icon small",
        "aria-label": `Remove ${c.name}`,
        title: "Remove with its strokes (undo brings it back)",
        onclick: () =>
          sendAction("remove", { class: c.id })
            .then(show)
            .catch(() => {}),
      },
      "×",
    );
    const active = model.active === c.id ? "on" : "";
    return el("li", { "data-class": c.id, class: active }, button, name, share, colour, remove);
  }

  function listClasses() {
    const { classes, layers } = model.state;
    classList.replaceChildren(...classes.map(classEntry));
    const drawn = new Set(layers.map((layer) => layer.class));
    if (classes.length < 2) {
      tip.textContent = "Name at least two classes: what you look for, and what surrounds it.";
    } else {
      tip.textContent = classes.every((c) => drawn.has(c.id)) ? "" : "Draw a short stroke in each class.";
    }
    tip.hidden = !tip.textContent;
  }

  // Without a new list, which would take the focus from a name field.
  function markActive() {
    for (const entry of classList.children) {
      const active = Number(entry.dataset.class) === model.active;
      entry.classList.toggle("on", active);
      entry.firstChild.setAttribute("aria-pressed", String(active));
    }
  }

  // -- state and events
  const coloursOf = (state) => JSON.stringify(state.classes.map((c) => [c.id, c.color]));

  // Show another picture of the album.
  async function goTo(image) {
    const next = await query("state", { image });
    model.state = next;
    model.picture = segmentation = model.overlay = null;
    model.hint = -1;
    show(next);
    await Promise.all([loadPicture(), loadSegmentation()]);
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
    const recoloured = coloursOf(next) !== coloursOf(model.state);
    model.state = next;
    if (!next.classes.some((c) => c.id === model.active)) model.active = next.classes[0]?.id ?? 0;
    const focused = document.activeElement;
    if (!classList.contains(focused) || focused.tagName !== "INPUT") listClasses();
    updateHistoryButtons(next);
    hintButton.disabled = !next.hints.length;
    if (model.hint >= next.hints.length) model.hint = -1;
    if (next.segmented == null && segmentation) {
      segmentation = null;
      updateOverlay();
    } else if (recoloured) updateOverlay();
    setStatus(statusText(next.status));
    draw();
  }

  async function loadSegmentation() {
    const { image } = model.state;
    const { version, content } = await bytes("segmentation", ofPicture());
    if (image !== model.state.image) return;
    const n = model.state.width * model.state.height;
    segmentation = content.byteLength
      ? { version, labels: new Uint16Array(content, 0, n), confidences: new Uint8Array(content, 2 * n) }
      : null;
    updateOverlay();
  }

  async function refresh() {
    show(await query("state", ofPicture()));
  }

  async function onEvent(event) {
    if (event.status) setStatus(statusText(event.status));
    if ("segmented" in event) {
      model.hint = -1;
      await refresh();
      if (model.state.segmented != null) await loadSegmentation();
      root.dataset.segmented = String(segmentation?.version ?? -1);
    } else if (event.changed > model.state.version || event.opened) {
      await refresh();
      const { segmented } = model.state;
      if (segmented != null && segmented !== segmentation?.version) {
        await loadSegmentation();
        root.dataset.segmented = String(segmented);
      }
    }
  }

  const COMMANDS = {
    b: () => setTool("brush"),
    e: () => setTool("eraser"),
    p: () => setTool("hand"),
    "[": () => resizeBy(-1),
    "]": () => resizeBy(1),
    v: () => setView(VIEWS[(VIEWS.indexOf(model.view) + 1) % VIEWS.length]),
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
    if (pen.onKey(event)) return true;
    if (/^[1-9]$/.test(key)) {
      const c = model.state.classes[Number(key) - 1];
      if (c) choose(c.id);
      return true;
    }
    if (album?.onKey(key)) return true;
    if (!(key in COMMANDS)) return false;
    COMMANDS[key]();
    return true;
  }

  async function loadPicture() {
    const { content } = await bytes("picture", ofPicture());
    model.picture = await createImageBitmap(new Blob([content]));
    draw();
  }

  loadPicture();
  setTool("brush");
  show(first);
  const importButton = el(
    "button",
    { role: "menuitem", onclick: () => fileField.click() },
    "Import strokes…",
  );
  const menu = isAlbum ? [] : [importButton];
  return { show, onEvent, onKey, menu, keys: isAlbum ? { ...KEYS, ...ALBUM_KEYS } : KEYS };
}
