// Answers that contradict their neighbours, and the items of least confidence.
import { el, percent, replaceEntries } from "./dom.js";
import { chip, itemView } from "./items.js";
import { query } from "./server.js";

export function makeReview(context) {
  const { panel } = context;

  function words(q) {
    const { classOf } = context;
    const sure = q.confidence === null ? "" : `${percent(q.confidence)} sure`;
    if (!q.known) return el("span", { class: "verdict" }, chip(classOf(q.guess)), sure);
    const rival = q.rival ? el("span", { class: "rival" }, "neighbours:", chip(classOf(q.rival))) : "";
    return el("span", { class: "verdict" }, chip(classOf(q.known)), rival);
  }

  function entry(q) {
    const text = el("span", {}, words(q), el("small", {}, q.item.caption));
    return el(
      "li",
      {},
      el(
        "button",
        { class: "entry", "data-row": String(q.item.row), onclick: () => context.look(q) },
        itemView(q.item),
        text,
      ),
    );
  }

  const list = (items) =>
    items.length ? el("ul", { class: "list" }, items.map(entry)) : el("p", { class: "tip" }, "None.");

  async function show() {
    panel.replaceChildren(el("p", { class: "loading" }, "Looking…"));
    await refresh();
  }

  async function refresh() {
    const found = await query("review").catch(() => null);
    if (context.view !== "review" || !found) return;
    replaceEntries(
      panel,
      el("h2", {}, "Answers that contradict their neighbours"),
      list(found.suspects),
      el("h2", {}, "Least certain items"),
      list(found.doubtful),
    );
  }

  return { show, refresh };
}
