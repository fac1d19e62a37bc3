// What ran when on which governor.

import { api } from "./api.js";
import { button, h, s, show } from "./dom.js";
import { clock, duration, number } from "./format.js";
import { link } from "./parts.js";

const WIDTH = 1000;
const LANE = 12;
const TALL = 48;
const COLOURS = 10;

export function timeline(root, session) {
  let window_ = null; // since and until; null for all
  let seen = null;
  const note = h("p", { class: "quiet", role: "status" });
  const box = h("div", { class: "timeline" });
  const names = h("p", { class: "legend-row" });
  const change = (left, right) => {
    if (seen) {
      const span = seen.until - seen.since;
      window_ = { since: Math.max(seen.since + left * span, 0), until: seen.until + right * span };
      refresh();
    }
  };
  root.append(h("div", { class: "row filters" }, button("+", "Enlarge the time", () => change(0.25, -0.25)), button("−", "More time", () => change(-0.5, 0.5)),
    button("‹", "Earlier", () => change(-0.3, -0.3)), button("›", "Later", () => change(0.3, 0.3)), button("⤢", "All of the time", () => {
      window_ = null;
      refresh();
    })), note, box, names);
  brush(box, (from, to) => change(from, to - 1));

  async function refresh() {
    seen = await api("timeline", { session, ...window_ });
    show(note, `${clock(seen.since)} to ${clock(seen.until)} (${duration(seen.until - seen.since)}), ${number(seen.tasks)} tasks. `,
      seen.single ? "Each bar is a task." : "Too many for single bars: how many ran at a time. Select a shorter time to see them.",
      seen.hidden_governors ? ` ${number(seen.hidden_governors)} less busy governors are left out.` : "");
    show(box, seen.governors.length ? [...seen.governors.map((governor) => row(governor, seen, session)), axis(seen)] : h("p", { class: "quiet" }, "Nothing has run in this time."));
    const used = new Set(seen.governors.flatMap((governor) => (governor.bars ?? []).map((bar) => bar[4])));
    show(names, [...used].sort((a, b) => a - b).slice(0, 30).map((group) =>
      h("span", { class: "legend" }, h("i", { class: `colour${group % COLOURS}`, "aria-hidden": "true" }), seen.groups[group])));
  }
  return { refresh };
}

function row(governor, seen, session) {
  const x = (time) => ((time - seen.since) / (seen.until - seen.since)) * WIDTH;
  const height = governor.bars ? Math.max(governor.lanes, 1) * LANE : TALL;
  const content = governor.bars ? governor.bars.map((bar) => task(bar, x, seen, session)) : area(governor.busy);
  return h("section", { "aria-label": governor.governor },
    h("h3", {}, governor.governor, h("span", { class: "quiet" }, ` ${number(governor.tasks)} tasks, ${duration(governor.seconds)}`,
      governor.busy ? `, ${Math.max(...governor.busy).toFixed(1)} at a time at most` : "")),
    s("svg", { class: "lanes", viewBox: `0 0 ${WIDTH} ${height}`, height, preserveAspectRatio: "none", role: "group", "aria-label": `Tasks on ${governor.governor}` }, content));
}

function task([lane, start, end, number_, group, mark], x, seen, session) {
  const left = Math.max(x(start), 0);
  const width = Math.max(Math.min(x(end), WIDTH) - left, 0.8);
  return s("a", { href: link(session, `task/${number_}`), "aria-label": `task ${number_} ${seen.groups[group]}` },
    s("rect", { class: `bar colour${group % COLOURS} ${mark === 5 ? "failed" : mark === 3 ? "running" : ""}`, x: left.toFixed(2), y: lane * LANE + 1, width: width.toFixed(2), height: LANE - 2 },
      s("title", {}, `${seen.groups[group]} ${session}/${number_}: ${clock(start)}, ${duration(end - start)}${mark === 3 ? ", running" : mark === 5 ? ", failed" : ""}`)));
}

/** The times below the bars: the beginning, and the seconds since then. */
function axis({ since, until }) {
  return h("div", { class: "axis", "aria-hidden": "true" }, [0, 0.25, 0.5, 0.75, 1].map((part) =>
    h("span", {}, part ? `+${duration((until - since) * part)}` : clock(since))));
}

function area(busy) {
  const most = Math.max(1, ...busy);
  const step = WIDTH / busy.length;
  const points = busy.map((value, place) => `L${(place * step).toFixed(1)} ${(TALL - (value / most) * TALL).toFixed(1)}h${step.toFixed(1)}`);
  return s("path", { class: "area", d: `M0 ${TALL}${points.join("")}L${WIDTH} ${TALL}Z` });
}

/** A span of time is selected by dragging over it. */
function brush(box, onSelect) {
  let from = null;
  const part = (event) => {
    const lanes = box.querySelector(".lanes")?.getBoundingClientRect();
    return lanes ? Math.min(Math.max((event.clientX - lanes.left) / lanes.width, 0), 1) : 0;
  };
  box.addEventListener("pointerdown", (event) => {
    from = event.pointerType === "mouse" ? part(event) : null;
  });
  box.addEventListener("dragstart", (event) => event.preventDefault());
  box.addEventListener("pointerup", (event) => {
    const to = part(event);
    if (from !== null && Math.abs(to - from) > 0.01) {
      box.addEventListener("click", (click) => click.preventDefault(), { once: true, capture: true });
      onSelect(Math.min(from, to), Math.max(from, to));
    }
    from = null;
  });
}
