// Lines over time.

import { h, s } from "./dom.js";
import { clock } from "./format.js";

const WIDTH = 480;
const HEIGHT = 120;

/**
 * A chart of some lines: {name, times, values}. A value that is null is a gap. `spell` writes a
 * value with its unit; `most` is the highest value that there can be, if there is one.
 */
export function chart(title, lines, { since, until, spell, most = 0 }) {
  const values = lines.flatMap((line) => line.values.filter((value) => value !== null));
  const top = most || round(Math.max(2, ...values));
  const x = (time) => (((time - since) / (until - since || 1)) * WIDTH).toFixed(1);
  const y = (value) => (HEIGHT - (value / top) * HEIGHT).toFixed(1);
  const newest = (line) => {
    const value = line.values[line.values.length - 1] ?? null;
    return value === null ? "–" : spell(value);
  };
  const spoken = lines.map((line) => `${line.name} ${newest(line)}`).join(", ");
  return h("figure", { class: "chart" },
    h("figcaption", {}, h("b", {}, title), lines.map((line, place) =>
      h("span", { class: `legend line${place}` }, h("i", { "aria-hidden": "true" }), `${line.name} `, h("b", {}, newest(line))))),
    h("div", { class: "plot" }, h("div", { class: "values", "aria-hidden": "true" }, [1, 0.5, 0].map((part) => h("span", {}, spell(top * part)))),
    s("svg", { viewBox: `0 -4 ${WIDTH} ${HEIGHT + 8}`, preserveAspectRatio: "none", role: "img", "aria-label": `${title}: ${spoken}` },
      [0, 0.5, 1].map((part) => s("line", { class: "grid", x1: 0, x2: WIDTH, y1: HEIGHT * part, y2: HEIGHT * part })),
      lines.map((line, place) => s("path", { class: `line line${place}`, d: path(line, x, y) })))),
    h("div", { class: "axis", "aria-hidden": "true" }, [0, 0.5, 1].map((part) => h("span", {}, clock(since + (until - since) * part)))));
}

/** The next number above that is easy to read: 1, 2 or 5 and zeros. */
function round(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
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
