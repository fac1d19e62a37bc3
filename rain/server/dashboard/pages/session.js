// One session: its head, and the page of it that was chosen.

import { api } from "./api.js";
import { facts, h, show } from "./dom.js";
import { graph } from "./graph.js";
import { clock, duration, number, percent } from "./format.js";
import { objects } from "./objects.js";
import { badge, link, pretty, progress } from "./parts.js";
import { summary } from "./summary.js";
import { tasks } from "./tasks.js";
import { timeline } from "./timeline.js";

const PAGES = { summary, tasks, graph, timeline, objects };

export function session(root, number, name, query) {
  const head = h("div");
  const body = h("div");
  const page = (PAGES[name] ?? summary)(body, number, query);
  root.append(head, h("nav", { class: "tabs", "aria-label": "Pages of the session" },
    [...Object.keys(PAGES).map((each) => [each, link(number, each)]), ["events", `#/events?session=${number}`]].map(([each, href]) =>
      h("a", { href, "aria-current": each === name ? "page" : null }, each[0].toUpperCase() + each.slice(1)))), body);
  async function refresh() {
    const seen = await api("session", { session: number });
    show(head, ...about(seen));
    await page.refresh(seen);
  }
  return { title: `Session ${number}`, refresh };
}

function about(seen) {
  const { counts } = seen;
  return [
    h("p", { class: "crumbs" }, h("a", { href: "#/sessions" }, "Sessions"), ` / ${seen.session}`),
    h("h1", {}, seen.name || `Session ${seen.session}`, " ", badge(seen.status)),
    seen.created ? null : h("p", { class: "notice" }, "The event log knows no such session, or not any more."),
    seen.read < 1 ? h("p", { class: "notice" }, `Reading the event log: ${percent(seen.read)}`) : null,
    progress(counts.finished, seen.status === "open" ? counts.running : 0, counts.failed, seen.tasks, counts.skipped, counts.cancelled),
    seen.message ? h("p", { class: "failure" }, seen.message) : null,
    seen.failed_task ? h("p", {}, "Failed: ", h("a", { href: link(seen.session, `task/${seen.failed_task}`) }, `task ${seen.session}/${seen.failed_task}`)) : null,
    facts([
      ["Opened", clock(seen.created)], ["Closed", clock(seen.closed)], ["Duration", duration(seen.seconds)], ["Client", seen.client],
      ["Submissions", number(seen.submissions)], ["Tasks", number(seen.tasks)], ["Data objects", number(seen.objects)],
    ]),
    seen.user ? h("details", {}, h("summary", {}, "What the user noted"), pretty(seen.user)) : null,
  ];
}
