// The answering room: one question at a time, or twenty alike; beside it what follows from the answers.
import { ask, el, find, ink, order, percent, say } from "./page.js";
import { makeMap } from "./map.js";
import { steps } from "./studio.js";

const TABS = { question: "Question", grid: "Grid", review: "Review" };

export function open(root, first) {
  let state = first, tab = "question", grid = null, chosen = new Set(), picked = null;
  const map = makeMap(inspect);

  // -- the frame
  const tabs = el("div", { class: "segments tabs", role: "tablist", "aria-label": "Ways to answer" }, Object.entries(TABS).map(([name, text]) =>
    el("button", { role: "tab", id: `tab-${name}`, "aria-controls": "work", "data-tab": name, onclick: () => turn(name) }, text)));
  const work = el("section", { class: "card work", id: "work", role: "tabpanel", tabindex: "-1" });
  const answers = el("div", { class: "answers", role: "group", "aria-label": "Answers" });
  const nameField = el("input", { type: "text", maxLength: 60, list: "names", placeholder: "Another class…", "aria-label": "Answer by name; a new name makes a new class" });
  const names = el("datalist", { id: "names" });
  const form = el("form", { class: "add", onsubmit: byName }, nameField, names, el("button", {}, "Answer"));
  const skip = el("button", { class: "quiet", title: "Skip (S)", onclick: passOver }, "Skip ", el("kbd", {}, "S"));
  const counts = el("div", { class: "numbers" });
  const sizes = el("ul", { class: "sizes", "aria-label": "Class sizes" });
  const drawer = el("section", { class: "card inspected", "aria-label": "Picked items", hidden: true });
  root.replaceChildren(el("div", { class: "answering" },
    el("div", { class: "left" }, tabs, work, el("div", { class: "card reply" }, answers, el("div", { class: "row" }, form, skip))),
    el("aside", { class: "right", "aria-label": "What follows" }, el("section", { class: "card" }, counts, sizes),
      el("section", { class: "card mapcard" }, el("h2", {}, "Map ", el("small", {}, "drag a lasso to inspect")), map.node), drawer)));

  // -- items
  const classOf = (id) => state.classes.find((c) => c.id === id);
  function chip(id, text = null) {
    const c = classOf(id);
    return c ? el("span", { class: "chip", style: { background: c.color, color: ink(c.color) } }, text ?? c.name) : el("span", { class: "chip none" }, "no label yet");
  }
  function body(item, large = false) {
    if (item.kind === "image") return el("img", { class: large ? "shown large" : "shown", src: `data/item?row=${item.row}`, alt: item.caption, draggable: false, onload: fitPixels });
    if (item.kind === "text") return el("p", { class: large ? "text large" : "text" }, item.text);
    return el("dl", { class: large ? "fields large" : "fields" }, item.fields.slice(0, large ? 60 : 6).map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
  }
  function fitPixels(event) {
    const img = event.target;
    if (!img.isConnected) return;
    img.classList.toggle("pixels", img.naturalWidth < 100);
    if (img.classList.contains("large")) { root.dataset.shown = img.src.split("row=")[1]; root.dataset.answered = String(state.answered); }
  }

  // -- the three ways
  function turn(name) {
    tab = name;
    for (const b of tabs.children) {
      b.setAttribute("aria-selected", String(b.dataset.tab === name));
      b.tabIndex = b.dataset.tab === name ? 0 : -1;
    }
    work.setAttribute("aria-labelledby", `tab-${name}`);
    picked = null;
    ({ question: showQuestion, grid: showGrid, review: showReview })[name]();
  }

  function showQuestion() {
    const q = picked ?? state.question;
    skip.hidden = false;
    if (!q) {
      work.replaceChildren(el("p", { class: "loading" }, state.status === "ready" ? "Every item has an answer." : `${state.status[0].toUpperCase()}${state.status.slice(1)}…`));
      return;
    }
    for (const b of answers.children) b.classList.toggle("guess", Number(b.dataset.class) === q.guess);
    const guess = classOf(q.guess);
    const asks = q.known ? ["Answered as ", chip(q.known)] : guess ? ["Is this ", chip(q.guess), "?", q.sure != null ? el("small", {}, ` ${percent(q.sure)} sure`) : ""] : ["What is this?"];
    if (work.dataset.row === String(q.item.row) && work.querySelector(".question")) {
      work.querySelector(".asks").replaceChildren(...asks);
      if (root.dataset.shown === work.dataset.row) root.dataset.answered = String(state.answered);
      return;
    }
    work.dataset.row = String(q.item.row);
    if (q.item.kind !== "image") { root.dataset.shown = String(q.item.row); root.dataset.answered = String(state.answered); }
    work.replaceChildren(el("div", { class: "question" }, el("div", { class: "frame" }, body(q.item, true)),
      el("p", { class: "asks" }, asks), el("p", { class: "caption" }, q.item.caption)));
  }

  async function showGrid() {
    work.replaceChildren(el("p", { class: "loading" }, "Looking for items that are alike…"));
    const found = await ask("grid").catch(() => null);
    if (tab !== "grid" || !found) return;
    grid = found;
    chosen = new Set(grid.items.map((q) => q.item.row));
    if (!grid.items.length) { work.replaceChildren(el("p", { class: "loading" }, "Answer a few questions first.")); return; }
    const tiles = el("div", { class: "tiles" }, grid.items.map((q, k) => tile(q, k)));
    work.replaceChildren(el("p", { class: "asks" }, `Are these ${grid.items.length} all `, chip(grid.class), "? ", el("small", {}, "Click the odd ones out, then confirm.")), tiles,
      el("div", { class: "row" }, el("button", { class: "primary", id: "confirm", onclick: () => confirmGrid(grid.class) }, "Confirm ", el("kbd", {}, "Enter"))));
  }
  function tile(q) {
    const b = el("button", { class: "tile on", "aria-pressed": "true", "aria-label": `${q.item.caption}`, onclick: () => {
      const on = !chosen.has(q.item.row);
      if (on) chosen.add(q.item.row); else chosen.delete(q.item.row);
      b.classList.toggle("on", on);
      b.setAttribute("aria-pressed", String(on));
    } }, body(q.item));
    return b;
  }
  async function confirmGrid(id) {
    if (!chosen.size) return;
    await send("answer", { rows: [...chosen], class: id });
    if (tab === "grid") showGrid();
  }

  async function showReview() {
    work.replaceChildren(el("p", { class: "loading" }, "Looking…"));
    const found = await ask("review").catch(() => null);
    if (tab !== "review" || !found) return;
    const line = (q) => el("li", {}, el("button", { class: "entry", onclick: () => look(q) }, body(q.item), el("span", {},
      q.known ? [chip(q.known), q.rival ? [" but neighbours say ", chip(q.rival)] : ""] : [chip(q.guess), ` ${percent(q.sure ?? 0)} sure`], el("small", {}, q.item.caption))));
    work.replaceChildren(
      el("h2", {}, "Answers that their surroundings speak against"),
      found.suspects.length ? el("ul", { class: "list" }, found.suspects.map(line)) : el("p", { class: "tip" }, "None."),
      el("h2", {}, "Most doubtful items"),
      found.doubtful.length ? el("ul", { class: "list" }, found.doubtful.map(line)) : el("p", { class: "tip" }, "None."));
  }
  function look(q) { turn("question"); picked = q; showQuestion(); work.focus(); }

  async function inspect(rows, where) {
    const found = await ask("items", { rows: rows.slice(0, 60).join(",") });
    drawer.hidden = false;
    const label = (id) => send("answer", { rows: rows.slice(0, 5000), class: id }).then(() => { drawer.hidden = true; });
    drawer.replaceChildren(el("h2", {}, `${rows.length.toLocaleString("en")} items ${where}`,
      el("button", { class: "icon small", "aria-label": "Close", onclick: () => { drawer.hidden = true; } }, "×")),
      el("div", { class: "tiles small" }, found.map((q) => el("button", { class: "tile", "aria-label": `Open ${q.item.caption}`, onclick: () => look(q),
        style: { borderColor: classOf(q.known ?? q.guess)?.color ?? "transparent" } }, body(q.item)))),
      rows.length > found.length ? el("p", { class: "tip" }, `${found.length} of them are shown.`) : null,
      el("div", { class: "row wrap" }, el("small", {}, "Label all of them:"), state.classes.map((c) =>
        el("button", { class: "chip", style: { background: c.color, color: ink(c.color) }, onclick: () => label(c.id) }, c.name))));
    drawer.scrollIntoView({ block: "nearest" });
  }

  // -- answers
  function send(kind, data) { return order(kind, data).then((next) => { show(next); return next; }); }
  function current() { return picked ?? state.question; }
  async function answer(id) {
    if (tab === "grid" && grid?.items.length) return confirmGrid(id);
    const q = current();
    if (!q || tab === "review") return;
    picked = null;
    await send("answer", { rows: [q.item.row], class: id }).catch(() => {});
  }
  async function byName(event) {
    event.preventDefault();
    const name = nameField.value.trim(), q = current();
    if (!name) return;
    const rows = tab === "grid" && chosen.size ? [...chosen] : q ? [q.item.row] : null;
    nameField.value = ""; // at once: what is typed while the server answers is the next name
    nameField.blur();
    work.focus();
    const next = await (rows ? send("answer", { rows, name }) : send("class", { name })).catch(() => null);
    if (!next) { nameField.value ||= name; return; }
    picked = null;
    if (tab === "grid") showGrid();
  }
  function passOver() {
    const q = current();
    if (tab === "grid") { if (chosen.size || grid?.items.length) send("skip", { rows: grid.items.map((g) => g.item.row) }).then(showGrid).catch(() => {}); return; }
    if (!q) return;
    if (picked) { picked = null; showQuestion(); return; }
    send("skip", { rows: [q.item.row] }).catch(() => {});
  }

  // -- what follows
  function show(next) {
    if (next.number < state.number) return;
    state = next;
    steps(state);
    answers.replaceChildren(...state.classes.map((c, k) => el("button", { class: "answer", "data-class": String(c.id), onclick: () => answer(c.id), style: { borderColor: c.color } },
      el("span", { class: "dot", style: { background: c.color, color: ink(c.color) } }, k < 9 ? String(k + 1) : k === 9 ? "0" : "•"), c.name)));
    names.replaceChildren(...state.classes.map((c) => el("option", { value: c.name })));
    figures();
    if (tab === "question" && !picked) showQuestion();
    map.show(state);
    root.dataset.number = String(state.number);
    root.dataset.question = String(state.question?.item.row ?? "");
    say(state.status === "ready" ? "" : `${state.status[0].toUpperCase()}${state.status.slice(1)}…`);
  }
  function figures() {
    const a = state.accuracy, n = state.items.toLocaleString("en");
    const gauge = a ? el("div", { class: "gauge", role: "img", "aria-label": `Estimated accuracy ${percent(a.mean)}, between ${percent(a.low)} and ${percent(a.high)}` },
      el("i", { style: { left: percent(a.low, 1).replace(" ", ""), width: percent(a.high - a.low, 1).replace(" ", "") } }), el("b", { style: { left: percent(a.mean, 1).replace(" ", "") } })) : null;
    counts.replaceChildren(
      el("div", {}, el("strong", {}, state.answered.toLocaleString("en")), el("span", {}, `of ${n} answered`)),
      el("div", {}, el("strong", {}, state.reached.toLocaleString("en")), el("span", {}, "labelled")),
      el("div", { class: "wide" }, el("strong", { id: "accuracy" }, a ? percent(a.mean) : "–"), el("span", {}, a ? `estimated accuracy, ${percent(a.low).replace(" %", "")} to ${percent(a.high)}` : "estimated accuracy"), gauge));
    const most = Math.max(1, ...state.classes.map((c) => c.size));
    sizes.replaceChildren(...state.classes.map((c) => el("li", {}, el("span", { class: "label" }, c.name),
      el("span", { class: "track" }, el("i", { style: { width: `${(100 * c.size) / most}%`, background: c.color } })),
      el("span", { class: "count" }, c.size.toLocaleString("en")), el("small", {}, `${c.answered} answered`))));
  }

  // The map follows when nothing new has come for a moment, or at last after a second: it must not hold up answers.
  let colouring = null, since = null;
  function colours() {
    clearTimeout(colouring);
    since ??= performance.now();
    const wait = Math.max(0, Math.min(300, since + 1000 - performance.now()));
    colouring = setTimeout(() => { since = null; map.colours().catch(() => {}); }, wait);
  }
  async function hear(news) {
    if (news.status && news.status !== state.status) { state.status = news.status; say(news.status === "ready" ? "" : news.status); }
    if (news.map) await map.load();
    if (news.opened) { show(await ask("state")); await map.load().catch(() => {}); }
    else if (news.changed > state.number) { picked = null; show(await ask("state")); colours(); }
    else if (news.refreshed !== undefined && news.refreshed >= state.number) {
      const next = await ask("state");
      if (next.question && state.question && next.question.item.row === state.question.item.row && tab === "question" && !picked && next.number === state.number) {
        state = next; figures(); map.show(state);
      } else show(next);
      colours();
    }
    if (news.changed !== undefined) colours();
  }

  function key(event) {
    const k = event.key.toLowerCase();
    if (/^[0-9]$/.test(k)) { const c = state.classes[k === "0" ? 9 : Number(k) - 1]; if (c) answer(c.id); return true; }
    if (event.key === "Enter" && tab === "grid" && grid?.items.length && !event.target.closest(".tile, .answer, button")) { confirmGrid(grid.class); return true; }
    if (event.key === "Enter" && tab === "question" && !event.target.closest("button, a, canvas")) { const q = current(); if (q?.guess) answer(q.guess); return true; }
    if (tabs.contains(event.target) && ["ArrowLeft", "ArrowRight"].includes(event.key)) {
      const all = Object.keys(TABS), next = all[(all.indexOf(tab) + (event.key === "ArrowRight" ? 1 : 2)) % 3];
      turn(next);
      find(`#tab-${next}`).focus();
      return true;
    }
    const act = { s: passOver, n: () => nameField.focus(), q: () => turn("question"), g: () => turn("grid"), r: () => turn("review"), m: () => map.canvas.focus() }[k];
    if (!act) return false;
    act();
    return true;
  }

  turn("question");
  show(first);
  if (first.notes.length) say(first.notes[0]);
  return { show, hear, key, keys: { "1 … 9 0": "answer", Enter: "accept the guess, confirm the grid", N: "answer by name, or a new class", S: "skip", Q: "question", G: "grid of alike items", R: "review", M: "to the map", "← ↑ ↓ →": "move on the map, Enter inspects" } };
}
