// Making and changing elements. Whatever comes from the server becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; children are elements, texts, numbers, lists of them, or nothing. */
export function h(name, attributes = {}, ...children) {
  return build(document.createElement(name), attributes, children);
}

/** An element of a drawing. */
export function s(name, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, name), attributes, children);
}

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) {
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }
  return element;
}

/** Makes the children of an element equal to these; equal ones stay, and keep the focus. */
export function show(parent, ...children) {
  patchChildren(parent, h("div", {}, ...children));
}

/** The same for a list whose items have ids and never change: an item keeps its element. */
export function showItems(parent, items) {
  const known = new Map([...parent.children].map((child) => [child.id, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const kept = known.get(item.id) ?? item;
    if (kept === place) {
      place = place.nextElementSibling;
    } else {
      parent.insertBefore(kept, place);
    }
  }
  while (place !== null) {
    const next = place.nextElementSibling;
    place.remove();
    place = next;
  }
}

function patchChildren(parent, wanted) {
  const fresh = [...wanted.childNodes];
  fresh.forEach((node, place) => {
    const old = parent.childNodes[place];
    if (old === undefined) {
      parent.append(node);
    } else if (!old.isEqualNode(node)) {
      patch(old, node);
    }
  });
  while (parent.childNodes.length > fresh.length) {
    parent.lastChild.remove();
  }
}

function patch(old, node) {
  if (old.nodeType === Node.TEXT_NODE && node.nodeType === Node.TEXT_NODE) {
    old.data = node.data;
  } else if (old.nodeType !== Node.ELEMENT_NODE || old.nodeName !== node.nodeName) {
    old.replaceWith(node);
  } else {
    for (const { name } of [...old.attributes]) {
      if (!node.hasAttribute(name) && name !== "open") {
        old.removeAttribute(name);
      }
    }
    for (const { name, value } of node.attributes) {
      if (old.getAttribute(name) !== value) {
        old.setAttribute(name, value);
      }
    }
    patchChildren(old, node);
  }
}

/** A table in a box that scrolls by itself; a cell is a child of h, or {class, value}. */
export function table(caption, titles, rows, empty) {
  if (!rows.length) {
    return h("p", { class: "quiet" }, empty);
  }
  return h("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: 0 },
    h("table", {},
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td",
        { class: cell?.class }, cell !== null && typeof cell === "object" && "value" in cell ? cell.value : cell)))))));
}

/** A list of terms; those without a value are left out. */
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
}

/** A choice that goes to `onChange` with the chosen value. */
export function choice(label, options, chosen, onChange) {
  const select = h("select", {}, options.map(([value, text]) =>
    h("option", { value, selected: String(value) === String(chosen) }, text)));
  select.addEventListener("change", () => onChange(select.value));
  return h("label", { class: "choice" }, label, " ", select);
}

/** A button. */
export function button(text, title, onClick) {
  const made = h("button", { type: "button", title, "aria-label": title }, text);
  made.addEventListener("click", onClick);
  return made;
}
