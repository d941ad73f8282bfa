// A dialog to rename, recolour, merge or delete a class.
import { count, el } from "./dom.js";

export function makeClassDialog(context) {
  const name = el("input", { type: "text", maxLength: 60, "aria-label": "Name" });
  const color = el("input", { type: "color", "aria-label": "Colour" });
  const into = el("select", { "aria-label": "Merge into" });
  const mergeButton = el("button", { type: "button", onclick: merge }, "Merge");
  const deleteButton = el("button", { type: "button", onclick: remove }, "Delete");
  const warning = el("p", { class: "tip" });
  const node = el(
    "dialog",
    { class: "edit-class", "aria-label": "Edit a class" },
    el(
      "form",
      { onsubmit: save },
      el("div", { class: "row" }, color, name),
      el("div", { class: "row" }, into, mergeButton),
      warning,
      el(
        "div",
        { class: "row wrap" },
        el("button", { class: "primary" }, "Save"),
        el("button", { type: "button", onclick: () => node.close() }, "Cancel"),
        deleteButton,
      ),
    ),
  );
  let edited = null;

  async function send(actions) {
    node.close();
    for (const [kind, body] of actions) {
      if (!(await context.send(kind, { class: edited.id, ...body }).catch(() => null))) return;
    }
  }

  function save(event) {
    event.preventDefault();
    const actions = [];
    if (name.value.trim() !== edited.name) actions.push(["rename", { name: name.value }]);
    if (color.value !== edited.color) actions.push(["recolour", { color: color.value }]);
    send(actions);
  }

  function merge() {
    send([["merge", { into: Number(into.value) }]]);
  }

  function remove() {
    send([["delete", {}]]);
  }

  function open(c) {
    edited = c;
    name.value = c.name;
    color.value = c.color;
    const others = context.state.classes.filter((other) => other.id !== c.id);
    into.replaceChildren(...others.map((o) => el("option", { value: String(o.id) }, `Merge into ${o.name}`)));
    into.disabled = mergeButton.disabled = !others.length;
    const answers = c.answered === 1 ? "its answer is" : `its ${count(c.answered)} answers are`;
    warning.textContent = c.answered
      ? `If you delete ${c.name}, ${answers} taken back. Undo brings all back.`
      : "";
    node.showModal();
    name.select();
  }

  return { node, open };
}
