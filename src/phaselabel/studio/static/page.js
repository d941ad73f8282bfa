// What both rooms share: elements, orders to the server, news from it, words to the user.

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class") node.className = value;
    else if (key === "style") Object.assign(node.style, value);
    else if (key in node && typeof value !== "string") node[key] = value;
    else if (value !== undefined && value !== null) node.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) node.append(child);
  return node;
}

export const find = (selector) => document.querySelector(selector);

export function toast(words, kind = "bad") {
  const node = el("div", { class: `toast ${kind}` }, words);
  find("#toasts").append(node);
  setTimeout(() => node.remove(), 6000);
}

export function say(words) {
  if (find("#status").textContent !== words) find("#status").textContent = words;
}

class Unreachable extends Error {}

async function get(where) {
  return fetch(where).catch(() => { throw new Unreachable("The studio doesn't answer."); });
}

export async function ask(name, options = {}) {
  const query = new URLSearchParams(options).toString();
  const answer = await get(`ask/${name}${query ? "?" + query : ""}`);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

export async function bytes(name) {
  const answer = await get(`data/${name}`);
  if (!answer.ok) throw new Error((await answer.json()).error);
  return { number: Number(answer.headers.get("x-number")), content: await answer.arrayBuffer() };
}

// Orders go out one after the other. An order that got no answer is sent again: its mark makes sure that
// the server does it once.
let line = Promise.resolve();
let waiting = 0;

export function order(kind, body = {}) {
  const text = JSON.stringify({ kind, body, mark: crypto.getRandomValues(new Uint32Array(4)).join("-") });
  return send("do", text);
}

export function upload(file) {
  return send("take", file);
}

function send(where, content) {
  waiting += 1;
  saved();
  const turn = line.then(() => deliver(where, content));
  line = turn.catch(() => {});
  return turn.finally(() => { waiting -= 1; saved(); });
}

async function deliver(where, content) {
  for (let attempt = 0; ; attempt += 1) {
    let answer;
    try {
      answer = await fetch(where, { method: "POST", body: content });
    } catch {
      find("#saved").textContent = "Not saved: the studio doesn't answer";
      find("#saved").className = "bad";
      await new Promise((done) => setTimeout(done, Math.min(500 * 2 ** attempt, 5000)));
      continue;
    }
    const found = await answer.json();
    if (!answer.ok) {
      toast(found.error);
      throw new Error(found.error);
    }
    return found;
  }
}

function saved() {
  find("#saved").textContent = waiting ? "Saving…" : "Saved";
  find("#saved").className = waiting ? "busy" : "";
}

export function listen(hear) {
  const source = new EventSource("events");
  // If the studio goes away while news is being looked into, the stream says so, and all is asked for when it is back.
  const tell = async (news) => {
    try { await hear(news); } catch (error) { if (!(error instanceof Unreachable)) throw error; }
  };
  source.onmessage = (event) => tell(JSON.parse(event.data));
  source.onerror = () => { find("#saved").textContent = "Waiting for the studio…"; find("#saved").className = "bad"; };
  source.onopen = () => { saved(); tell({ opened: true }); };
}

export function typing(event) {
  const node = event.target;
  return node.closest("dialog") || ["TEXTAREA", "SELECT"].includes(node.tagName) ||
    (node.tagName === "INPUT" && !["radio", "checkbox", "range", "button", "color"].includes(node.type));
}

export function rgb(hex) {
  return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
}

export function percent(share, digits = 0) {
  return `${(100 * share).toFixed(digits)} %`;
}

// Dark letters on light colours, light letters on dark ones.
export function ink(hex) {
  const [r, g, b] = rgb(hex);
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111" : "#fff";
}
