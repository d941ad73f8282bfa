// The item under the pointer on the map, shown beside it.
import { el } from "./dom.js";
import { itemView } from "./items.js";
import { query } from "./server.js";

// The pointer must rest for this long, so that moving it does not ask for every item on its way.
const REST_MILLISECONDS = 90;
const GAP = 14;

export function makeMapHover() {
  const node = el("div", { class: "hover", "aria-hidden": "true", hidden: true });
  let wanted = -1;
  let timer = null;

  function hide() {
    clearTimeout(timer);
    wanted = -1;
    node.hidden = true;
  }

  async function fill(row, x, y, box) {
    const [found] = await query("items", { rows: row }).catch(() => []);
    if (!found || wanted !== row) return;
    node.replaceChildren(itemView(found.item), el("small", {}, found.item.caption));
    node.hidden = false;
    // On the side of the pointer that has more room, and not beyond the map, where it would be cut.
    const beside = (at, side, room) => {
      const start = at < room / 2 ? at + GAP : at - GAP - side;
      return `${Math.max(0, Math.min(start, room - side))}px`;
    };
    node.style.left = beside(x, node.offsetWidth, box.width);
    node.style.top = beside(y, node.offsetHeight, box.height);
  }

  function show(row, x, y, box) {
    if (row === wanted) return;
    hide();
    wanted = row;
    timer = setTimeout(() => fill(row, x, y, box), REST_MILLISECONDS);
  }

  return { node, show, hide };
}
