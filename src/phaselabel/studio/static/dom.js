// Elements, colours and numbers: small functions without state.

// Create an element. Properties that start with "on" are event listeners; strings become attributes.
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) setProperty(node, key, value);
  for (const child of children.flat(Infinity)) {
    if (child != null) node.append(child);
  }
  return node;
}

function setProperty(node, key, value) {
  if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
  else if (key === "class") node.className = value;
  else if (key === "style") Object.assign(node.style, value);
  else if (key in node && typeof value !== "string") node[key] = value;
  else if (value != null) node.setAttribute(key, value);
}

// What changes when a list of classes must be made anew. Otherwise it is left: a click on a button that is replaced
// is lost, and so is the focus.
export const namesAndColours = (classes) =>
  JSON.stringify(classes.map(({ id, name, color }) => [id, name, color]));

// Replace the entries of a list, buttons with a data-row; the one that had the focus has it again.
export function replaceEntries(node, ...children) {
  const focused = document.activeElement;
  const row = node.contains(focused) ? focused.dataset.row : undefined;
  node.replaceChildren(...children);
  if (row !== undefined) node.querySelector(`button[data-row="${row}"]`)?.focus({ preventScroll: true });
}

export const find = (selector) => document.querySelector(selector);

// Whether a key press is text for a field, not a shortcut.
export function isTyping(event) {
  const node = event.target;
  const dialog = node.closest("dialog");
  if (dialog) return dialog.open; // until the next frame a closed one still has the focus
  const choices = ["radio", "checkbox", "range", "button", "color"];
  return (
    ["TEXTAREA", "SELECT"].includes(node.tagName) ||
    (node.tagName === "INPUT" && !choices.includes(node.type))
  );
}

// The digit of a key press, and whether it came with Shift; [undefined, …] if it is no digit.
export function digitOf({ key, code, shiftKey }) {
  if (/^[0-9]$/.test(key)) return [Number(key), false];
  const digit = shiftKey ? /^Digit(\d)$/.exec(code)?.[1] : undefined;
  return [digit && Number(digit), true];
}

export function rgb(hex) {
  return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
}

// The colour of text on a background: black or white, whichever has more contrast (at least 4.5 : 1).
export function textColour(hex) {
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = rgb(hex).map((c) => linear(c / 255));
  const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return (luminance + 0.05) ** 2 > 1.05 * 0.05 ? "#000" : "#fff";
}

export function percent(share, digits = 0) {
  return `${(100 * share).toFixed(digits)} %`;
}

export const cssPercent = (share) => `${(100 * share).toFixed(1)}%`;

export const count = (number) => number.toLocaleString("en");

// A status such as "comparing the items" as a sentence for the status bar; nothing if all is ready.
export function statusText(status) {
  if (!status || status === "ready") return "";
  return status[0].toUpperCase() + status.slice(1) + (status.endsWith(".") ? "" : "…");
}
