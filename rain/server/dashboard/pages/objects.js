// The data objects of a session.

import { api } from "./api.js";
import { button, h, show, table } from "./dom.js";
import { bytes, number } from "./format.js";
import { badge, link } from "./parts.js";

const ROWS = 200;
const SPEC = ["Object", "Label", "Type", "Content type"];
const LIFE = ["State", "Size", "Claimed", "Where", "Made by"];

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
    const titles = found.living ? [...SPEC, ...LIFE] : SPEC;
    show(list, table("Data objects", titles, found.objects.map((each) => [...spec(each), ...(found.living ? life(each, session) : [])]),
      "There are no data objects."));
  }
  return { refresh };
}

function spec(each) {
  return [each.id.join("/"), each.label ?? "", each.data_type, each.content_type ?? ""];
}

function life(each, session) {
  return [
    badge(each.state), bytes(each.size), each.claims.join(", "),
    [...each.where, ...(each.on_server ? ["server"] : [])].join(", "),
    each.producer ? h("a", { href: link(session, `task/${each.producer}`) }, `${session}/${each.producer}`) : "",
  ];
}
