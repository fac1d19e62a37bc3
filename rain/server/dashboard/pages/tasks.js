// The tasks of a session as a table.

import { api } from "./api.js";
import { button, choice, h, show, table } from "./dom.js";
import { clock, duration, number } from "./format.js";
import { badge, link } from "./parts.js";

const STATES = [["", "any"], ["waiting", "waiting"], ["running", "running"], ["finished", "finished"], ["failed", "failed"], ["skipped", "skipped"], ["cancelled", "cancelled"]];
const ORDERS = [["number", "in order"], ["longest", "longest first"], ["newest", "newest first"]];
const ROWS = 200;

export function tasks(root, session, query) {
  const asked = { session, name: query.get("name") ?? "", state: query.get("state") ?? "", order: query.get("order") ?? "number", skip: 0 };
  const list = h("div");
  const count = h("span", { class: "quiet", role: "status" });
  const name = h("input", { type: "text", value: asked.name, placeholder: "any", size: 20 });
  const change = (part) => {
    Object.assign(asked, { skip: 0 }, part);
    refresh();
  };
  name.addEventListener("change", () => change({ name: name.value }));
  root.append(h("div", { class: "row filters" }, h("label", { class: "choice" }, "Name ", name),
    choice("State", STATES, asked.state, (state) => change({ state })),
    choice("Order", ORDERS, asked.order, (order) => change({ order })),
    button("‹", "Earlier tasks", () => change({ skip: Math.max(asked.skip - ROWS, 0) })),
    button("›", "Further tasks", () => change({ skip: asked.skip + ROWS })), count), list);

  async function refresh() {
    const found = await api("tasks", asked);
    if (asked.skip >= found.total && asked.skip) {
      asked.skip = Math.max(Math.floor((found.total - 1) / ROWS), 0) * ROWS;
    }
    show(count, found.tasks.length
      ? `${number(found.skipped + 1)} to ${number(found.skipped + found.tasks.length)} of ${number(found.total)}` : "none");
    show(list, table("Tasks", ["Task", "Name", "State", "Governor", "Started", "Duration", "Runs"], found.tasks.map((task) => [
      h("a", { href: link(session, `task/${task.task}`) }, `${session}/${task.task}`), task.name, badge(task.state), task.governor,
      clock(task.started), duration(task.seconds), task.runs > 1 ? { class: "trouble", value: task.runs } : task.runs || "",
    ]), "No task is like this."));
  }
  return { refresh };
}
