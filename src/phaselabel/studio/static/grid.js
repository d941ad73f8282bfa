// Similar items with the same guess, to confirm together.
import { el } from "./dom.js";
import { chip, itemView } from "./items.js";
import { query } from "./server.js";

// Pictures are as large as the window allows, between these sides in pixels.
const MAX_TILE = 240;
const MIN_TILE = 44;
const TILE_STEP = 4;
const GAP = 8;

// Choose the largest tiles with which all of them are in sight.
function fitTiles(tiles) {
  const { clientWidth, clientHeight, children } = tiles;
  const fits = (side) => {
    const columns = Math.floor((clientWidth + GAP) / (side + GAP));
    return Math.ceil(children.length / columns) * (side + GAP) - GAP <= clientHeight;
  };
  let side = MAX_TILE;
  while (side > MIN_TILE && !fits(side)) side -= TILE_STEP;
  tiles.style.gridTemplateColumns = `repeat(auto-fit, ${side}px)`;
}

export function makeGrid(context) {
  const { panel } = context;
  let items = [],
    guess = null,
    chosen = new Set();

  function message(text) {
    panel.replaceChildren(el("p", { class: "loading" }, text));
  }

  async function show() {
    message("Looking for similar items…");
    const grid = await query("grid").catch(() => null);
    if (context.view !== "grid" || !grid) return;
    items = grid.items;
    guess = grid.class;
    chosen = new Set(items.map((q) => q.item.row));
    if (!items.length) {
      message("Answer a few questions first.");
      return;
    }
    const hint = el("small", {}, "Click the odd ones out, then confirm.");
    const title = [`Are these ${items.length} all `, chip(context.classOf(guess)), "? ", hint];
    const confirmButton = el(
      "button",
      { class: "primary", id: "confirm", onclick: () => confirm(guess) },
      "Confirm ",
      el("kbd", {}, "Enter"),
    );
    const tiles = el("div", { class: "tiles" }, items.map(tile));
    panel.replaceChildren(
      el("div", { class: "grid" }, el("p", { class: "asks" }, title), tiles, el("div", {}, confirmButton)),
    );
    if (items[0].item.kind === "image") new ResizeObserver(() => fitTiles(tiles)).observe(tiles);
  }

  function tile(q) {
    const { row, caption } = q.item;
    const button = el(
      "button",
      {
        class: "tile on",
        "aria-pressed": "true",
        "aria-label": caption,
        onclick: () => {
          const on = !chosen.has(row);
          if (on) chosen.add(row);
          else chosen.delete(row);
          button.classList.toggle("on", on);
          button.setAttribute("aria-pressed", String(on));
        },
      },
      itemView(q.item),
    );
    return button;
  }

  // Send one action for the items of this grid, then show the next grid.
  async function send(kind, body) {
    items = [];
    await context.send(kind, body).catch(() => {});
    if (context.view === "grid") show();
  }

  function confirm(id) {
    if (chosen.size && items.length) send("answer", { rows: [...chosen], class: id });
  }

  function confirmByName(name) {
    if (chosen.size && items.length) send("answer", { rows: [...chosen], name });
  }

  function skip() {
    if (items.length) send("skip", { rows: items.map((q) => q.item.row) });
  }

  return {
    show,
    confirm,
    confirmByName,
    skip,
    guess: () => guess,
  };
}
