// Numbers beside the question: answers, labels, accuracy, class sizes.
import { count, cssPercent, el, percent } from "./dom.js";

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

function sizeBar(c, most, edit) {
  const bar = el("i", { style: { width: `${(100 * c.size) / most}%`, background: c.color } });
  return el(
    "li",
    {},
    el(
      "button",
      { class: "label", title: `Edit ${c.name}`, "aria-label": `Edit ${c.name}`, onclick: () => edit(c) },
      c.name,
    ),
    el("span", { class: "track" }, bar),
    el("span", { class: "count" }, count(c.size)),
    el("small", {}, `${c.answered} answered`),
  );
}

// `edit` is called with the class whose name was pressed.
export function makeFigures(edit) {
  const counts = el("div", { class: "numbers" });
  const sizes = el("ul", { class: "sizes scrolls", "aria-label": "Class sizes" });

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
    const most = Math.max(1, ...state.classes.map((c) => c.size));
    sizes.replaceChildren(...state.classes.map((c) => sizeBar(c, most, edit)));
  }

  return { node: el("section", { class: "card" }, counts, sizes), show };
}
