// Which page is shown, and how often it is redrawn.

import { h, show } from "./dom.js";
import { events } from "./events.js";
import { overview } from "./overview.js";
import { session } from "./session.js";
import { sessions } from "./sessions.js";
import { task } from "./task.js";

const BEAT = 1000; // milliseconds
const content = document.getElementById("content");
const pulse = document.getElementById("pulse");
let page = null;
let busy = false;

/** The address behind the #: its parts, and its query. */
function where() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query ?? "") };
}

function choose({ parts, query }, root) {
  if (parts[0] === "sessions") {
    return sessions(root);
  }
  if (parts[0] === "events") {
    return events(root, query.get("session") ?? "");
  }
  if (parts[0] === "session" && parts[2] === "task") {
    return task(root, Number(parts[1]), Number(parts[3]));
  }
  if (parts[0] === "session") {
    return session(root, Number(parts[1]), parts[2] ?? "summary", query);
  }
  return overview(root);
}

function go() {
  const place = where();
  if (location.hash === "#content") {
    return;
  }
  for (const link of document.querySelectorAll("nav[aria-label=Pages] a")) {
    const [, name] = link.getAttribute("href").split("/");
    const here = (place.parts[0] ?? "").replace(/^session$/, "sessions");
    link.toggleAttribute("aria-current", name === here);
  }
  const root = h("div");
  content.replaceChildren(root);
  page = choose(place, root);
  document.title = `${page.title} · Rain`;
  beat();
}

async function beat() {
  if (busy || document.hidden || page === null) {
    return;
  }
  busy = true;
  const shown = page;
  try {
    await shown.refresh();
    tell("", "live");
  } catch (error) {
    tell(error.message, "trouble");
  } finally {
    busy = false;
  }
  if (shown !== page) {
    beat();
  }
}

function tell(text, kind) {
  pulse.className = kind;
  show(pulse, text || "live");
}

window.addEventListener("hashchange", go);
document.addEventListener("visibilitychange", beat);
setInterval(beat, BEAT);
go();
