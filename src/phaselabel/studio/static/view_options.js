// How the picture is shown: which view, how opaque the classes are, and the bands of a cube as colours.
import { el } from "./dom.js";

const VIEWS = ["overlay", "outline", "confidence", "picture"];
const COLOURS = ["red", "green", "blue"];

// `onChange` is called when the canvas must be painted again, `onBands` when the picture must be loaded again.
export function makeViewOptions(model, onChange, onBands) {
  const choice = el(
    "div",
    { class: "segments", role: "radiogroup", "aria-label": "View" },
    VIEWS.map((name) => {
      const checked = name === model.view;
      const onchange = () => setView(name);
      return el(
        "label",
        {},
        el("input", { type: "radio", name: "view", value: name, checked, onchange }),
        name,
      );
    }),
  );
  const opacityText = el("output", {}, "");
  const opacity = el("input", {
    type: "range",
    min: "5",
    max: "100",
    value: String(Math.round(100 * model.opacity)),
    "aria-label": "Opacity of the classes",
    oninput: () => setOpacity(Number(opacity.value)),
  });

  function setView(name) {
    model.view = name;
    for (const input of choice.querySelectorAll("input")) input.checked = input.value === name;
    onChange();
  }

  const nextView = () => setView(VIEWS[(VIEWS.indexOf(model.view) + 1) % VIEWS.length]);

  function setOpacity(value) {
    model.opacity = value / 100;
    opacityText.textContent = `${value} %`;
    onChange();
  }

  // -- bands: a cube has more of them than a screen has colours
  function bandChoice() {
    const { bands, shown_bands: shown } = model.state;
    if (!bands) return null;
    const options = (chosen) =>
      Array.from({ length: bands }, (_, b) =>
        el("option", { value: String(b), selected: b === chosen }, `band ${b + 1}`),
      );
    const selects = COLOURS.map((name, k) =>
      el("select", { "aria-label": `Band shown as ${name}`, onchange: changed }, options(shown[k])),
    );
    const main = el("input", { type: "checkbox", onchange: changed });
    function changed() {
      for (const select of selects) select.disabled = main.checked;
      model.bands = main.checked ? "main" : selects.map((select) => select.value).join();
      onBands();
    }
    return el(
      "fieldset",
      { class: "bands" },
      el("legend", {}, "Red, green and blue"),
      el("div", { class: "row" }, selects),
      el("label", { class: "check" }, main, "Main directions of all bands"),
    );
  }

  setOpacity(Math.round(100 * model.opacity));
  const node = el(
    "div",
    {},
    choice,
    el("label", { class: "size" }, "Opacity", opacity, opacityText),
    bandChoice(),
  );
  return { node, nextView };
}
