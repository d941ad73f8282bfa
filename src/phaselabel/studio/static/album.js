// The pictures of a folder: which one is shown, and which one needs strokes most.
import { el, percent } from "./dom.js";

export function makeAlbum(goTo) {
  let state = null;
  const choice = el("select", { "aria-label": "Picture", onchange: () => goTo(Number(choice.value)) });
  const back = el("button", { title: "Previous picture (,)", onclick: () => move(-1) }, "Back");
  const forward = el("button", { title: "Next picture (.)", onclick: () => move(1) }, "Next");
  const suggested = el("button", { title: "Where a stroke helps most (G)", onclick: suggest }, "Suggested");
  const node = el("div", { class: "album" }, choice, el("div", { class: "row" }, back, forward, suggested));

  const place = () => state.images.findIndex((one) => one.id === state.image);

  function move(step) {
    const next = state.images[place() + step];
    if (next) goTo(next.id);
  }

  function suggest() {
    if (state.next_image !== null) goTo(state.next_image);
  }

  function text({ name, strokes, confidence }) {
    const parts = [name];
    if (strokes) parts.push(strokes === 1 ? "1 stroke" : `${strokes} strokes`);
    if (confidence !== null) parts.push(`${percent(confidence)} sure`);
    return parts.join(" · ");
  }

  function show(next) {
    state = next;
    choice.replaceChildren(...next.images.map((one) => el("option", { value: String(one.id) }, text(one))));
    choice.value = String(next.image);
    choice.title = text(next.images[place()]);
    back.disabled = place() === 0;
    forward.disabled = place() === next.images.length - 1;
    suggested.disabled = next.next_image === null;
  }

  function onKey(key) {
    const command = { ",": () => move(-1), ".": () => move(1), g: suggest }[key];
    command?.();
    return Boolean(command);
  }

  return { node, show, onKey };
}
