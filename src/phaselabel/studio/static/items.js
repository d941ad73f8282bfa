// How an item and a class are shown, large or small.
import { el, textColour } from "./dom.js";

const SMALL_IMAGE_PIXELS = 100;
const SMALL_FIELDS = 6;
const SHORT_TEXT = 240; // letters

export const pictureOf = (item) => `data/item?row=${item.row}`;

// `onShown` is called when the item is on the screen, or known not to be shown.
export function itemView(item, large = false, onShown = () => {}) {
  const size = large ? " large scrolls" : "";
  const focusable = large ? { tabindex: "0" } : {}; // keys scroll it
  if (item.kind === "image") {
    const image = el("img", {
      class: large ? "shown large" : "shown",
      src: pictureOf(item),
      alt: item.caption,
      draggable: false,
      onload: () => {
        if (!image.isConnected) return;
        image.classList.toggle("pixels", image.naturalWidth < SMALL_IMAGE_PIXELS);
        onShown();
      },
      // The file may be gone; the item can still be skipped or rejected.
      onerror: () => {
        image.replaceWith(el("p", { class: `text${size}` }, large ? "This picture can't be shown." : "?"));
        onShown();
      },
    });
    return image;
  }
  if (item.kind === "text") {
    const length = item.text.length <= SHORT_TEXT ? " short" : "";
    return el("p", { class: `text${size}${length}`, ...focusable }, large ? markedText(item) : item.text);
  }
  const fields = large ? item.fields : item.fields.slice(0, SMALL_FIELDS);
  return el(
    "dl",
    { class: `fields${size}`, ...focusable },
    fields.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
}

// A text in which the words that speak for its class are marked.
export function markedText({ text, speaks = [] }) {
  const parts = [];
  let done = 0;
  for (const [start, end] of speaks) {
    parts.push(text.slice(done, start), el("mark", {}, text.slice(start, end)));
    done = end;
  }
  return [...parts, text.slice(done)];
}

export function classColours(c) {
  return { background: c.color, color: textColour(c.color) };
}

// The name of a class on its colour; "no label yet" without a class.
export function chip(c) {
  return c
    ? el("span", { class: "chip", title: c.name, style: classColours(c) }, c.name)
    : el("span", { class: "chip none" }, "no label yet");
}
