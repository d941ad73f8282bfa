// Requests to the server and the events that it sends.

export class Unreachable extends Error {}

// The browser rejects a request, and the rest of an answer, with a TypeError where the connection breaks.
const reached = (promise) =>
  promise.catch((error) => {
    throw error instanceof TypeError ? new Unreachable("The studio doesn't answer.") : error;
  });

// The error that a response reports: the server sends {"error": …}, or plain text if the request was refused.
export async function errorOf(response) {
  const text = await reached(response.text());
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text || `error ${response.status}`;
  }
}

export async function query(name, options = {}) {
  const parameters = new URLSearchParams(options).toString();
  const response = await reached(fetch(`query/${name}${parameters ? "?" + parameters : ""}`));
  if (!response.ok) throw new Error(await errorOf(response));
  return reached(response.json());
}

export async function bytes(name, options = {}) {
  const parameters = new URLSearchParams(options).toString();
  const response = await reached(fetch(`data/${name}${parameters ? "?" + parameters : ""}`));
  if (!response.ok) throw new Error(await errorOf(response));
  return { version: Number(response.headers.get("x-version")), content: await reached(response.arrayBuffer()) };
}

// Call `onOpen` when the connection is there (again), `onLost` when it breaks, and `onEvent` for each event.
export function subscribe({ onEvent, onOpen, onLost }) {
  // If the studio stops while an event is handled, the stream reports it; after a restart "opened" follows.
  const handle = async (event) => {
    try {
      await onEvent(event);
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
    }
  };
  const onMessage = ({ type, event }) => {
    if (type === "event") handle(event);
    else if (type === "lost") onLost();
    else {
      onOpen();
      handle({ opened: true });
    }
  };
  if (typeof SharedWorker === "undefined") ownConnection(onMessage);
  else sharedConnection(onMessage);
}

function sharedConnection(onMessage) {
  const { port } = new SharedWorker("static/events_worker.js");
  port.onmessage = (message) => onMessage(message.data);
  window.addEventListener("pagehide", () => port.postMessage("closing"));
  // A page that the browser kept and shows again has left the worker.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
}

// For browsers without shared workers.
function ownConnection(onMessage) {
  const source = new EventSource("events");
  source.onopen = () => onMessage({ type: "open" });
  source.onerror = () => onMessage({ type: "lost" });
  source.onmessage = (message) => onMessage({ type: "event", event: JSON.parse(message.data) });
}
