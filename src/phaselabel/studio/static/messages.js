// Messages to the user: the status bar and toasts.
import { el, find } from "./dom.js";

const TOAST_MILLISECONDS = 6000;

export function setStatus(text) {
  if (find("#status").textContent !== text) find("#status").textContent = text;
}

export function toast(text, kind = "bad") {
  const node = el("div", { class: `toast ${kind}` }, text);
  find("#toasts").append(node);
  setTimeout(() => node.remove(), TOAST_MILLISECONDS);
}

// Enable the undo and redo buttons if there is something to undo or redo.
export function updateHistoryButtons(state) {
  find("#undo").disabled = !state.undo;
  find("#redo").disabled = !state.redo;
}
