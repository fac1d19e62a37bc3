// A drawing that can be moved and enlarged, by mouse, finger, wheel and buttons.

import { button, h, s } from "./dom.js";

export function canvas(label) {
  const drawing = s("svg", { class: "canvas", role: "group", "aria-label": label });
  let size = { width: 100, height: 100 };
  let view = null; // what is seen; null for all
  let drag = null;

  function look() {
    const seen = view ?? { x: 0, y: 0, ...size };
    drawing.setAttribute("viewBox", `${seen.x} ${seen.y} ${seen.width} ${seen.height}`);
  }
  function zoom(factor, at = { x: 0.5, y: 0.5 }) {
    const seen = view ?? { x: 0, y: 0, ...size };
    const width = Math.min(Math.max(seen.width * factor, 60), size.width * 2);
    const height = (width / seen.width) * seen.height;
    view = { x: seen.x + (seen.width - width) * at.x, y: seen.y + (seen.height - height) * at.y, width, height };
    look();
  }
  function part(event) {
    const box = drawing.getBoundingClientRect();
    return { x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height };
  }
  drawing.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) {
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.15 : 0.87, part(event));
    }
  }, { passive: false });
  drawing.addEventListener("pointerdown", (event) => {
    drag = { at: part(event), from: view ?? { x: 0, y: 0, ...size } };
  });
  drawing.addEventListener("pointermove", (event) => {
    if (drag === null || event.buttons !== 1) {
      return;
    }
    const at = part(event);
    view = { ...drag.from, x: drag.from.x - (at.x - drag.at.x) * drag.from.width, y: drag.from.y - (at.y - drag.at.y) * drag.from.height };
    look();
  });
  window.addEventListener("pointerup", () => {
    drag = null;
  });
  const tools = h("div", { class: "tools" }, button("+", "Enlarge", () => zoom(0.7)), button("−", "Make smaller", () => zoom(1.4)),
    button("⤢", "Show all", () => {
      view = null;
      look();
    }));
  return {
    box: h("div", { class: "canvas-box" }, tools, drawing),
    drawing,
    resize(width, height) {
      size = { width, height };
      look();
    },
  };
}
