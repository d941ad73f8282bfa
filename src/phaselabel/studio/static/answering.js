// The answering workspace: questions, grids and reviews; beside them what follows from the answers.
import { makeClassDialog } from "./classes.js";
import { digitOf, el, find, namesAndColours, statusText } from "./dom.js";
import { makeFigures } from "./figures.js";
import { makeGrid } from "./grid.js";
import { classColours } from "./items.js";
import { makeList } from "./list.js";
import { makeMap } from "./map.js";
import { setStatus, updateHistoryButtons } from "./messages.js";
import { aboutSource } from "./notes.js";
import { makeQuestion } from "./question.js";
import { makeReview } from "./review.js";
import { makeSelection } from "./selection.js";
import { sendAction } from "./saving.js";
import { query } from "./server.js";

const VIEWS = { question: "Question", grid: "Grid", review: "Review", list: "List" };
const KEYS = {
  "1 … 9 0": "answer",
  "Shift 1 … 9 0": "answer with the 11th to 20th class",
  Enter: "accept the guess, confirm the grid",
  N: "answer by name, or a new class",
  S: "skip",
  U: "unsure: flag the item, or take the flag away",
  J: "reject: the item belongs to no class",
  O: "write a note",
  Q: "question",
  G: "grid of similar items",
  R: "review",
  L: "list of all items",
  M: "to the map",
  "← ↑ ↓ →": "move on the map, Enter inspects",
  "+ −": "zoom the picture, or the map",
};

// The map is coloured when no event has come for this long, and at the latest after the second time.
const MAP_QUIET_MILLISECONDS = 300;
const MAP_LATEST_MILLISECONDS = 1000;

const ZOOM_KEYS = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 };

// The key of the k-th class: a digit, a digit with shift, or none.
const keyOf = (k) => (k < 20 ? `${k < 10 ? "" : "⇧"}${(k + 1) % 10}` : "•");

// The number of the class that a key means, counted from 0; undefined if it means none.
function classOfKey(event) {
  const [digit, isShifted] = digitOf(event);
  return digit === undefined ? undefined : ((digit + 9) % 10) + (isShifted ? 10 : 0);
}

