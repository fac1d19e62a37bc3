// Small things that several pages show.

import { h } from "./dom.js";
import { number, percent } from "./format.js";

const SIGNS = {
  open: "●", closed: "✓", failed: "✗", "server lost": "⚠",
  waiting: "○", ready: "○", assigned: "◐", running: "●", finished: "✓",
  unfinished: "○", removed: "–", skipped: "⊘", cancelled: "⊘",
};

/** A state as a word with a sign: colour is never the only hint. */
export function badge(state) {
  const kind = state.replace(" ", "-").replace("not_assigned", "waiting");
  return h("span", { class: `badge ${kind}` }, h("i", { "aria-hidden": "true" }, SIGNS[state] ?? "○"), " ", state.replace("_", " "));
}

/** How many tasks are done, running, failed, never to run, and cancelled. */
export function progress(done, running, failed, total, skipped = 0, cancelled = 0) {
  const text = `${number(done)} of ${number(total)}`;
  return h("span", { class: "progress" },
    h("progress", { max: Math.max(total, 1), value: done, "aria-label": text }),
    h("span", { class: "of" }, text, total ? ` · ${percent(done / total)}` : "",
      running ? ` · ${number(running)} running` : "", failed ? ` · ${number(failed)} failed` : "",
      skipped ? ` · ${number(skipped)} skipped` : "", cancelled ? ` · ${number(cancelled)} cancelled` : ""));
}

/** One large number with what it counts. */
export function card(value, label) {
  return h("div", { class: "card" }, h("b", {}, value), h("span", {}, label));
}

/** The address of a page of a session. */
export function link(session, page = "", query = {}) {
  const parts = Object.entries(query).filter(([, value]) => value !== "" && value != null);
  const text = new URLSearchParams(parts).toString();
  return `#/session/${session}${page ? `/${page}` : ""}${text ? `?${text}` : ""}`;
}

/** A value of JSON, as people can read it. */
export function pretty(value) {
  return h("pre", { tabindex: 0 }, JSON.stringify(value, null, 2));
}
