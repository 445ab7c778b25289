// Lines of the source and of all texts refer to each other by numbers. Here they get their colours,
// and the ones under the mouse, or pinned by a click, are marked everywhere.

import { change, state } from "./state.js";

const marked = { source: new Map(), text: new Map() };
let hovered = [];

const HUES = [212, 28, 140, 330, 262, 55, 178, 4, 90, 300, 195, 38];

export function hue(reference) {
  return HUES[reference % HUES.length];
}

// Makes an element a line that refers to others: `where` is `source` or `text`.
export function link(element, references, where, tint = true) {
  if (!references.length) return element;
  element.classList.add("linked");
  if (tint) {
    element.classList.add("tinted");
    element.style.setProperty("--hue", hue(references[0]));
  }
  for (const reference of references) {
    const known = marked[where].get(reference);
    if (known) known.push(element);
    else marked[where].set(reference, [element]);
  }
  element.addEventListener("mouseenter", () => hover(references));
  element.addEventListener("mouseleave", () => hover([]));
  element.addEventListener("click", () => {
    const selected = String(getSelection());
    if (selected) return; // somebody copies a text
    const [first] = references;
    change({ pinned: state.pinned === first ? null : first });
    if (state.pinned !== null) reveal(first, where === "source" ? "text" : "source");
  });
  return element;
}

export function forget(where) {
  marked[where].clear();
}

// Writes beside each line of the source how many lines of the text come from it.
export function countLines(unit) {
  for (const element of document.querySelectorAll(".count")) {
    const found = marked.text.get(Number(element.dataset.line))?.length ?? 0;
    element.textContent = unit && found ? String(found) : "";
    element.title = unit && found ? `${found} ${unit}` : "";
  }
}

function hover(references) {
  hovered = references;
  remark();
}

export function remark() {
  for (const element of document.querySelectorAll(".marked, .pinned"))
    element.classList.remove("marked", "pinned");
  for (const places of Object.values(marked)) {
    for (const reference of hovered)
      for (const element of places.get(reference) ?? []) element.classList.add("marked");
    for (const element of places.get(state.pinned) ?? []) element.classList.add("pinned");
  }
}

export function reveal(reference, where) {
  const [first] = marked[where].get(reference) ?? [];
  first?.scrollIntoView({ block: "center", behavior: "auto" });
}
