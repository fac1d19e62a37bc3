// One task: what it is, its state and the reason for it, and what has happened to it.

import { api } from "./api.js";
import { facts, h, show, table } from "./dom.js";
import { bytes, clock, duration } from "./format.js";
import { badge, link, pretty } from "./parts.js";

export function task(root, session, number) {
  const body = h("div");
  root.append(body);
  async function refresh() {
    show(body, ...about(await api("task", { session, task: number })));
  }
  return { title: `Task ${session}/${number}`, refresh };
}

function about({ session, task, spec, story, now }) {
  const end = story.findLast((entry) => entry.event !== "TaskSecondRun");
  const last = end?.info ?? {};
  const state = now?.state ?? stateAfter(end);
  const printed = last.logs || now?.printed;
  return [
    h("p", { class: "crumbs" }, h("a", { href: "#/sessions" }, "Sessions"), " / ", h("a", { href: link(session) }, session), " / ",
      h("a", { href: link(session, "tasks") }, "tasks"), ` / ${task}`),
    h("h1", {}, spec.name || spec.task_type, " ", badge(state)),
    now ? h("p", { class: "why" }, now.why) : null,
    facts([
      ["Task", `${session}/${task}`], ["Type", spec.task_type], ["Resources", Object.entries(spec.resources ?? {}).map(([name, amount]) => `${name} ${amount}`).join(", ")],
      ["Priority", spec.priority],
      ["Memory", now?.memory ? `${bytes(now.memory.now)} now, ${bytes(now.memory.peak)} at most so far; ${bytes(now.memory.mapped)} of its inputs mapped` : ""],
      ["Governor", now?.governor || last.governor], ["Planned on", now?.planned_on],
      ["Started", clock(seconds(last.start_time))], ["Duration", duration(last.duration)],
    ]),
    last.cache || now?.cache ? h("p", { class: "why" }, `Cache: ${last.cache || now.cache}`) : null,
    last.error ? [h("h2", {}, "Error"), h("pre", { class: "failure", tabindex: 0 }, last.error)] : null,
    printed ? [h("h2", {}, last.logs ? "Printed" : "Printed so far"), h("pre", { tabindex: 0 }, printed)] : null,
    last.debug ? [h("h2", {}, "Debug"), h("pre", { tabindex: 0 }, last.debug)] : null,
    last.user ? [h("h2", {}, "What the task noted"), pretty(last.user)] : null,
    now?.runs.length ? [h("h2", {}, "Runs"), runs(now.runs)] : null,
    now?.second_run ? [h("h2", {}, "Second run"), runs([now.second_run])] : null,
    h("h2", {}, "What has happened"),
    table("What has happened", ["When", "Event", "Governor", "Started", "Duration", ""], story.map((entry) => [
      clock(entry.time), entry.event === "TaskSecondRun" ? `second run ${entry.info.state}` : entry.event, entry.info.governor ?? "", clock(seconds(entry.info.start_time)), duration(entry.info.duration),
      { class: "trouble", value: (entry.info.error ?? entry.info.error_msg ?? "").trim().split("\n").pop() },
    ]), "It has not started yet."),
    h("h2", {}, "Inputs"), objects(session, now?.inputs ?? spec.inputs ?? [], "It has no inputs."),
    h("h2", {}, "Outputs"), objects(session, now?.outputs ?? spec.outputs ?? [], "It has no outputs."),
    spec.config === undefined ? null : [h("h2", {}, "Configuration"), pretty(spec.config)],
    spec.user === undefined ? null : [h("h2", {}, "What the user noted"), pretty(spec.user)],
  ];
}

/** The state of a task whose last event is this one. */
function stateAfter(entry) {
  switch (entry?.event) {
    case "TaskStarted":
      return "running";
    case "TaskFinished":
      return entry.info.error ? "failed" : "finished";
    case "TaskSkipped":
      return "skipped";
    case "TaskCancelled":
      return "cancelled";
    default:
      return "waiting";
  }
}

function seconds(text) {
  return text ? Date.parse(text) / 1000 : 0;
}

function runs(list) {
  return table("Runs", ["Run", "Governor", "State", "Why", "Told", "Started", "Duration", ""], list.map((run) => [
    run.number, run.governor, badge(run.state), [run.cause, run.ending].filter(Boolean).join(": "), clock(run.told), clock(run.started ?? 0), duration(run.seconds),
    { class: "trouble", value: run.error.trim().split("\n").pop() },
  ]));
}

function objects(session, list, empty) {
  // The spec of a task names its outputs by their ids alone.
  const described = list.map((each) => (Array.isArray(each) ? { id: each } : each));
  return table("Data objects", ["Object", "Label", "State", "Size", "Where", "Made by"], described.map((each) => [
    each.id.join("/"), each.label ?? "", each.state ? badge(each.state) : "", bytes(each.size), (each.where ?? []).join(", "),
    each.producer ? h("a", { href: link(session, `task/${each.producer}`) }, `${session}/${each.producer}`) : "",
  ]), empty);
}
