// Opens the workspace that the server has, and handles what surrounds it: theme, export, undo, keys.
import { el, find, isTyping } from "./dom.js";
import { setStatus, toast } from "./messages.js";
import { connectionLost, connectionRestored, recover, sendAction } from "./saving.js";
import { errorOf, query, subscribe } from "./server.js";

const THEMES = ["auto", "light", "dark"];
const SHARED_KEYS = { Z: "undo", "Shift Z": "redo", X: "export", T: "light or dark", "?": "this list" };
let theme = "auto";

function setTheme(next) {
  theme = next;
  document.documentElement.dataset.theme = next;
  find("#theme").title = `Light or dark (T): ${next}`;
  window.dispatchEvent(new Event("themechange"));
}

function openMenu(open) {
  find("#exports").hidden = !open;
  find("#export").setAttribute("aria-expanded", String(open));
  if (open) find("#exports").querySelector("a, button")?.focus();
}

async function download(link) {
  setStatus(`Writing ${link.download}…`);
  const response = await fetch(link.href).catch(() => null);
  if (!response) {
    toast("The studio doesn't answer, so nothing was exported.");
    setStatus("");
    return;
  }
  if (!response.ok) {
    toast(await errorOf(response));
    setStatus("");
    return;
  }
  const url = URL.createObjectURL(await response.blob());
  el("a", { href: url, download: link.download }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  setStatus(`${link.download} is in your downloads`);
}

function setUpMenu(workspace, state) {
  const list = find("#exports");
  const links = state.exports.map((name) =>
    el("a", { role: "menuitem", href: `export/${name}`, download: name }, name),
  );
  list.replaceChildren(...links, ...(workspace.menu ?? []));
  find("#export").onclick = () => openMenu(list.hidden);
  list.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    openMenu(false);
    if (!link) return;
    event.preventDefault();
    download(link);
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".menu")) openMenu(false);
  });
}

function setUpKeys(workspace) {
  for (const [key, meaning] of Object.entries({ ...workspace.keys, ...SHARED_KEYS })) {
    const caps = key.split(" ").map((k) => (k === "…" ? "… " : el("kbd", {}, k)));
    find("#keylist").append(el("div", {}, el("dt", {}, ...caps), el("dd", {}, meaning)));
  }
  const commands = {
    t: () => find("#theme").click(),
    x: () => openMenu(find("#exports").hidden),
    "?": openKeys,
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (!find("#exports").hidden) find("#export").focus();
      openMenu(false);
      if (isTyping(event)) event.target.blur();
    }
    if (isTyping(event) || event.altKey) return;
    const key = event.key.toLowerCase();
    const history = historyAction(event, key);
    if (history) {
      event.preventDefault();
      if (!event.repeat) workspace.act(history);
    } else if (event.ctrlKey || event.metaKey) return;
    else if (key in commands) commands[key]();
    else if (workspace.onKey(event)) event.preventDefault();
  });
}

// From the top: the button that gets the focus is at the end.
function openKeys() {
  find("#keys").showModal();
  find("#keys").scrollTop = 0;
}

function historyAction(event, key) {
  if (key === "z") return event.shiftKey ? "redo" : "undo";
  return key === "y" && event.ctrlKey ? "redo" : null;
}

function setUpHeader(workspace, state) {
  document.title = `${state.title} · phaselabel studio`;
  find("#title").textContent = state.title;
  find("#undo").onclick = () => workspace.act("undo");
  find("#redo").onclick = () => workspace.act("redo");
  find("#theme").onclick = () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
  find("#help").onclick = openKeys;
}

async function start() {
  let state, module;
  try {
    state = await query("state");
    module = await import(state.mode === "drawing" ? "./drawing.js" : "./answering.js");
  } catch (error) {
    const text = `The page could not be opened: ${error.message} Reload it to try again.`;
    find("#workspace").replaceChildren(el("p", { class: "loading" }, text));
    return;
  }
  const workspace = module.open(find("#workspace"), state);
  workspace.act = (kind, body) =>
    sendAction(kind, body)
      .then((next) => workspace.show(next))
      .catch(() => {});
  setUpHeader(workspace, state);
  setUpMenu(workspace, state);
  setUpKeys(workspace);
  recover(state.project, (next) => workspace.show(next));
  subscribe({
    onEvent: (event) => workspace.onEvent(event),
    onOpen: connectionRestored,
    onLost: connectionLost,
  });
}

setTheme("auto");
start();
