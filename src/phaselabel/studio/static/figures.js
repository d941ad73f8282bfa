// Numbers beside the question: answers, labels, accuracy, class sizes.
import { count, cssPercent, el, namesAndColours, percent } from "./dom.js";

function gauge({ mean, low, high }) {
  const name = `Estimated accuracy ${percent(mean)}, between ${percent(low)} and ${percent(high)}`;
  return el(
    "div",
    { class: "gauge", role: "img", "aria-label": name },
    el("i", { style: { left: cssPercent(low), width: cssPercent(high - low) } }),
    el("b", { style: { left: cssPercent(mean) } }),
  );
}

// The interval first: the estimate within it is often wrong by several points.
function accuracyFigure(accuracy) {
  if (!accuracy?.conclusive) {
    const early = el("strong", { id: "accuracy", class: "early" }, "too early to tell");
    return [early, el("span", {}, "how many labels are right")];
  }
  const interval = `${percent(accuracy.low).replace(" %", "")} to ${percent(accuracy.high)}`;
  return [
    el("strong", { id: "accuracy" }, interval),
    el("span", {}, `of labels right, about ${percent(accuracy.mean)}`),
    gauge(accuracy),
  ];
}

// The size of a class; `update` shows it anew, and leaves the button, which may be pressed or have the focus.
function sizeEntry({ id, name, color }, edit) {
  const bar = el("i", { style: { background: color } });
  const size = el("span", { class: "count" });
  const answered = el("small", {});
  const words = `Edit ${name}`;
  const node = el(
    "li",
    {},
    el("button", { class: "label", title: words, "aria-label": words, onclick: () => edit(id) }, name),
    el("span", { class: "track" }, bar),
    size,
    answered,
  );
  function update(c, most) {
    bar.style.width = `${(100 * c.size) / most}%`;
    size.textContent = count(c.size);
    answered.textContent = `${c.answered} answered`;
  }
  return { node, update };
}

// `edit` is called with the number of the class whose name was pressed.
export function makeFigures(edit) {
  const counts = el("div", { class: "numbers" });
  const sizes = el("ul", { class: "sizes scrolls", "aria-label": "Class sizes" });
  let entries = [];
  let shownClasses = "";

  function show(state) {
    counts.replaceChildren(
      el(
        "div",
        {},
        el("strong", {}, count(state.answered)),
        el("span", {}, `of ${count(state.items)} answered`),
      ),
      el("div", {}, el("strong", {}, count(state.labelled)), el("span", {}, "labelled")),
      el("div", { class: "wide" }, accuracyFigure(state.accuracy)),
    );
    const now = namesAndColours(state.classes);
    if (now !== shownClasses) {
      shownClasses = now;
      entries = state.classes.map((c) => sizeEntry(c, edit));
      sizes.replaceChildren(...entries.map((entry) => entry.node));
    }
    const most = Math.max(1, ...state.classes.map((c) => c.size));
    state.classes.forEach((c, k) => entries[k].update(c, most));
  }

  return { node: el("section", { class: "card" }, counts, sizes), show };
}
