// Lines over time.

import { h, s } from "./dom.js";
import { clock } from "./format.js";

const WIDTH = 480;
const HEIGHT = 120;

/**
 * A chart of some lines: {name, times, values, now}; `now` is the text of the newest value. A value
 * that is null is a gap.
 */
export function chart(title, lines, { since, until, most = 0 }) {
  const values = lines.flatMap((line) => line.values.filter((value) => value !== null));
  const top = most || Math.max(1, ...values) * 1.05;
  const x = (time) => (((time - since) / (until - since || 1)) * WIDTH).toFixed(1);
  const y = (value) => (HEIGHT - (value / top) * HEIGHT).toFixed(1);
  const spoken = lines.map((line) => `${line.name} ${line.now}`).join(", ");
  return h("figure", { class: "chart" },
    h("figcaption", {}, h("b", {}, title), lines.map((line, place) =>
      h("span", { class: `legend line${place}` }, h("i", { "aria-hidden": "true" }), `${line.name} `, h("b", {}, line.now)))),
    s("svg", { viewBox: `0 -4 ${WIDTH} ${HEIGHT + 8}`, preserveAspectRatio: "none", role: "img", "aria-label": `${title}: ${spoken}` },
      [0.25, 0.5, 0.75].map((part) => s("line", { class: "grid", x1: 0, x2: WIDTH, y1: HEIGHT * part, y2: HEIGHT * part })),
      lines.map((line, place) => s("path", { class: `line line${place}`, d: path(line, x, y) }))),
    h("div", { class: "axis", "aria-hidden": "true" }, h("span", {}, clock(since)), h("span", {}, clock(until))));
}

function path(line, x, y) {
  let pen = "M";
  const parts = [];
  line.values.forEach((value, place) => {
    if (value === null) {
      pen = "M";
    } else {
      parts.push(`${pen}${x(line.times[place])} ${y(value)}`);
      pen = "L";
    }
  });
  // A single point would not be seen.
  return parts.length === 1 ? `${parts[0]} h 2` : parts.join("");
}
