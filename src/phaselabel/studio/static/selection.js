// Items that were selected on the map: look at them, or label them together.
import { count, el } from "./dom.js";
import { classColours, itemView } from "./items.js";
import { toast } from "./messages.js";
import { query } from "./server.js";

const MAX_SHOWN = 60;

function summary(labelled, selected) {
  const kept = selected - labelled;
  const items = labelled === 1 ? "1 item" : `${count(labelled)} items`;
  const answers = kept === 1 ? "1 earlier answer" : `${count(kept)} earlier answers`;
  return kept ? `${items} labelled, ${answers} kept` : `${items} labelled`;
}

export function makeSelection(context) {
  const node = el("section", { class: "card inspected", "aria-label": "Selected items", hidden: true });
  const close = () => {
    node.hidden = true;
  };

  function tile(q) {
    const borderColor = context.classOf(q.known ?? q.guess)?.color ?? "transparent";
    const name = `Open ${q.item.caption}`;
    return el(
      "button",
      { class: "tile", "aria-label": name, style: { borderColor }, onclick: () => context.look(q) },
      itemView(q.item),
    );
  }

  async function show(rows, where) {
    const items = await query("items", { rows: rows.slice(0, MAX_SHOWN).join(",") });
    const label = async (c) => {
      const before = context.state.answered;
      const next = await context.send("answer", { rows, class: c.id, keep_answers: true }).catch(() => null);
      if (!next) return;
      close();
      toast(summary(next.answered - before, rows.length), "note");
    };
    const closeButton = el("button", { class: "icon small", "aria-label": "Close", onclick: close }, "×");
    const some = `${items.length} of them are shown.`;
    node.hidden = false;
    node.replaceChildren(
      el("h2", {}, `${count(rows.length)} items ${where}`, closeButton),
      el("div", { class: "tiles small" }, items.map(tile)),
      rows.length > items.length ? el("p", { class: "tip" }, some) : "",
      el("p", { class: "tip" }, "Label all that have no answer:"),
      el(
        "div",
        { class: "row wrap scrolls" },
        context.state.classes.map((c) =>
          el(
            "button",
            { class: "chip", title: c.name, style: classColours(c), onclick: () => label(c) },
            c.name,
          ),
        ),
      ),
    );
    node.scrollIntoView({ block: "nearest" });
  }

  return { node, show };
}
