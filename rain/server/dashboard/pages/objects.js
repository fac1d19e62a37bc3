// The data objects of a session.

import { api } from "./api.js";
import { button, h, show, table } from "./dom.js";
import { bytes, number } from "./format.js";
import { badge, link } from "./parts.js";

const ROWS = 200;

export function objects(root, session) {
  let skip = 0;
  const list = h("div");
  const count = h("span", { class: "quiet", role: "status" });
  const turn = (by) => {
    skip = Math.max(skip + by, 0);
    refresh();
  };
  root.append(h("div", { class: "row filters" }, button("‹", "Earlier objects", () => turn(-ROWS)), button("›", "Further objects", () => turn(ROWS)), count), list);

  async function refresh() {
    const found = await api("objects", { session, skip });
    if (skip >= found.total && skip) {
      skip = Math.max(Math.floor((found.total - 1) / ROWS), 0) * ROWS;
    }
    show(count, found.objects.length ? `${number(skip + 1)} to ${number(skip + found.objects.length)} of ${number(found.total)}` : "none",
      found.living ? "" : " · as they were submitted: the session is over");
    show(list, table("Data objects", ["Object", "Label", "Type", "Content type", "State", "Size", "Kept", "Needed by", "Where", "Made by"],
      found.objects.map((each) => [
        each.id.join("/"), each.label ?? "", each.data_type, each.content_type ?? "", each.state ? badge(each.state) : "", bytes(each.size),
        each.kept ? "kept" : "", each.needed_by ? `${number(each.needed_by)} tasks` : "",
        [...(each.where ?? []), ...(each.on_server ? ["server"] : [])].join(", "),
        each.producer ? h("a", { href: link(session, `task/${each.producer}`) }, `${session}/${each.producer}`) : "",
      ]), "There are no data objects."));
  }
  return { refresh };
}
