// The sessions, open and over.

import { api } from "./api.js";
import { h, show, table } from "./dom.js";
import { clock, duration } from "./format.js";
import { badge, link, progress } from "./parts.js";

export function sessions(root) {
  const list = h("div");
  root.append(h("h1", {}, "Sessions"), list);
  async function refresh() {
    const found = (await api("sessions")).sessions;
    const users = found.some((session) => session.user);
    const whose = users ? ["User"] : [];
    show(list, table("Sessions", ["Session", ...whose, "Name", "Status", "Client", "Opened", "Duration", "Done", ""], found.map((session) => [
      h("a", { href: link(session.session) }, session.session),
      ...(users ? [session.user || "(owner)"] : []),
      h("a", { href: link(session.session) }, session.name || "(no name)"),
      badge(session.status), session.client, clock(session.created),
      duration((session.closed ?? Date.now() / 1000) - session.created),
      session.tasks === null ? "" : progress(session.tasks - session.unfinished, 0, 0, session.tasks),
      { class: "trouble", value: lastLine(session.message || session.held_up) },
    ]), "The event log has no session yet."));
  }
  return { title: "Sessions", refresh };
}

/** The last line of a traceback: the exception itself. */
function lastLine(text) {
  return text.trim().split("\n").pop().slice(0, 200);
}
