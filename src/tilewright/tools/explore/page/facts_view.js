// Tables: where checks went, what the code needs, how long each stage took.

import { h, replace, table } from "./dom.js";
import { forget, link } from "./links.js";

export function showChecks(place, kernel, target) {
  forget("text");
  const rows = target.checks.map((check) => link(h("tr", {},
    h("td", {}, badge(check.placement)),
    h("td", { class: "brief" }, position(kernel, check.lines)),
    h("td", {}, h("code", {}, source(kernel, check.lines))),
    h("td", { class: "brief" }, check.axis === null ? check.tensor : `${check.tensor}, axis ${check.axis}`),
    h("td", {}, h("code", {}, check.reason),
      check.advice ? h("p", { class: "advice" }, `to avoid it, ${check.advice}`) : null),
  ), check.lines, "text", false));
  const atLaunch = target.launch_checks.map((check) =>
    link(h("li", {}, h("code", {}, check.text)), check.lines, "text", false));
  replace(place,
    h("h2", {}, "Bounds checks"),
    rows.length ? table(["where", "line", "access", "of", "why"], rows)
      : h("p", { class: "faint" }, "The kernel has no access that needs a check."),
    h("p", { class: "faint" }, "proved: never made · at launch: once, by the host · hoisted: before a"
      + " loop · in place: at each access"),
    h("h2", {}, "Checked by the host before each launch"),
    atLaunch.length ? h("ul", {}, atLaunch) : h("p", { class: "faint" }, "nothing"));
}

function badge(placement) {
  return h("span", { class: `badge ${placement.replace(" ", "-")}` }, placement);
}

export function position(kernel, lines) {
  if (!lines.length) return "";
  const [owner, line] = kernel.references[lines[0]];
  return `${kernel.functions[owner].file}:${line}`;
}

function source(kernel, lines) {
  if (!lines.length) return "";
  const [owner, line] = kernel.references[lines[0]];
  const one = kernel.functions[owner];
  return (one.lines[line - one.first] ?? "").trim();
}

export function showFacts(place, kernel, target) {
  forget("text");
  const decisions = target.decisions.map((decision) =>
    link(h("li", {}, decision.text), decision.lines, "text", false));
  replace(place,
    h("div", { class: "cards" }, target.facts.map(([name, value]) =>
      h("div", { class: "card" }, h("b", {}, value), h("span", {}, name)))),
    target.verdict.length ? [h("h2", {}, "What the model of resources says"),
      h("ul", { class: "plain" }, target.verdict.map((line) => h("li", {}, line)))] : null,
    h("h2", {}, "What the compiler decided"),
    decisions.length ? h("ul", { class: "plain" }, decisions) : h("p", { class: "faint" }, "nothing"));
}

export function showTimes(place, target) {
  forget("text");
  const timed = target.stages.filter((stage) => stage.milliseconds > 0);
  const most = Math.max(...timed.map((stage) => stage.milliseconds), 1e-6);
  replace(place,
    h("h2", {}, `Compiled in ${target.milliseconds} ms, without any cache`),
    h("div", { class: "bars" }, timed.map((stage) => {
      const bar = h("div", { class: `bar ${stage.kind}` });
      bar.style.width = `${(100 * stage.milliseconds) / most}%`;
      return [h("span", {}, stage.name), h("div", {}, bar),
        h("span", { class: "figure" }, `${stage.milliseconds.toFixed(2)} ms`)];
    }).flat()));
}
