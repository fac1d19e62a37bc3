// The newest events, updated as they arrive.

import { api } from "./api.js";
import { choice, h, show, showItems } from "./dom.js";
import { number } from "./format.js";
import { link } from "./parts.js";

const MOST = 200;
const TYPES = ["GovernorNew", "GovernorRemoved", "GovernorRests", "GovernorDrains", "Monitoring", "SchedulerFailed", "ClientNew", "ClientRemoved", "ClientInvalidRequest", "SessionNew", "SessionClosed",
  "ClientSubmit", "ClientUnkeep", "TaskStarted", "TaskFinished", "TaskRunFailed", "TaskSecondRun", "TaskSkipped", "TaskCancelled", "DataObjectFinished", "EventsLost"];
const KINDS = [["", "all but monitoring"], ["*", "all"], ["sessions", "sessions and clients"], ["tasks", "tasks"], ["governors", "governors"], ...TYPES.map((type) => [type, type])];
const SETS = {
  "": TYPES.filter((type) => type !== "Monitoring"),
  sessions: ["ClientNew", "ClientRemoved", "ClientInvalidRequest", "SessionNew", "SessionClosed", "ClientSubmit", "ClientUnkeep"],
  tasks: ["TaskStarted", "TaskFinished", "TaskRunFailed", "TaskSecondRun", "TaskSkipped", "TaskCancelled"],
  governors: ["GovernorNew", "GovernorRemoved", "GovernorRests", "GovernorDrains", "Monitoring", "SchedulerFailed", "EventsLost"],
};

export function events(root, session) {
  let kind = "";
  let rows = [];
  let waiting = false;
  const list = h("ol", { class: "events" });
  const count = h("span", { class: "quiet", role: "status" });
  const asked = h("input", { type: "text", inputmode: "numeric", pattern: "[0-9]*", value: session, placeholder: "any", size: 6 });
  const words = h("input", { type: "search", placeholder: "words in the event", size: 20 });
  const still = h("input", { type: "checkbox" });
  const anew = () => {
    rows = [];
    refresh();
  };
  asked.addEventListener("change", anew);
  words.addEventListener("input", draw);
  still.addEventListener("change", () => {
    waiting = still.checked;
  });
  root.append(h("h1", {}, "Events"), h("div", { class: "row filters" },
    choice("Type", KINDS, kind, (value) => {
      kind = value;
      anew();
    }), h("label", { class: "choice" }, "Session ", asked), h("label", { class: "choice" }, "Containing ", words),
    h("label", { class: "choice" }, still, " hold still"), count), list);

  function draw() {
    const text = words.value.toLowerCase();
    const fitting = rows.filter((row) => !text || row.text.toLowerCase().includes(text));
    show(count, `the newest ${number(fitting.length)}`);
    showItems(list, fitting.map(entry));
  }
  async function refresh() {
    if (waiting) {
      return;
    }
    const query = { after: rows.length ? rows[0].id : "", types: types(), session: /^[0-9]+$/.test(asked.value) ? asked.value : "" };
    rows = [...(await api("events", query)).events, ...rows].slice(0, MOST);
    draw();
  }
  function types() {
    return kind === "*" ? "" : (SETS[kind] ?? [kind]).join(",");
  }
  return { title: "Events", refresh };
}

function entry(row) {
  const rest = row.letters - row.text.length;
  return h("li", { id: `event${row.id}` }, h("details", {}, h("summary", {}, h("time", { datetime: row.time }, row.time.slice(11, 23)), " ",
    h("b", { class: row.trouble ? "trouble" : null }, row.type), " ", row.session ? h("a", { href: link(row.session) }, `session ${row.session}`) : "", " ",
    h("span", { class: "quiet" }, row.about)), h("pre", {}, row.text, rest > 0 ? ` … and ${number(rest)} more letters` : "")));
}
