// Canvases on the screen: their size in pixels, and painting at most once per frame.

// A function that paints in the next frame, however often it is called before.
export function oncePerFrame(paint) {
  let scheduled = false;
  return () => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => {
      scheduled = false;
      paint();
    });
  };
}

// The size of an element in pixels of the screen, and how many of these are one CSS pixel.
export function pixelSize(node) {
  const box = node.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(box.width * ratio));
  const height = Math.max(1, Math.round(box.height * ratio));
  return { width, height, ratio, box };
}
