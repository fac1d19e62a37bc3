// How far a session is: over time, and by the names of its tasks.

import { chart } from "./chart.js";
import { h, show } from "./dom.js";
import { duration, number, percent } from "./format.js";
import { link } from "./parts.js";

export function summary(root, session) {
  const lines = h("div");
  const groups = h("div");
  root.append(lines, h("h2", {}, "By name"), groups);
  async function refresh(seen) {
    const { times, unfinished, running } = seen.over_time;
    const span = { since: times[0], until: times[times.length - 1], spell: (value) => `${number(value)} tasks` };
    const line = (name, values) => ({ name, times, values });
    show(lines, h("div", { class: "grid-of-charts" },
      chart("To be done", [line("left", unfinished)], span), chart("At a time", [line("running", running)], span)));
    show(groups, tree(session, seen.groups));
  }
  return { refresh };
}

/** Names are paths: "load/read" stands below "load". */
function tree(session, groups) {
  const top = { children: new Map(), own: null, name: "" };
  for (const group of groups) {
    let node = top;
    group.name.split("/").forEach((part, depth, parts) => {
      if (!node.children.has(part)) {
        node.children.set(part, { children: new Map(), own: null, name: parts.slice(0, depth + 1).join("/"), part });
      }
      node = node.children.get(part);
    });
    node.own = group;
  }
  const rows = [];
  walk(top, 0, session, rows);
  if (!rows.length) {
    return h("p", { class: "quiet" }, "There are no tasks yet.");
  }
  const titles = ["Name", "Tasks", "Waiting", "Running", "Done", "Failed", "Skipped", "Cancelled", "Mean ± deviation", "Sum", "Share"];
  return h("div", { class: "scroll", role: "region", "aria-label": "Tasks by name", tabindex: 0 },
    h("table", { class: "groups" }, h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, rows)));
}

function walk(node, depth, session, rows) {
  for (const child of node.children.values()) {
    const sum = total(child);
    const only = child.own && !child.children.size ? child.own : null;
    rows.push(h("tr", {},
      h("th", { scope: "row", class: `depth${Math.min(depth, 6)}` }, h("a", { href: link(session, "tasks", { name: child.name }) }, child.part || "(no name)")),
      ["total", "waiting", "running", "finished", "failed", "skipped", "cancelled"].map((key) => h("td", { class: key === "failed" && sum[key] ? "trouble" : "count" },
        sum[key] ? h("a", { href: link(session, "tasks", { name: child.name, state: key === "total" ? "" : key }) }, number(sum[key])) : "0")),
      h("td", {}, only && only.mean !== null ? `${duration(only.mean)} ± ${duration(only.deviation)}` : ""),
      h("td", {}, sum.seconds ? duration(sum.seconds) : ""),
      h("td", { class: `heat heat${Math.min(Math.floor(sum.share * 10), 9)}` }, sum.seconds ? percent(sum.share) : "")));
    walk(child, depth + 1, session, rows);
  }
}

function total(node) {
  const sum = { total: 0, waiting: 0, running: 0, finished: 0, failed: 0, skipped: 0, cancelled: 0, seconds: 0, share: 0, ...node.own };
  for (const child of node.children.values()) {
    const below = total(child);
    for (const key of ["total", "waiting", "running", "finished", "failed", "skipped", "cancelled", "seconds", "share"]) {
      sum[key] += below[key];
    }
  }
  return sum;
}
