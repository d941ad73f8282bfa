// Actions on their way to the disk. "Saved" is shown only when the server has confirmed every one of them.
//
// An action that can't be saved now stays in the page and is sent again; its request_id makes sure that the
// server applies it once. It is also kept in the browser's local storage: after a restart the studio has another
// address, and the page at that address can save what the old page could not.
import { el, find } from "./dom.js";
import { toast } from "./messages.js";
import { errorOf } from "./server.js";

const FIRST_RETRY_MILLISECONDS = 500;
const MAX_RETRY_MILLISECONDS = 5000;

// The server has looked at the action and will never accept it: bad content, too large.
const REFUSED = [400, 413];
const WRONG_TOKEN = 403;

const queue = []; // unconfirmed actions, the oldest first
let storageKey = null;
let problem = null; // why the first action is not saved; null while it is on its way
let connected = true;
let wakeUp = () => {}; // ends the pause before the next attempt

const newId = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

export function sendAction(kind, body = {}) {
  const id = newId();
  return enqueue({ id, path: "actions", content: JSON.stringify({ kind, body, request_id: id }) });
}

// `options` name the picture of an album that the file is for.
export function upload(file, options = {}) {
  const id = newId();
  const parameters = new URLSearchParams({ request_id: id, ...options });
  return enqueue({ id, path: `import?${parameters}`, content: file });
}

function enqueue(action) {
  return new Promise((resolve, reject) => {
    queue.push({ ...action, resolve, reject });
    show();
    if (queue.length === 1) work();
  });
}

async function work() {
  for (let attempt = 0; queue.length;) {
    const [action] = queue;
    const outcome = await deliver(action);
    if (queue[0] !== action) continue; // another page has taken it over
    if (outcome.retry) {
      problem = outcome.error;
      show();
      attempt += 1;
      await pause(outcome.wait ?? Math.min(FIRST_RETRY_MILLISECONDS * 2 ** attempt, MAX_RETRY_MILLISECONDS));
      continue;
    }
    attempt = 0;
    problem = null;
    queue.shift();
    show();
    if (outcome.state) action.resolve(outcome.state);
    else {
      toast(outcome.error);
      action.reject(new Error(outcome.error));
    }
  }
}

async function deliver({ id, path, content }) {
  let response, error;
  try {
    response = await fetch(path, { method: "POST", body: content });
    if (response.ok) {
      const state = await response.json();
      if (state.confirmed === id) return { state };
      return { retry: true, error: "the studio did not confirm it." };
    }
    error = await errorOf(response);
  } catch {
    return { retry: true, error: "the studio doesn't answer." };
  }
  if (REFUSED.includes(response.status)) return { error };
  if (response.status !== WRONG_TOKEN) return { retry: true, error };
  const moved = "the studio was started again and has another address. Open that address to save it.";
  return { retry: true, error: moved, wait: Infinity };
}

function pause(milliseconds) {
  return new Promise((resolve) => {
    wakeUp = resolve;
    if (Number.isFinite(milliseconds)) setTimeout(resolve, milliseconds);
  });
}

// -- what the page shows

export function connectionLost() {
  connected = false;
  show();
}

export function connectionRestored() {
  connected = true;
  wakeUp();
  show();
}

const changes = (n) => (n === 1 ? "1 change is" : `${n} changes are`);

function show() {
  const saved = find("#saved");
  if (problem) {
    saved.textContent = "Not saved";
    saved.className = "bad";
  } else if (!connected) {
    saved.textContent = "Waiting for the studio…";
    saved.className = "bad";
  } else {
    saved.textContent = queue.length ? "Saving…" : "Saved";
    saved.className = queue.length ? "busy" : "";
  }
  showAlarm();
  store();
}

let offer = null; // what earlier pages could not save, as text and buttons
let alarmText = "";

function showAlarm() {
  const trouble = {
    text: `${changes(queue.length)} not saved: ${problem}`,
    buttons: { "Try again": () => wakeUp() },
  };
  const shown = problem ? trouble : offer;
  find("#unsaved").hidden = !shown;
  if (!shown || shown.text === alarmText) return; // a new text would be read aloud again
  alarmText = shown.text;
  const buttons = Object.entries(shown.buttons).map(([name, onclick]) => el("button", { onclick }, name));
  find("#unsaved").replaceChildren(el("span", {}, shown.text), ...buttons);
}

window.addEventListener("beforeunload", (event) => {
  if (problem) event.preventDefault();
});

// -- local storage

// Uploaded files are not stored: they are on the disk of the user.
function store() {
  if (!storageKey) return;
  const actions = queue.filter(({ path }) => path === "actions").map(({ id, content }) => ({ id, content }));
  if (problem && actions.length) localStorage.setItem(storageKey, JSON.stringify(actions));
  else localStorage.removeItem(storageKey);
}

// Another page has taken what this one had stored, to save it or to discard it. What this page still said of it, or
// stored once more, would not be so.
window.addEventListener("storage", ({ key, newValue }) => {
  if (!storageKey || key !== storageKey || newValue !== null) return;
  queue.length = 0;
  problem = null;
  offer = { text: "Another page has taken over what was not saved here. Close this one.", buttons: {} };
  wakeUp();
  show();
});

// Offer the actions that other pages of this project could not save.
export function recover(project, onSaved) {
  const prefix = `phaselabel ${project} `;
  storageKey = prefix + newId();
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(prefix));
  const actions = keys.flatMap((key) => JSON.parse(localStorage.getItem(key)));
  if (!actions.length) return;
  const discard = () => {
    for (const key of keys) localStorage.removeItem(key);
    offer = null;
    showAlarm();
  };
  const save = () => {
    discard();
    for (const { id, content } of actions) {
      enqueue({ id, path: "actions", content }).then(onSaved, () => {});
    }
  };
  const n = actions.length;
  offer = {
    text:
      n === 1
        ? "1 change of an earlier page is not saved."
        : `${n} changes of an earlier page are not saved.`,
    buttons: { [n === 1 ? "Save it now" : "Save them now"]: save, Discard: discard },
  };
  showAlarm();
}
