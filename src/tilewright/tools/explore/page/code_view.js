// The stages of a compilation: a strip of their names, and the text of one of them.

import { differences, isEqual, unnumbered } from "./diff.js";
import { h, replace } from "./dom.js";
import { forget, link } from "./links.js";
import { change, state } from "./state.js";

export function stageOf(target) {
  const named = target.stages.findIndex((_, k) => stageKey(target, k) === state.stage);
  if (named >= 0) return named;
  const usual = ["passes", "tileirdisasm"].map((name) => target.stages.findIndex((s) => s.name === name));
  return Math.max(usual[0], 0);
}

// The name of a stage; a pass that runs again has a number as well.
export function stageKey(target, index) {
  const { name } = target.stages[index];
  const before = target.stages.slice(0, index).filter((stage) => stage.name === name).length;
  return before ? `${name} ${before + 1}` : name;
}

export function showCode(place, target) {
  forget("text");
  if (!target.stages.length) {
    replace(place, target.error ? h("pre", { class: "error" }, target.error) : null);
    return;
  }
  const index = stageOf(target);
  const stage = target.stages[index];
  const before = previous(target, index);
  const compared = state.diff && before !== null;
  const code = h("div", { class: `lines code${compared ? " compared" : ""}` });
  replace(place, strip(target, index),
    h("div", { class: "caption" },
      h("span", {}, stage.title),
      h("span", { class: "faint" }, `${stage.lines.length} lines`),
      before === null ? null : h("label", {}, h("input", {
        type: "checkbox", checked: state.diff, id: "diff",
        onchange: (event) => change({ diff: event.target.checked }),
      }), ` what ${stage.name} changed`)),
    code);
  const rows = compared ? changed(before, stage) : plain(stage);
  code.append(...rows);
}

function strip(target, shown) {
  const buttons = target.stages.map((stage, k) => {
    const before = previous(target, k);
    const idle = before !== null && isEqual(unnumbered(before.lines), unnumbered(stage.lines));
    return h("button", {
      class: `stage ${stage.kind}${k === shown ? " on" : ""}${idle ? " idle" : ""}`,
      title: `${stage.title}, ${stage.milliseconds} ms${idle ? "; it changed nothing here" : ""}`,
      onclick: () => change({ stage: stageKey(target, k) }),
    }, stageKey(target, k));
  });
  const absent = target.absent.map(([name, why]) =>
    h("button", { class: "stage absent", disabled: true, title: why }, name));
  const reasons = target.absent.map(([name, why]) => h("p", { class: "faint" }, `no ${name}: ${why}`));
  return h("div", {}, h("nav", { class: "strip" }, buttons, absent), reasons);
}

function previous(target, index) {
  const stage = target.stages[index], before = target.stages[index - 1];
  return before && stage.kind === "ir" && before.kind === "ir" ? before : null;
}

function plain(stage) {
  return stage.lines.map((text, k) => row(text, stage.places[k], String(k + 1), ""));
}

function changed(before, stage) {
  const steps = differences(unnumbered(before.lines), unnumbered(stage.lines));
  return steps.map(({ kind, left, right }) => kind === "removed"
    ? row(before.lines[left], before.places[left], "−", "removed")
    : row(stage.lines[right], stage.places[right], kind === "added" ? "+" : String(right + 1), kind));
}

function row(text, places, number, kind) {
  const line = h("div", { class: `line ${kind}` },
    h("span", { class: "number" }, number), h("code", {}, text || " "));
  return link(line, places, "text");
}
