// The classes of a drawing: choose, rename, recolour, hide and remove them.
import { el, namesAndColours, percent, textColour } from "./dom.js";

// `actions` has choose(id), change(class, changes), remove(class) and draw().
export function makeClassList(model, actions) {
  const node = el("ul", { class: "classes scrolls", "aria-label": "Classes" });
  const tip = el("p", { class: "tip" });

  function classEntry(c, k) {
    const key = k < 9 ? String(k + 1) : `⇧${k - 8}`;
    const button = el(
      "button",
      {
        class: "pick",
        "aria-label": `Draw ${c.name}`,
        title: k < 18 ? `Key ${key}` : "",
        onclick: () => actions.choose(c.id),
        style: { background: c.color, color: textColour(c.color) },
      },
      k < 18 ? key : "•",
    );
    const name = el("input", {
      type: "text",
      class: "name",
      value: c.name,
      title: c.name,
      maxLength: 60,
      "aria-label": `Name of class ${c.name}`,
      onchange: () => actions.change(c, { name: name.value }),
      onfocus: () => {
        if (model.active === c.id) return;
        model.active = c.id;
        markActive();
      },
    });
    const share = el("span", { class: "share", title: "Share of the picture" });
    const colour = el("input", {
      type: "color",
      value: c.color,
      "aria-label": `Colour of ${c.name}`,
      onchange: () => actions.change(c, { color: colour.value }),
    });
    const remove = el(
      "button",
      {
        class: "icon small",
        "aria-label": `Remove ${c.name}`,
        title: "Remove with its strokes (undo brings it back)",
        onclick: () => actions.remove(c),
      },
      "×",
    );
    const shown = el("input", {
      type: "checkbox",
      checked: !model.hidden.has(c.id),
      title: "Show this class on the picture",
      "aria-label": `Show ${c.name}`,
      onchange: () => {
        if (shown.checked) model.hidden.delete(c.id);
        else model.hidden.add(c.id);
        actions.draw();
      },
    });
    return el("li", { "data-class": c.id }, button, name, share, shown, colour, remove);
  }

  let shownClasses = "";
  function show() {
    const { classes, layers } = model.state;
    const now = namesAndColours(classes);
    if (now !== shownClasses) node.replaceChildren(...classes.map(classEntry));
    shownClasses = now;
    classes.forEach(({ share }, k) => {
      node.children[k].querySelector(".share").textContent = share == null ? "" : percent(share);
    });
    markActive();
    const drawn = new Set(layers.map((layer) => layer.class));
    if (classes.length < 2) {
      tip.textContent = "Name at least two classes: what you look for, and what surrounds it.";
    } else {
      tip.textContent = classes.every((c) => drawn.has(c.id)) ? "" : "Draw a short stroke in each class.";
    }
    tip.hidden = !tip.textContent;
  }

  function markActive() {
    for (const entry of node.children) {
      const active = Number(entry.dataset.class) === model.active;
      entry.classList.toggle("on", active);
      entry.firstChild.setAttribute("aria-pressed", String(active));
    }
  }

  // A list that is made anew would take the focus from a name that is being typed.
  function update() {
    const focused = document.activeElement;
    if (!node.contains(focused) || focused.type !== "text") show();
  }

  // What was typed or chosen was refused.
  function reset() {
    shownClasses = "";
    show();
  }

  return { node, tip, show, update, reset };
}
