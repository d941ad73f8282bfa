// One question at a time: the item, the guess, and how sure the guess is.
import { el, percent, statusText } from "./dom.js";
import { makeCloseUp } from "./close_up.js";
import { chip, itemView, markedText, pictureOf } from "./items.js";
import { query } from "./server.js";

export function makeQuestion(context) {
  const { root, panel } = context;
  let picked = null; // an item that the user chose instead of the next question
  let closeUp = null; // of the picture on the screen
  let isAnswered = false; // the journal is ahead of the labels: the next question is not known yet

  const current = () => picked ?? context.state.question;

  // The attributes say which item is on the screen, and after how many answers.
  function markShown(row) {
    root.dataset.shown = String(row);
    root.dataset.answered = String(context.state.answered);
  }

  const remarks = (q) => [q.flag, q.note].filter(Boolean).join(": ");

  function words(q) {
    const remark = remarks(q) ? el("small", { class: "remark" }, ` ${remarks(q)}`) : "";
    return [asks(q), remark].flat();
  }

  function asks(q) {
    if (q.known) return ["Answered as ", chip(context.classOf(q.known))];
    if (!context.classOf(q.guess)) return ["What is this?"];
    const sure = q.confidence != null ? el("small", {}, ` ${percent(q.confidence)} sure`) : "";
    return ["Is this ", chip(context.classOf(q.guess)), "?", sure];
  }

  function show() {
    const q = current();
    if (!q) {
      const text =
        context.state.status === "ready" ? "Every item has an answer." : statusText(context.state.status);
      panel.replaceChildren(el("p", { class: "loading" }, text));
      return;
    }
    context.highlightGuess(q.guess);
    const { row } = q.item;
    if (panel.dataset.row === String(row) && panel.querySelector(".question")) {
      panel.querySelector(".asks").replaceChildren(...words(q));
      if (q.item.kind === "text") panel.querySelector(".text").replaceChildren(...markedText(q.item));
      const wasAnswered = isAnswered;
      isAnswered = !picked && Boolean(q.known);
      if (isAnswered) {
        delete root.dataset.shown;
      } // a key now would change the answer
      else if (wasAnswered || root.dataset.shown === panel.dataset.row) markShown(row);
      return;
    }
    isAnswered = false;
    panel.dataset.row = String(row);
    const isImage = q.item.kind === "image";
    if (!isImage) markShown(row);
    let isLoaded = false; // a sharper picture may be loaded later
    const view = itemView(q.item, true, () => {
      if (!isLoaded) markShown(row);
      isLoaded = true;
      closeUp?.sharpen();
    });
    const frame = el("div", { class: "frame" }, view);
    closeUp = isImage ? makeCloseUp(frame, view, `${pictureOf(q.item)}&large=1`) : null;
    panel.replaceChildren(
      el(
        "div",
        { class: "question" },
        frame,
        el("p", { class: "asks" }, words(q)),
        el("p", { class: "caption" }, q.item.caption),
      ),
    );
  }

  // Show the present guess and confidence of the item on the screen.
  async function refresh() {
    if (context.view !== "question") return; // the panel shows something else
    if (picked) {
      const { row } = picked.item;
      const [item] = await query("items", { rows: row });
      if (picked?.item.row === row) picked = item;
    }
    show();
  }

  return {
    show,
    refresh,
    current,
    pick: (q) => {
      picked = q;
    },
    isPicked: () => picked !== null,
    zoomBy: (factor) => closeUp?.zoomBy(factor),
    // Whether the item that a key would answer is on the screen.
    isShown: () => root.dataset.shown === String(current()?.item.row),
  };
}
