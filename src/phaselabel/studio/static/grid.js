// Similar items with the same guess, to confirm together.
import { el } from "./dom.js";
import { chip, itemView } from "./items.js";
import { query } from "./server.js";

// Pictures are as large as the window allows, between these sides in pixels.
const MAX_TILE = 240;
const MIN_TILE = 44;
const TILE_STEP = 4;
const GAP = 8;

// Texts have as many lines as leave two rows in sight, of these numbers; the style sheet has the same.
const LINES = ["6", "4", "3"];

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

// Choose the most lines with which a second row of texts is wholly in sight.
function fitLines(tiles) {
  const all = [...tiles.children];
  for (const tile of all) tile.hidden = false;
  for (const lines of LINES) {
    tiles.dataset.lines = lines;
    const tops = [...new Set(all.map((tile) => tile.offsetTop))];
    const second = all.filter((tile) => tile.offsetTop === tops[1]);
    if (second.every((t) => t.offsetTop - tiles.offsetTop + t.offsetHeight <= tiles.clientHeight)) return;
  }
}

// Leave out the rows that are not wholly in sight, except the first: nobody should answer about the unseen.
function leaveOutUnseen(tiles) {
  const all = [...tiles.children];
  for (const tile of all) tile.hidden = false;
  const bottoms = all.map((tile) => tile.offsetTop - tiles.offsetTop + tile.offsetHeight);
  all.forEach((tile, k) => {
    tile.hidden = bottoms[k] > Math.max(tiles.clientHeight + 1, bottoms[0]);
  });
}

export function makeGrid(context) {
  const { panel } = context;
  let items = [], // those on the screen, and more for a larger window
    guess = null,
    odd = new Set(),
    tiles = null;

  function message(text) {
    panel.replaceChildren(el("p", { class: "loading" }, text));
  }

  const seen = () => items.map((q) => q.item.row).filter((_, k) => !tiles.children[k].hidden);
  const chosen = () => seen().filter((row) => !odd.has(row));

  async function show() {
    message("Looking for similar items…");
    const grid = await query("grid").catch(() => null);
    if (context.view !== "grid" || !grid) return;
    items = grid.items;
    guess = grid.class;
    odd = new Set();
    if (!items.length) {
      message("Answer a few questions first.");
      return;
    }
    const number = el("span", {});
    const hint = el("small", {}, "Click the odd ones out, then confirm.");
    const title = [number, chip(context.classOf(guess)), "? ", hint];
    const confirmButton = el(
      "button",
      { class: "primary", id: "confirm", onclick: () => confirm(guess) },
      "Confirm ",
      el("kbd", {}, "Enter"),
    );
    tiles = el("div", { class: "tiles" }, items.map(tile));
    panel.replaceChildren(
      el("div", { class: "grid" }, el("p", { class: "asks" }, title), tiles, el("div", {}, confirmButton)),
    );
    const fit = () => {
      if (items[0]?.item.kind === "image") fitTiles(tiles);
      if (items[0]?.item.kind === "text") fitLines(tiles);
      leaveOutUnseen(tiles);
      const n = seen().length;
      number.textContent = n > 1 ? `Are these ${n} all ` : "Is this ";
    };
    fit();
    new ResizeObserver(fit).observe(tiles);
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
          const on = odd.has(row);
          if (on) odd.delete(row);
          else odd.add(row);
          button.classList.toggle("on", on);
          button.setAttribute("aria-pressed", String(on));
        },
      },
      itemView(q.item),
    );
    return button;
  }

  // Send one action for the items of this grid, then show the next grid.
  async function send(kind, rows, body) {
    if (!rows.length) return;
    items = [];
    await context.send(kind, { rows, ...body }).catch(() => {});
    if (context.view === "grid") show();
  }

  const confirm = (id) => send("answer", chosen(), { class: id });
  const confirmByName = (name) => send("answer", chosen(), { name });
  const skip = () => send("skip", seen());

  return {
    show,
    confirm,
    confirmByName,
    skip,
    guess: () => guess,
  };
}
