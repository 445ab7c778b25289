// The functions a kernel is made of, with marks for the checks of each line.

import { h, replace } from "./dom.js";
import { forget, link } from "./links.js";

const RANKS = ["proved", "at launch", "hoisted", "in place"];

export function showSource(place, kernel, target) {
  forget("source");
  const byLine = numbers(kernel);
  const checks = worst(target);
  replace(place, kernel.functions.map((one, index) => h("section", { class: "function" },
    h("h3", {}, `${one.file}:${one.first}`,
      one.library ? h("span", { class: "note" }, " of the library") : null),
    h("div", { class: "lines" }, painted(one.lines).map((code, k) => {
      const line = one.first + k;
      const reference = byLine.get(`${index}:${line}`);
      const placement = checks.get(reference);
      const row = h("div", { class: "line" },
        h("span", { class: "number" }, String(line)),
        h("span", { class: "count", "data-line": reference }),
        h("span", { class: `dot ${placement ? placement.replace(" ", "-") : "none"}`,
          title: placement ? `checks: ${placement}` : null }),
        h("code", {}, ...code));
      return reference === undefined ? row : link(row, [reference], "source");
    })))));
}

function numbers(kernel) {
  return new Map(kernel.references.map(([owner, line], number) => [`${owner}:${line}`, number]));
}

function worst(target) {
  const found = new Map();
  for (const check of target.checks ?? []) {
    const [line] = check.lines;
    const known = RANKS.indexOf(found.get(line));
    if (RANKS.indexOf(check.placement) > known) found.set(line, check.placement);
  }
  return found;
}

// Lines as parts with colours; a text in three quotes may go over several lines.
function painted(lines) {
  let quote = null;
  return lines.map((text) => {
    const begins = quote, found = text.match(/"""|\'\'\'/g) ?? [];
    for (const mark of found) quote = quote === null ? mark : mark === quote ? null : quote;
    return begins !== null || quote !== null ? [h("span", { class: "string" }, text)] : coloured(text);
  });
}

const WORDS = /(#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(def|return|for|in|if|else|elif|while|assert|with|as|not|and|or|is|None|True|False|lambda|break|continue|import|from)\b|\b(\d[\w.]*)|(@[\w.]+)/g;
const KINDS = ["comment", "string", "keyword", "figure", "decorator"];

// Python, coloured well enough for a glance.
export function coloured(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(WORDS)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    const kind = KINDS[match.slice(1).findIndex((group) => group !== undefined)];
    parts.push(h("span", { class: kind }, match[0]));
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}
