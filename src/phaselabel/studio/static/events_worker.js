// One connection to the event stream for all tabs of a studio, as a shared worker. Browsers open at most six
// connections to one server, so with a stream per tab the seventh tab would wait for ever.
const ports = new Set();
let isOpen = false;

function send(message) {
  for (const port of ports) port.postMessage(message);
}

const source = new EventSource("../events");
source.onopen = () => {
  isOpen = true;
  send({ type: "open" });
};
source.onerror = () => {
  isOpen = false;
  send({ type: "lost" });
};
source.onmessage = (message) => send({ type: "event", event: JSON.parse(message.data) });

self.onconnect = ({ ports: [port] }) => {
  ports.add(port);
  port.onmessage = () => ports.delete(port); // the page is closing
  if (isOpen) port.postMessage({ type: "open" });
  else if (source.readyState === EventSource.CLOSED) port.postMessage({ type: "lost" });
};
