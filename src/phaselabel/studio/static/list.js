// All items as a list: by class, by what was done with them, with a search.
import { count, el, namesAndColours, percent, replaceEntries } from "./dom.js";
import { chip, itemView } from "./items.js";
import { query } from "./server.js";

const KINDS = {
  all: "All items",
  open: "Without an answer",
  answered: "Answered",
  skipped: "Skipped",
  unsure: "Unsure",
  rejected: "Rejected",
  noted: "With a note",
};
const ORDERS = { row: "In their order", doubt: "Least sure first", sure: "Surest first" };

// A search is sent when no key has been pressed for this long.
const TYPING_MILLISECONDS = 250;

const options = (entries) => Object.entries(entries).map(([value, text]) => el("option", { value }, text));

export function makeList(context) {
  const { panel } = context;
  const kind = el("select", { "aria-label": "Which items", onchange: first }, options(KINDS));
  const ofClass = el("select", { "aria-label": "Of which class", onchange: first });
  const order = el("select", { "aria-label": "Order", onchange: first }, options(ORDERS));
  const search = el("input", {
    type: "text",
    placeholder: "Search…",
    "aria-label": "Search",
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(first, TYPING_MILLISECONDS);
    },
  });
  const found = el("div", { class: "found" });
  let timer = null;
  let start = 0;
  let latest = 0;

  function first() {
    start = 0;
    refresh();
  }

  function turn(step) {
    start += step;
    refresh().then(() => panel.scrollTo(0, 0));
  }

  function words(q) {
    const of = context.classOf(q.known ?? q.guess);
    const sure = q.known ? "answered" : of && q.confidence !== null ? `${percent(q.confidence)} sure` : "";
    return el("span", { class: "verdict" }, chip(of), sure, q.flag ? el("em", {}, q.flag) : "");
  }

  function entry(q) {
    const text = el(
      "span",
      {},
      words(q),
      el("small", { title: q.note || q.item.caption }, q.note || q.item.caption),
    );
    const name = `Open ${q.item.caption}`;
    return el(
      "li",
      {},
      el(
        "button",
        { class: "entry", title: name, "data-row": String(q.item.row), onclick: () => context.look(q) },
        itemView(q.item),
        text,
      ),
    );
  }

  function pager(page) {
    const end = start + page.items.length;
    const text = page.total
      ? `${count(start + 1)} to ${count(end)} of ${count(page.total)}`
      : "No such item.";
    const step = page.items.length || 1;
    return el(
      "div",
      { class: "row pager" },
      el("button", { disabled: start === 0, onclick: () => turn(-Math.min(start, 48)) }, "Back"),
      el("span", { role: "status" }, text),
      el("button", { disabled: end >= page.total, onclick: () => turn(step) }, "More"),
    );
  }

  let shownClasses = "";
  function fillClasses() {
    const { classes } = context.state;
    const now = namesAndColours(classes);
    if (now === shownClasses) return;
    shownClasses = now;
    const chosen = ofClass.value;
    const choices = classes.map((c) => el("option", { value: String(c.id) }, c.name));
    ofClass.replaceChildren(el("option", { value: "" }, "All classes"), ...choices);
    ofClass.value = classes.some((c) => String(c.id) === chosen) ? chosen : "";
  }

  function show() {
    fillClasses();
    panel.replaceChildren(el("div", { class: "row wrap filters" }, kind, ofClass, order, search), found);
    return refresh();
  }

  async function refresh() {
    const wanted = {
      show: kind.value,
      of_class: ofClass.value,
      search: search.value,
      sort: order.value,
      start,
    };
    const number = (latest += 1);
    const page = await query("list", wanted).catch(() => null);
    // Responses overtake each other: only the one to the latest request counts.
    if (context.view !== "list" || !page || number !== latest) return;
    fillClasses(); // one may have another name by now
    replaceEntries(found, pager(page), el("ul", { class: "list" }, page.items.map(entry)));
  }

  return { show, refresh };
}
