// The drawing room: a picture, a brush, and the segmentation that follows.
import { ask, bytes, el, find, ink, order, percent, rgb, say, toast, upload } from "./page.js";
import { steps } from "./studio.js";

const VIEWS = ["overlay", "outline", "confidence", "picture"];

export function open(root, first) {
  let state = first;
  let active = first.classes[0]?.id ?? 0;
  let tool = "brush", size = Math.max(4, Math.round(Math.max(first.width, first.height) / 60));
  let view = "overlay", strokesShown = true, hint = -1;
  let picture = null, found = null, overlay = null;
  let camera = { scale: 1, x: 0, y: 0 }, fitted = true;
  let stroke = null, pending = [], cursor = null, penDown = false;
  const pointers = new Map();

  // -- the frame
  const canvas = el("canvas", { tabindex: "0", role: "application",
    "aria-label": "Picture. Arrow keys move the pen, space puts it down or lifts it, digits choose the class." });
  const layer = document.createElement("canvas");
  const classList = el("ul", { class: "classes", "aria-label": "Classes" });
  const nameField = el("input", { type: "text", maxLength: 60, placeholder: "New class, e.g. sky", "aria-label": "Name of a new class" });
  const form = el("form", { class: "add", onsubmit: add }, nameField, el("button", { class: "primary" }, "Add"));
  const toolButtons = ["brush", "eraser", "hand"].map((name) => el("button", { "data-tool": name, "aria-pressed": "false",
    title: { brush: "Brush (B)", eraser: "Eraser (E)", hand: "Move the picture (P), or Shift + drag" }[name], onclick: () => pick(name) },
    { brush: "Brush", eraser: "Eraser", hand: "Hand" }[name]));
  const sizeField = el("input", { type: "range", min: "1", max: "120", value: String(size), "aria-label": "Size of the brush", oninput: () => resize(Number(sizeField.value)) });
  const sizeText = el("output", {}, `${size} px`);
  const views = el("div", { class: "segments", role: "radiogroup", "aria-label": "View" }, VIEWS.map((name) =>
    el("label", {}, el("input", { type: "radio", name: "view", value: name, checked: name === view, onchange: () => look(name) }), name)));
  const strokesBox = el("input", { type: "checkbox", checked: true, onchange: () => { strokesShown = strokesBox.checked; draw(); } });
  const hintButton = el("button", { onclick: nextHint, disabled: true, title: "Where a stroke would help most (H)" }, "Hint");
  const tip = el("p", { class: "tip" });
  const file = el("input", { type: "file", accept: ".json,.png", hidden: true, "aria-label": "File of strokes", onchange: take });
  const zoom = el("div", { class: "zoom" },
    el("button", { class: "icon", "aria-label": "Zoom out", title: "Zoom out (−)", onclick: () => zoomBy(1 / 1.4) }, "−"),
    el("button", { "aria-label": "Whole picture", title: "Whole picture (0)", onclick: fit }, "Fit"),
    el("button", { class: "icon", "aria-label": "Zoom in", title: "Zoom in (+)", onclick: () => zoomBy(1.4) }, "+"));
  const stage = el("div", { class: "stage" }, canvas, zoom);
  root.replaceChildren(el("div", { class: "drawing" }, stage, el("aside", { class: "panel", "aria-label": "Classes and tools" },
    el("section", {}, el("h2", {}, "Classes"), classList, form, tip),
    el("section", {}, el("h2", {}, "Pen"), el("div", { class: "row" }, toolButtons),
      el("label", { class: "size" }, "Size", sizeField, sizeText)),
    el("section", {}, el("h2", {}, "View"), views,
      el("div", { class: "row" }, el("label", { class: "check" }, strokesBox, "Strokes"), hintButton)), file)));

  // -- drawing on the screen
  let asked = false;
  function draw() {
    if (!asked) { asked = true; requestAnimationFrame(() => { asked = false; paint(); }); }
  }

  function paint() {
    const box = stage.getBoundingClientRect(), dpr = window.devicePixelRatio || 1;
    const w = Math.max(1, Math.round(box.width * dpr)), h = Math.max(1, Math.round(box.height * dpr));
    for (const c of [canvas, layer]) if (c.width !== w || c.height !== h) { c.width = w; c.height = h; }
    if (fitted) place(box);
    const pen = canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, w, h);
    const s = camera.scale * dpr;
    pen.setTransform(s, 0, 0, s, camera.x * dpr, camera.y * dpr);
    pen.imageSmoothingEnabled = camera.scale < 2;
    if (picture) pen.drawImage(picture, 0, 0);
    if (overlay && view !== "picture") pen.drawImage(overlay, 0, 0);
    if (strokesShown || stroke || pending.length) {
      inkStrokes(s, dpr);
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.drawImage(layer, 0, 0);
    }
    pen.setTransform(dpr, 0, 0, dpr, 0, 0);
    rings(pen);
    aim(pen);
  }

  function inkStrokes(s, dpr) {
    const pen = layer.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, layer.width, layer.height);
    pen.setTransform(s, 0, 0, s, camera.x * dpr, camera.y * dpr);
    const colours = Object.fromEntries(state.classes.map((c) => [c.id, c.color]));
    const all = [...(strokesShown ? state.layers : []), ...pending, ...(stroke ? [stroke] : [])];
    for (const one of all) {
      pen.globalCompositeOperation = one.class === 0 ? "destination-out" : "source-over";
      if (one.runs) { pen.drawImage(maskOf(one, colours[one.class] ?? "#888"), 0, 0); continue; }
      line(pen, one, colours[one.class] ?? "#000");
    }
    pen.globalCompositeOperation = "source-over";
  }

  function line(pen, one, colour) {
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = one.size;
    pen.lineCap = pen.lineJoin = "round";
    pen.beginPath();
    const [x, y] = one.points[0];
    if (one.points.length === 1) { pen.arc(x, y, one.size / 2, 0, 7); pen.fill(); return; }
    pen.moveTo(x, y);
    for (const [u, v] of one.points.slice(1)) pen.lineTo(u, v);
    pen.stroke();
  }

  const masks = new WeakMap();
  function maskOf(one, colour) {
    if (masks.get(one)?.colour === colour) return masks.get(one).image;
    const image = new OffscreenCanvas(state.width, state.height), pen = image.getContext("2d");
    const data = pen.createImageData(state.width, state.height), [r, g, b] = rgb(colour);
    let at = 0;
    one.runs.forEach((run, k) => {
      if (k % 2) for (let i = at; i < at + run; i += 1) {
        const p = 4 * ((i % state.height) * state.width + Math.floor(i / state.height));
        data.data[p] = r; data.data[p + 1] = g; data.data[p + 2] = b; data.data[p + 3] = 255;
      }
      at += run;
    });
    pen.putImageData(data, 0, 0);
    masks.set(one, { colour, image });
    return image;
  }

  function rings(pen) {
    if (hint < 0 || !state.hints[hint]) return;
    const [x, y] = toScreen(state.hints[hint]);
    for (const [radius, colour, width] of [[22, "#000", 5], [22, "#fff", 2.5], [3, "#fff", 4]]) {
      pen.beginPath(); pen.strokeStyle = colour; pen.lineWidth = width; pen.arc(x, y, radius, 0, 7); pen.stroke();
    }
  }

  function aim(pen) {
    if (!cursor || tool === "hand") return;
    const [x, y] = toScreen(cursor), radius = Math.max(1.5, (size * camera.scale) / 2);
    for (const [colour, width] of [["#000", 2.5], ["#fff", 1.2]]) {
      pen.beginPath(); pen.strokeStyle = colour; pen.lineWidth = width; pen.arc(x, y, radius, 0, 7); pen.stroke();
    }
  }

  // -- the segmentation
  async function fetchFound() {
    const { number, content } = await bytes("segmentation");
    const n = state.width * state.height, raw = new Uint8Array(content);
    found = content.byteLength ? { number, labels: raw.subarray(0, n), sure: raw.subarray(n) } : null;
    tint();
  }

  function tint() {
    overlay = null;
    if (found && view !== "picture") {
      const { width: w, height: h } = state, { labels, sure } = found;
      overlay = new OffscreenCanvas(w, h);
      const pen = overlay.getContext("2d"), image = pen.createImageData(w, h);
      const out = new Uint32Array(image.data.buffer), table = new Uint32Array(256), solid = new Uint32Array(256);
      for (const c of state.classes) {
        const [r, g, b] = rgb(c.color), colour = (b << 16) | (g << 8) | r;
        table[c.id] = (colour | (100 << 24)) >>> 0;
        solid[c.id] = (colour | (255 << 24)) >>> 0;
      }
      const wide = Math.max(1, Math.round(w / 900));
      for (let y = 0, i = 0; y < h; y += 1) for (let x = 0; x < w; x += 1, i += 1) {
        if (view === "confidence") {
          const doubt = Math.min(255, 2 * (255 - sure[i]));
          out[i] = ((doubt << 24) | (0xb4 << 16) | (0x28 << 8) | 0xff) >>> 0;
          continue;
        }
        const k = labels[i];
        const edge = (x + wide < w && labels[i + wide] !== k) || (y + wide < h && labels[i + wide * w] !== k);
        if (view === "overlay") out[i] = edge ? 0xffffffff : table[k];
        else if (edge || (x >= wide && labels[i - wide] !== k) || (y >= wide && labels[i - wide * w] !== k)) out[i] = solid[k];
      }
      pen.putImageData(image, 0, 0);
    }
    draw();
  }

  // -- where the picture is
  function place(box) {
    const scale = Math.min(box.width / state.width, box.height / state.height) * 0.97;
    camera = { scale, x: (box.width - scale * state.width) / 2, y: (box.height - scale * state.height) / 2 };
  }
  function fit() { fitted = true; draw(); }
  function toScreen([x, y]) { return [x * camera.scale + camera.x, y * camera.scale + camera.y]; }
  function toPicture(event) {
    const box = canvas.getBoundingClientRect();
    if (fitted) place(stage.getBoundingClientRect()); // the pen may be faster than the first frame
    return [(event.clientX - box.left - camera.x) / camera.scale, (event.clientY - box.top - camera.y) / camera.scale];
  }
  function zoomBy(factor, at = null) {
    const box = canvas.getBoundingClientRect(), [cx, cy] = at ?? [box.width / 2, box.height / 2];
    const scale = Math.min(60, Math.max(0.02, camera.scale * factor)), ratio = scale / camera.scale;
    camera = { scale, x: cx - (cx - camera.x) * ratio, y: cy - (cy - camera.y) * ratio };
    fitted = false;
    draw();
  }
  function pan(dx, dy) { camera.x += dx; camera.y += dy; fitted = false; draw(); }

  // -- the pen
  function ready() {
    if (tool === "eraser") return true;
    if (state.classes.some((c) => c.id === active)) return true;
    toast("Name a class first, then draw it.", "note");
    nameField.focus();
    return false;
  }
  function begin(point) {
    if (!ready()) return false;
    stroke = { class: tool === "eraser" ? 0 : active, size, points: [point] };
    draw();
    return true;
  }
  function extend(point) {
    const [x, y] = stroke.points.at(-1);
    if (Math.hypot(point[0] - x, point[1] - y) * camera.scale >= 1.5) stroke.points.push(point);
    draw();
  }
  function finish() {
    const done = { ...stroke, points: stroke.points.map((p) => p.map((v) => Math.round(100 * v) / 100)) };
    stroke = null;
    pending.push(done);
    order("stroke", done).then(show).catch(() => {}).finally(() => { pending = pending.filter((p) => p !== done); draw(); });
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    if (pointers.size === 2) { stroke = null; return; }
    const moves = tool === "hand" || event.button === 1 || event.shiftKey;
    if (moves || event.button > 1) { canvas.classList.add("moving"); return; }
    if (pointers.size === 1) begin(toPicture(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    cursor = toPicture(event);
    const before = pointers.get(event.pointerId);
    if (before && pointers.size === 2) {
      const other = [...pointers.values()].find((p) => p.pointerId !== event.pointerId);
      const box = canvas.getBoundingClientRect(), far = (p) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
      pan((event.clientX - before.clientX) / 2, (event.clientY - before.clientY) / 2);
      zoomBy(far(event) / Math.max(far(before), 1), [other.clientX - box.left, other.clientY - box.top]);
    } else if (before && canvas.classList.contains("moving")) pan(event.clientX - before.clientX, event.clientY - before.clientY);
    else if (stroke && before) for (const part of event.getCoalescedEvents?.() ?? [event]) extend(toPicture(part));
    if (before) pointers.set(event.pointerId, event);
    draw();
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => {
    pointers.delete(event.pointerId);
    canvas.classList.remove("moving");
    if (stroke && !penDown) { if (name === "pointerup") finish(); else stroke = null; }
    draw();
  });
  canvas.addEventListener("pointerleave", () => { if (!penDown) cursor = null; draw(); });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoomBy(Math.exp(-event.deltaY / 400), [event.clientX - box.left, event.clientY - box.top]);
  }, { passive: false });
  new ResizeObserver(draw).observe(stage);

  function steer(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (document.activeElement !== canvas || (!step && event.key !== " ")) return false;
    cursor ??= [state.width / 2, state.height / 2];
    if (step) {
      const far = event.shiftKey ? 40 : 8;
      cursor = [0, 1].map((k) => Math.min([state.width, state.height][k], Math.max(0, cursor[k] + (far * step[k]) / camera.scale)));
      if (penDown) extend(cursor);
    } else if (penDown) { penDown = false; finish(); say("Pen up"); }
    else if (begin(cursor)) { penDown = true; say("Pen down: arrows draw, space lifts it"); }
    draw();
    return true;
  }

  // -- choices
  function pick(name) {
    tool = name;
    for (const b of toolButtons) b.setAttribute("aria-pressed", String(b.dataset.tool === name));
    canvas.dataset.tool = name;
    draw();
  }
  function choose(id) { active = id; pick("brush"); list(); }
  function resize(next) {
    size = Math.min(120, Math.max(1, next));
    sizeField.value = String(size);
    sizeText.textContent = `${size} px`;
    draw();
  }
  function look(name) {
    view = name;
    for (const input of views.querySelectorAll("input")) input.checked = input.value === name;
    tint();
  }
  function nextHint() {
    if (!state.hints.length) return;
    hint = (hint + 1) % state.hints.length;
    const box = canvas.getBoundingClientRect(), [x, y] = toScreen(state.hints[hint]);
    if (x < 30 || y < 30 || x > box.width - 30 || y > box.height - 30) pan(box.width / 2 - x, box.height / 2 - y);
    cursor = [...state.hints[hint]];
    say(`Hint ${hint + 1} of ${state.hints.length}: a stroke in the ring would help most`);
    draw();
  }
  async function add(event) {
    event.preventDefault();
    const name = nameField.value;
    if (!name.trim()) return;
    nameField.value = ""; // at once: what is typed while the server answers is the next name
    const next = await order("class", { name }).catch(() => null);
    if (!next) { nameField.value ||= name; return; }
    active = next.classes.at(-1).id;
    pick("brush");
    show(next);
  }
  async function take() {
    if (!file.files.length) return;
    const next = await upload(file.files[0]).catch(() => null);
    file.value = "";
    if (next) show(next);
  }

  function list() {
    classList.replaceChildren(...state.classes.map((c, k) => {
      const name = el("input", { type: "text", class: "name", value: c.name, maxLength: 60, "aria-label": `Name of class ${c.name}`,
        onchange: () => change(c, { name: name.value }), onfocus: () => { if (active !== c.id) { active = c.id; mark(); } } });
      const colour = el("input", { type: "color", value: c.color, "aria-label": `Colour of ${c.name}`, onchange: () => change(c, { color: colour.value }) });
      const button = el("button", { class: "pick", "aria-pressed": String(active === c.id), "aria-label": `Draw ${c.name}`,
        title: k < 9 ? `Key ${k + 1}` : "", onclick: () => choose(c.id), style: { background: c.color, color: ink(c.color) } }, k < 9 ? String(k + 1) : "•");
      return el("li", { "data-class": c.id, class: active === c.id ? "on" : "" }, button, name,
        el("span", { class: "share", title: "Share of the picture" }, c.share == null ? "" : percent(c.share)), colour,
        el("button", { class: "icon small", "aria-label": `Remove ${c.name}`, title: "Remove with its strokes (undo brings it back)",
          onclick: () => order("remove", { class: c.id }).then(show).catch(() => {}) }, "×"));
    }));
    const drawn = new Set(state.layers.map((l) => l.class));
    tip.textContent = state.classes.length < 2 ? "Name at least two classes: what you look for, and what surrounds it."
      : state.classes.every((c) => drawn.has(c.id)) ? "" : "Draw a short stroke in each class.";
    tip.hidden = !tip.textContent;
  }
  function mark() {
    for (const li of classList.children) {
      li.classList.toggle("on", Number(li.dataset.class) === active);
      li.firstChild.setAttribute("aria-pressed", String(Number(li.dataset.class) === active));
    }
  }
  function change(c, what) { order("rename", { class: c.id, ...what }).then(show).catch(() => list()); }

  function show(next) {
    if (next.number < state.number) return;
    const colours = JSON.stringify(next.classes.map((c) => [c.id, c.color])) !== JSON.stringify(state.classes.map((c) => [c.id, c.color]));
    state = next;
    if (!state.classes.some((c) => c.id === active)) active = state.classes[0]?.id ?? 0;
    if (!classList.contains(document.activeElement) || document.activeElement.tagName !== "INPUT") list();
    steps(state);
    hintButton.disabled = !state.hints.length;
    if (hint >= state.hints.length) hint = -1;
    if (state.segmented == null && found) { found = null; tint(); }
    else if (colours) tint();
    say(state.status === "ready" ? "" : sentence(state.status));
    draw();
  }
  const sentence = (words) => words ? words[0].toUpperCase() + words.slice(1) + (words.endsWith(".") ? "" : "…") : "";

  async function refresh() { show(await ask("state")); }
  async function hear(news) {
    if (news.status) say(news.status === "ready" ? "" : sentence(news.status));
    if ("segmented" in news) {
      hint = -1;
      await refresh();
      if (state.segmented != null) await fetchFound();
      root.dataset.segmented = String(found?.number ?? -1);
    } else if (news.changed > state.number || news.opened) {
      await refresh();
      if (state.segmented != null && state.segmented !== found?.number) { await fetchFound(); root.dataset.segmented = String(state.segmented); }
    }
  }

  function key(event) {
    const k = event.key.toLowerCase();
    if (steer(event)) return true;
    if (/^[1-9]$/.test(k)) { const c = state.classes[Number(k) - 1]; if (c) choose(c.id); return true; }
    const act = { b: () => pick("brush"), e: () => pick("eraser"), p: () => pick("hand"), "[": () => resize(size - Math.max(1, Math.round(size / 5))),
      "]": () => resize(size + Math.max(1, Math.round(size / 5))), v: () => look(VIEWS[(VIEWS.indexOf(view) + 1) % 4]), h: nextHint,
      s: () => strokesBox.click(), "+": () => zoomBy(1.4), "=": () => zoomBy(1.4), "-": () => zoomBy(1 / 1.4), 0: fit,
      n: () => nameField.focus(), d: () => canvas.focus(), i: () => file.click() }[k];
    if (!act) return false;
    act();
    return true;
  }

  (async () => {
    const { content } = await bytes("picture");
    picture = await createImageBitmap(new Blob([content]));
    draw();
  })();
  pick("brush");
  show(first);

  return {
    show, hear, key,
    menu: [el("button", { role: "menuitem", onclick: () => file.click() }, "Bring strokes back in…")],
    keys: { "1 … 9": "choose a class", N: "new class", B: "brush", E: "eraser", P: "move the picture", "[ ]": "smaller, larger brush",
      V: "next view", S: "show or hide strokes", H: "hint: where a stroke helps most", "+ −": "zoom", 0: "whole picture", D: "to the picture",
      "← ↑ ↓ →": "move the pen (on the picture)", Space: "pen down, pen up", I: "bring strokes back in" },
  };
}
