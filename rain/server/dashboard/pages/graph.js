// The task graph: each task while they are few, otherwise one box for each name.

import { api } from "./api.js";
import { canvas } from "./canvas.js";
import { h, s, show } from "./dom.js";
import { number } from "./format.js";
import { link } from "./parts.js";

const LEAST = { width: 900, height: 420 }; // so that little is not drawn large
const STEP = { task: { x: 90, y: 34 }, group: { x: 250, y: 96 } };

export function graph(root, session) {
  const board = canvas("The task graph");
  const note = h("p", { class: "quiet" });
  root.append(note, board.box, legend());
  async function refresh() {
    const found = await api("graph", { session });
    show(note, found.single ? "Every task (circle) and data object (square)." : "Tasks by name: there are too many to draw each of them.",
      found.hidden ? ` ${number(found.hidden)} names with fewer tasks are left out.` : "", " Drag to move; + and − change the size.");
    draw(board, found, session);
  }
  return { refresh };
}

function legend() {
  return h("p", { class: "legend-row" }, ["waiting", "running", "finished", "failed", "skipped", "cancelled"].map((state) =>
    h("span", { class: "legend" }, h("i", { class: state, "aria-hidden": "true" }), state)));
}

function draw(board, found, session) {
  const least = found.single ? STEP.task : STEP.group;
  const tallest = Math.max(1, ...found.nodes.map((node) => node.row + 1));
  const layers = Math.max(1, ...found.nodes.map((node) => node.layer + 1));
  // A tall graph is made wider, so that it fills its frame.
  const step = { x: Math.min(Math.max(least.x, (1.6 * tallest * least.y) / layers), 3 * least.x), y: least.y };
  const rows = new Map();
  for (const node of found.nodes) {
    rows.set(node.layer, Math.max(rows.get(node.layer) ?? 0, node.row + 1));
  }
  const size = { width: Math.max(layers * step.x, LEAST.width), height: Math.max(tallest * step.y, LEAST.height) };
  const left = (size.width - layers * step.x) / 2;
  const top = (node) => (size.height - rows.get(node.layer) * step.y) / 2;
  const places = new Map(found.nodes.map((node) => [node.id, {
    x: left + (node.layer + 0.5) * step.x, y: top(node) + (node.row + 0.5) * step.y,
  }]));
  board.resize(size.width, size.height);
  const heaviest = Math.max(1, ...found.links.map(([, , many]) => many));
  show(board.drawing,
    s("g", {}, found.links.filter(([from, to]) => places.has(from) && places.has(to)).map(([from, to, many]) =>
      s("path", { class: "link", d: curve(places.get(from), places.get(to), found.single ? 8 : 95), "stroke-width": found.single ? 1.3 : (1 + 3 * (many / heaviest)).toFixed(1) },
        s("title", {}, `${number(many)} inputs`)))),
    s("g", {}, found.nodes.map((node) => (found.single ? single : group)(node, places.get(node.id), session))));
}

function curve(from, to, half) {
  if (from === to) {
    return `M${from.x - 30} ${from.y - 34} C${from.x - 30} ${from.y - 70} ${from.x + 30} ${from.y - 70} ${from.x + 30} ${from.y - 34}`;
  }
  const [x1, x2] = to.x >= from.x ? [from.x + half, to.x - half] : [from.x - half, to.x + half];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${from.y} C${middle} ${from.y} ${middle} ${to.y} ${x2} ${to.y}`;
}

function single(node, place, session) {
  const title = s("title", {}, `${node.kind} ${session}/${node.id} ${node.name}: ${node.state}`);
  if (node.kind === "object") {
    return s("rect", { class: `node ${node.state}`, x: place.x - 5, y: place.y - 5, width: 10, height: 10 }, title);
  }
  return s("a", { href: link(session, `task/${node.id}`), "aria-label": `task ${node.id} ${node.name}, ${node.state}` },
    s("circle", { class: `node ${node.state}`, cx: place.x, cy: place.y, r: 9 }, title));
}

function group(node, place, session) {
  let x = place.x - 88;
  const bars = ["finished", "running", "failed", "skipped", "cancelled", "waiting"].filter((state) => node[state]).map((state) => {
    const width = (node[state] / node.total) * 176;
    const bar = s("rect", { class: `node ${state}`, x: x.toFixed(1), y: place.y + 8, width: width.toFixed(1), height: 10 });
    x += width;
    return bar;
  });
  const parts = ["finished", "running", "waiting", "failed", "skipped", "cancelled"].filter((state) => node[state]).map((state) => `${number(node[state])} ${state}`);
  return s("a", { href: link(session, "tasks", { name: node.name }), "aria-label": `${node.name}: ${parts.join(", ")}` },
    s("title", {}, `${node.name}: ${parts.join(", ")}`),
    s("rect", { class: "box", x: place.x - 95, y: place.y - 34, width: 190, height: 62, rx: 8 }),
    s("text", { x: place.x - 86, y: place.y - 14, class: "name" }, short(node.name)),
    s("text", { x: place.x - 86, y: place.y + 2, class: "small" }, `${number(node.finished)} of ${number(node.total)}`), bars);
}

function short(name) {
  return name.length > 24 ? `${name.slice(0, 23)}…` : name;
}
