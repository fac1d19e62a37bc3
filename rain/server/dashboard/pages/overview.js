// The server, its governors and how busy they are.

import { api, ask } from "./api.js";
import { chart } from "./chart.js";
import { choice, h, show, table } from "./dom.js";
import { bytes, duration, number } from "./format.js";
import { card, link, progress } from "./parts.js";

const SPANS = [[5, "5 minutes"], [15, "15 minutes"], [60, "1 hour"], [360, "6 hours"], [1440, "1 day"], [10080, "1 week"]];
const EVERY = 5; // seconds between two load reports of a governor, about

export function overview(root) {
  let minutes = 15;
  let machines = null;
  let asked = 0;
  const head = h("div");
  const charts = h("div", { class: "grid-of-charts" });
  const note = h("p", { class: "quiet" });
  root.append(h("h1", {}, "Overview"), head, h("div", { class: "row" }, h("h2", {}, "Machines"),
    choice("The last", SPANS, minutes, (value) => {
      minutes = Number(value);
      asked = 0;
    })), note, charts);

  async function refresh() {
    const status = await ask("/status");
    show(head, ...summary(status));
    if (Date.now() - asked > EVERY * 1000) {
      asked = Date.now();
      machines = await api("machines", { minutes }).catch((error) => ({ trouble: error.message, governors: [], hidden: 0 }));
    }
    show(note, machines.trouble ?? (machines.governors.length ? "" : "No governor has told yet how busy it is."),
      machines.hidden ? ` ${machines.hidden} more governors are not drawn.` : "");
    show(charts, [...byMachine(machines.governors)].map(([host, governors]) => machine(host, governors, machines)));
  }
  return { title: "Overview", refresh };
}

function summary(status) {
  const cpus = status.governors.reduce((sum, governor) => sum + (governor.resources.cpus ?? 0), 0);
  const assigned = status.governors.reduce((sum, governor) => sum + governor.assigned, 0);
  return [
    h("div", { class: "cards" },
      card(number(status.governors.length), "governors"), card(number(cpus), "cpus"), card(number(status.clients), "clients"),
      card(number(status.sessions.length), "open sessions"), card(number(status.tasks), "tasks"),
      card(number(assigned), "tasks on governors"), card(number(status.objects), "data objects")),
    h("h2", {}, "Open sessions"),
    table("Open sessions", ["Session", "Name", "Done", "Objects", ""], status.sessions.map((session) => [
      h("a", { href: link(session.session) }, session.session), h("a", { href: link(session.session) }, session.name || "(no name)"),
      progress(session.tasks - session.unfinished, 0, 0, session.tasks), number(session.objects),
      { class: "trouble", value: session.failure || session.held_up },
    ]), "No session is open."),
    h("h2", {}, "Governors"),
    table("Governors", ["Governor", "Cpus", "Other resources", "Memory of tasks", "Tasks told", "Tasks queued", "Objects", "Heard", ""],
      status.governors.map((governor) => [governor.governor, governor.resources.cpus, others(governor.resources),
        bytes(governor.task_memory), number(governor.assigned), number(governor.queued), number(governor.objects), `${duration(governor.heard)} ago`,
        { class: "trouble", value: troubles(governor) }]),
      "There is no governor. Start one with: rain governor SERVER"),
    h("p", { class: "quiet" }, `Rain ${status.version}`),
  ];
}

/** What a governor lacks, the governors whose data cannot come to it on the direct way, and what compressing saves. */
function troubles(governor) {
  const ways = Object.entries(governor.closed_ways)
    .map(([other, why]) => h("div", {}, `cannot connect to ${other}: ${why}; its data comes through the server`));
  const sent = governor.sent_compressed
    ? [h("div", { class: "quiet" }, `has sent ${bytes(governor.sent_data)} to other machines, compressed to ${bytes(governor.sent_on_links)}`)] : [];
  return [trouble(governor), ...ways, ...sent];
}

function trouble(governor) {
  if (governor.away_why) {
    return `away for ${duration(governor.away)}: ${governor.away_why}`;
  }
  if (governor.state === "drains") {
    return "drains: it leaves when its tasks have ended and its data is elsewhere";
  }
  if (governor.rests) {
    return `rests for ${duration(governor.rests)}: ${governor.rests_why}`;
  }
  return governor.holds_back ? `tasks wait there: ${governor.holds_back}` : "";
}

function others(resources) {
  return Object.entries(resources).filter(([name]) => name !== "cpus")
    .map(([name, amount]) => `${name} ${name === "memory" ? bytes(amount) : amount}`).join(", ");
}

/** Governors by the host in their address: each one measures its whole machine. */
function byMachine(governors) {
  const machines = new Map();
  for (const governor of governors) {
    const host = governor.governor.slice(0, governor.governor.lastIndexOf(":"));
    machines.set(host, [...(machines.get(host) ?? []), governor]);
  }
  return machines;
}

function machine(host, governors, { since, until }) {
  const told = (governor) => governor.times[governor.times.length - 1] ?? 0;
  const newest = governors.reduce((best, governor) => (told(governor) > told(best) ? governor : best));
  const line = (name, values) => ({ name, times: newest.times, values });
  const percent = (value) => `${Math.round(value)} %`;
  const rate = (value) => `${bytes(value)}/s`;
  return h("section", { class: "machine", "aria-label": host },
    h("h3", {}, host, h("span", { class: "quiet" }, ` ${governors.map((governor) => governor.governor.slice(host.length)).join(" ")}`)),
    chart("Use", [line("cpu", newest.cpu), line("memory", newest.memory)], { since, until, spell: percent, most: 100 }),
    chart("Network", [line("received", newest.received), line("sent", newest.sent)], { since, until, spell: rate }));
}
