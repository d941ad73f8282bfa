// Opens the room that the server has, and looks after what surrounds it.
import { ask, el, find, listen, order, say, toast, typing } from "./page.js";

const THEMES = ["auto", "light", "dark"];
let theme = "auto";

function dress(next) {
  theme = next;
  document.documentElement.dataset.theme = next;
  find("#theme").title = `Light or dark (T): ${next}`;
  window.dispatchEvent(new Event("dressed"));
}

function surroundings(room, state) {
  document.title = `${state.title} · phaselabel studio`;
  find("#title").textContent = state.title;
  const list = find("#exports");
  list.replaceChildren(...state.exports.map((name) =>
    el("a", { role: "menuitem", href: `export/${name}`, download: name }, name)), ...(room.menu ?? []));
  const open = (yes) => {
    list.hidden = !yes;
    find("#export").setAttribute("aria-expanded", String(yes));
    if (yes) list.querySelector("a, button")?.focus();
  };
  find("#export").onclick = () => open(list.hidden);
  list.addEventListener("click", async (event) => {
    const link = event.target.closest("a");
    open(false);
    if (!link) return;
    event.preventDefault();
    say(`Writing ${link.download}…`);
    const answer = await fetch(link.href);
    if (!answer.ok) { toast((await answer.json()).error); say(""); return; }
    const url = URL.createObjectURL(await answer.blob());
    el("a", { href: url, download: link.download }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    say(`${link.download} is in your downloads`);
  });
  document.addEventListener("click", (event) => { if (!event.target.closest(".menu")) open(false); });
  find("#undo").onclick = () => room.order("undo");
  find("#redo").onclick = () => room.order("redo");
  find("#theme").onclick = () => dress(THEMES[(THEMES.indexOf(theme) + 1) % 3]);
  find("#help").onclick = () => find("#keys").showModal();
  const shared = { Z: "undo", "Shift Z": "redo", X: "export", T: "light or dark", "?": "this list" };
  for (const [key, what] of Object.entries({ ...room.keys, ...shared }))
    find("#keylist").append(el("dt", {}, ...key.split(" ").map((k) => el("kbd", {}, k))), el("dd", {}, what));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { open(false); if (typing(event)) event.target.blur(); }
    if (typing(event) || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key === "z" || (key === "y" && event.ctrlKey)) {
      event.preventDefault();
      room.order(event.shiftKey || key === "y" ? "redo" : "undo");
    } else if (event.ctrlKey || event.metaKey) return;
    else if (key === "t") find("#theme").click();
    else if (key === "x") open(list.hidden);
    else if (event.key === "?") find("#keys").showModal();
    else if (room.key(event)) event.preventDefault();
  });
}

export function steps(state) {
  find("#undo").disabled = !state.undo;
  find("#redo").disabled = !state.redo;
}

async function start() {
  let state;
  try {
    state = await ask("state");
  } catch (error) {
    find("#room").replaceChildren(el("p", { class: "loading" }, `The studio doesn't answer: ${error.message}`));
    return;
  }
  const module = await import(state.room === "drawing" ? "./drawing.js" : "./answering.js");
  const room = module.open(find("#room"), state);
  room.order ??= (kind, body) => order(kind, body).then((next) => room.show(next)).catch(() => {});
  surroundings(room, state);
  listen((news) => room.hear(news));
}

dress("auto");
start();