export function open(root, first) {
  // What the parts of the workspace share.
  const context = {
    root,
    state: first,
    view: "question",
    panel: el("section", { class: "card work", id: "work", role: "tabpanel", tabindex: "-1" }),
    classOf: (id) => context.state.classes.find((c) => c.id === id),
    send: (kind, body) =>
      sendAction(kind, body).then((next) => {
        show(next);
        return next;
      }),
    look,
    highlightGuess,
  };
  const question = makeQuestion(context);
  const grid = makeGrid(context);
  const review = makeReview(context);
  const list = makeList(context);
  const classDialog = makeClassDialog(context);
  const figures = makeFigures((id) => classDialog.open(context.classOf(id)));
  const selection = makeSelection(context);
  const map = makeMap(selection.show);

  // -- layout
  const tabs = el(
    "div",
    { class: "segments tabs", role: "tablist", "aria-label": "Ways to answer" },
    Object.entries(VIEWS).map(([name, text]) =>
      el(
        "button",
        {
          role: "tab",
          id: `tab-${name}`,
          "aria-controls": "work",
          "data-view": name,
          onclick: () => setView(name),
        },
        text,
      ),
    ),
  );
  const answers = el("div", { class: "answers scrolls", role: "group", "aria-label": "Answers" });
  const nameField = el("input", {
    type: "text",
    maxLength: 60,
    placeholder: "Another class…",
    title: "Typing shows the classes that match; a new name makes a new class",
    "aria-label": "Answer by name; a new name makes a new class",
    oninput: filterAnswers,
    onkeydown: chooseMatch,
  });
  const nameButton = el("button", {}, "Answer");
  const form = el("form", { class: "add", onsubmit: answerByName }, nameField, nameButton);
  const skipButton = el(
    "button",
    { class: "quiet", title: "Skip (S)", onclick: skip },
    "Skip ",
    el("kbd", {}, "S"),
  );
  const remarkButton = (text, key, onclick) =>
    el("button", { class: "quiet", title: `${text} (${key})`, onclick }, `${text} `, el("kbd", {}, key));
  const remarkButtons = [
    remarkButton("Unsure", "U", () => flag("unsure")),
    remarkButton("Reject", "J", () => flag("rejected")),
    remarkButton("Note", "O", openNote),
  ];
  const noteField = el("input", { type: "text", maxLength: 2000, "aria-label": "Note on this item" });
  const noteForm = el(
    "form",
    { class: "add note", hidden: true, onsubmit: saveNote },
    noteField,
    el("button", {}, "Save note"),
  );
  // What can be done with the items in the panel; lists have nothing to answer.
  const reply = el(
    "div",
    { class: "card reply" },
    answers,
    el("div", { class: "row wrap" }, form, skipButton, remarkButtons),
    noteForm,
  );
  // A button gives the focus back to the item: Enter then accepts the next guess, and repeats no answer.
  const toItem = (event) => {
    if (event.target.closest("button")) context.panel.focus();
  };
  reply.addEventListener("click", toItem, { capture: true });
  const mapTitle = el("h2", {}, "Map ", el("small", {}, "drag a lasso, roll to zoom"));
  root.replaceChildren(
    el(
      "div",
      { class: "answering" },
      el("div", { class: "left" }, tabs, context.panel, reply),
      el(
        "aside",
        { class: "right", "aria-label": "What follows from the answers" },
        figures.node,
        el("section", { class: "card mapcard" }, mapTitle, map.node),
        selection.node,
        aboutSource(first),
      ),
      classDialog.node,
    ),
  );

  function setView(name) {
    context.view = name;
    for (const tab of tabs.children) {
      tab.setAttribute("aria-selected", String(tab.dataset.view === name));
      tab.tabIndex = tab.dataset.view === name ? 0 : -1;
    }
    context.panel.setAttribute("aria-labelledby", `tab-${name}`);
    reply.hidden = !["question", "grid"].includes(name);
    for (const button of remarkButtons) button.hidden = name !== "question";
    noteForm.hidden = true;
    question.pick(null);
    cameFrom = null;
    return { question, grid, review, list }[name].show();
  }

  let cameFrom = null; // the view in which the item on the screen was picked, and its place there

  function look(q) {
    const from = context.view === "question" ? cameFrom : [context.view, context.panel.scrollTop];
    setView("question");
    cameFrom = from;
    question.pick(q);
    question.show();
    context.panel.focus();
  }

  // Leave a picked item: for the view where it was picked, or for the next question.
  async function leave() {
    const [name, place] = cameFrom ?? ["question", 0];
    await setView(name);
    if (context.view === name) context.panel.scrollTop = place;
  }

  function highlightGuess(id) {
    for (const button of answers.children) {
      button.classList.toggle("guess", Number(button.dataset.class) === id);
    }
  }

  // -- actions
  const pending = new Set(); // the items about which an action is on its way

  // Send one action about the item on the screen. Keys that come before the next item is shown are ignored:
  // they would change the answer, or answer an item that nobody has seen.
  async function sendOnce(kind, body) {
    const row = question.current()?.item.row;
    if (row === undefined || pending.has(row) || context.view !== "question" || !question.isShown()) {
      return null;
    }
    pending.add(row);
    try {
      const next = await sendAction(kind, { rows: [row], ...body });
      const isDone = question.isPicked() && question.current().item.row === row;
      show(next);
      if (isDone) leave();
      return next;
    } catch {
      return null;
    } finally {
      pending.delete(row);
    }
  }

  function answer(id) {
    nameField.value = ""; // what was typed has found its class
    filterAnswers();
    if (context.view === "grid") grid.confirm(id);
    else sendOnce("answer", { class: id });
  }

  async function answerByName(event) {
    event.preventDefault();
    const name = nameField.value.trim();
    if (!name) return;
    nameField.value = ""; // at once: text that is typed before the response is the next name
    filterAnswers();
    nameField.blur();
    context.panel.focus();
    if (context.view === "grid") {
      grid.confirmByName(name);
      return;
    }
    const request = question.current()
      ? sendOnce("answer", { name })
      : context.send("class", { name }).catch(() => null);
    if (!(await request)) nameField.value ||= name;
  }

  // Show only the classes whose names contain what is typed; say whether Enter makes a new one of it.
  function filterAnswers() {
    const typed = nameField.value.trim().replace(/\s+/g, " ").toLowerCase();
    for (const button of answers.children) {
      button.hidden = !button.dataset.name.toLowerCase().includes(typed);
    }
    const isNew = typed && !context.state.classes.some((c) => c.name.toLowerCase() === typed);
    nameButton.textContent = isNew ? "New class" : "Answer";
  }

  // The arrow goes from the field to the first class that matches.
  function chooseMatch(event) {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    [...answers.children].find((button) => !button.hidden)?.focus();
  }

  // Flag the item on the screen, or take the same flag away.
  function flag(name) {
    const shown = question.current();
    if (!shown) return;
    const change = { flag: shown.flag === name ? null : name };
    if (!question.isPicked()) sendOnce("flag", change);
    else {
      const body = { rows: [shown.item.row], ...change };
      context.send("flag", body).then(question.refresh, () => {});
    }
  }

  function openNote() {
    const shown = question.current();
    if (!shown || context.view !== "question") return;
    noteForm.hidden = false;
    noteForm.dataset.row = String(shown.item.row);
    noteField.value = shown.note;
    noteField.focus();
  }

  async function saveNote(event) {
    event.preventDefault();
    const rows = [Number(noteForm.dataset.row)];
    noteForm.hidden = true;
    context.panel.focus();
    await context.send("note", { rows, note: noteField.value }).then(question.refresh, () => {
      noteForm.hidden = false;
    });
  }

  function skip() {
    if (context.view === "grid") {
      grid.skip();
      return;
    }
    if (question.isPicked()) leave();
    else sendOnce("skip");
  }

  // -- state and events
  function answerButton(c, k) {
    return el(
      "button",
      {
        class: "answer",
        "data-class": String(c.id),
        "data-name": c.name,
        title: c.name,
        onclick: () => answer(c.id),
        style: { borderColor: c.color },
      },
      el("span", { class: "dot", style: classColours(c) }, keyOf(k)),
      el("span", { class: "name" }, c.name),
    );
  }

  let shownClasses = "";
  function showAnswers(classes) {
    const now = namesAndColours(classes);
    if (now === shownClasses) return;
    shownClasses = now;
    answers.replaceChildren(...classes.map(answerButton));
    filterAnswers();
  }

  // Responses and events overtake each other: the response to an answer may be older than what is shown.
  function isOlder(next) {
    const { version, revision } = context.state;
    return next.version < version || (next.version === version && next.revision < revision);
  }

  function show(next) {
    if (isOlder(next)) return;
    context.state = next;
    updateHistoryButtons(next);
    showAnswers(next.classes);
    figures.show(next);
    if (context.view === "question" && !question.isPicked()) question.show();
    map.show(next);
    root.dataset.version = String(next.version);
    root.dataset.question = String(next.question?.item.row ?? "");
    setStatus(statusText(next.status));
  }

  // Colouring the map must not delay answers.
  let timer = null;
  let waitingSince = null;
  function colourMap() {
    clearTimeout(timer);
    waitingSince ??= performance.now();
    const latest = waitingSince + MAP_LATEST_MILLISECONDS - performance.now();
    timer = setTimeout(
      () => {
        waitingSince = null;
        map.updateColours().catch(() => {});
      },
      Math.max(0, Math.min(MAP_QUIET_MILLISECONDS, latest)),
    );
  }

  async function refresh() {
    const next = await query("state");
    if (isOlder(next)) return;
    const sameQuestion =
      next.question &&
      context.state.question &&
      next.question.item.row === context.state.question.item.row &&
      next.version === context.state.version;
    if (sameQuestion) {
      context.state = next;
      figures.show(next);
      map.show(next);
    } else show(next);
    if (context.view === "question") await question.refresh();
    if (context.view === "review") await review.refresh();
    if (context.view === "list") await list.refresh();
    colourMap();
  }

  async function onEvent(event) {
    if (event.status && event.status !== context.state.status) {
      context.state.status = event.status;
      setStatus(statusText(event.status));
    }
    if (event.map) await map.load();
    if (event.opened) {
      show(await query("state"));
      await map.load().catch(() => {});
    } else if (event.changed > context.state.version) {
      show(await query("state"));
      if (context.view === "question") await question.refresh();
      colourMap();
    } else if (event.refreshed !== undefined && event.refreshed >= context.state.version) await refresh();
    if (event.changed !== undefined) colourMap();
  }

  // -- keys
  function acceptKey(event) {
    // On a tile Enter confirms the grid; space presses the tile.
    if (context.view === "grid" && !event.target.closest("a, canvas, button:not(.tile)")) {
      grid.confirm(grid.guess());
      return true;
    }
    if (context.view === "question" && !event.target.closest("button, a, canvas")) {
      const guess = question.current()?.guess;
      if (guess) answer(guess);
      return true;
    }
    return false;
  }

  function moveTab(event) {
    const all = Object.keys(VIEWS);
    const step = event.key === "ArrowRight" ? 1 : all.length - 1;
    const next = all[(all.indexOf(context.view) + step) % all.length];
    setView(next);
    find(`#tab-${next}`).focus();
    return true;
  }

  function onKey(event) {
    const key = event.key.toLowerCase();
    if (event.repeat && !key.startsWith("arrow")) return true;
    const place = classOfKey(event);
    if (place !== undefined) {
      const c = context.state.classes[place];
      if (c) answer(c.id);
      return true;
    }
    if (key in ZOOM_KEYS && context.view === "question") {
      question.zoomBy(ZOOM_KEYS[key]);
      return true;
    }
    if (event.key === "Enter") return acceptKey(event);
    if (tabs.contains(event.target) && ["ArrowLeft", "ArrowRight"].includes(event.key)) return moveTab(event);
    const command = {
      s: skip,
      u: () => flag("unsure"),
      j: () => flag("rejected"),
      o: openNote,
      n: () => nameField.focus(),
      q: () => setView("question"),
      g: () => setView("grid"),
      r: () => setView("review"),
      l: () => setView("list"),
      m: () => map.canvas.focus(),
    }[key];
    if (!command) return false;
    command();
    return true;
  }

  setView("question");
  show(first);
  return { show, onEvent, onKey, keys: KEYS };
}
