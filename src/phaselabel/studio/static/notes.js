// What the user should know about the source, and what its items are compared by.
import { el } from "./dom.js";

export function notesList(notes) {
  return notes.length
    ? el(
        "ul",
        { class: "notes", "aria-label": "Notes" },
        notes.map((note) => el("li", {}, note)),
      )
    : null;
}

export function aboutSource({ notes, description }) {
  const lines = description.map(([heading, text]) => [el("dt", {}, heading), el("dd", {}, text)]);
  return el(
    "section",
    { class: "card about" },
    notesList(notes),
    el("details", {}, el("summary", {}, "What is compared"), el("dl", {}, lines)),
  );
}
