// Looking closely at a picture: the wheel, + and − zoom, dragging moves it, a double click zooms in or back.
const MAX_ZOOM = 40;
const DOUBLE_CLICK_ZOOM = 3;

// Pictures are sent with at most this many pixels a side, until more of them are needed.
const SENT_SIDE = 640;

// `image` fills `frame`; `large` is the address of the picture with all its pixels.
export function makeCloseUp(frame, image, large) {
  let camera = { zoom: 1, x: 0, y: 0 };
  let isSharp = false;

  // Load the large picture if the screen shows more than was sent.
  function sharpen() {
    const sent = Math.max(image.naturalWidth, image.naturalHeight);
    const { width, height } = frame.getBoundingClientRect();
    const scale = Math.min(width / image.naturalWidth, height / image.naturalHeight) * camera.zoom;
    if (isSharp || sent < SENT_SIDE || scale * window.devicePixelRatio <= 1) return;
    isSharp = true;
    const whole = new Image();
    whole.onload = () => {
      if (image.isConnected) image.src = whole.src;
    };
    whole.src = large;
  }

  function setCamera(zoom, x, y) {
    const box = frame.getBoundingClientRect();
    const within = (value, side) => Math.min(0, Math.max(side * (1 - zoom), value));
    camera = { zoom, x: within(x, box.width), y: within(y, box.height) };
    image.style.transform = `translate(${camera.x}px, ${camera.y}px) scale(${zoom})`;
    frame.classList.toggle("close", zoom > 1);
    sharpen();
  }

  function zoomBy(factor, point = null) {
    const box = frame.getBoundingClientRect();
    const [x, y] = point ?? [box.width / 2, box.height / 2];
    const zoom = Math.min(MAX_ZOOM, Math.max(1, camera.zoom * factor));
    const ratio = zoom / camera.zoom;
    setCamera(zoom, x - (x - camera.x) * ratio, y - (y - camera.y) * ratio);
  }

  function pointOf(event) {
    const box = frame.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
  frame.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      zoomBy(Math.exp(-event.deltaY / 300), pointOf(event));
    },
    { passive: false },
  );
  frame.addEventListener("dblclick", (event) =>
    zoomBy(camera.zoom > 1 ? 0 : DOUBLE_CLICK_ZOOM, pointOf(event)),
  );
  frame.addEventListener("pointerdown", (event) => frame.setPointerCapture(event.pointerId));
  frame.addEventListener("pointermove", (event) => {
    if (frame.hasPointerCapture(event.pointerId)) {
      setCamera(camera.zoom, camera.x + event.movementX, camera.y + event.movementY);
    }
  });

  return { zoomBy, sharpen };
}
