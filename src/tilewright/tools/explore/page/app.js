// The page: what there is to choose above, the source on the left, what becomes of it on the right.

import { showCode, stageKey, stageOf } from "./code_view.js";
import { h, replace } from "./dom.js";
import { showChecks, showFacts, showTimes } from "./facts_view.js";
import { showGrid } from "./grid_view.js";
import { countLines, remark } from "./links.js";
import { showSource } from "./source_view.js";
import { change, onChange, readAddress, state } from "./state.js";

const TABS = { code: "Code", checks: "Checks", facts: "Resources", grid: "Grid", times: "Times" };

export function start(data) {
  readAddress(data);
  const header = h("header"), source = h("div", { class: "pane source", id: "source" });
  const tabs = h("nav", { class: "tabs" }), view = h("div", { class: "view", id: "view" });
  document.body.append(header,
    h("main", {}, source, h("div", { class: "pane" }, tabs, view)));

  const draw = (before) => {
    const kernel = data.kernels[state.kernel], target = kernel.targets[state.target];
    const other = !before || before.kernel !== state.kernel || before.target !== state.target;
    if (other) {
      showHeader(header, data, kernel);
      showSource(source, kernel, target);
    }
    const same = ["tab", "stage", "diff"].every((name) => before?.[name] === state[name]);
    if (other || !same) {
      showTabs(tabs);
      const top = view.scrollTop;
      showTab(view, kernel, target);
      const shown = state.tab === "code" && target.stages.length > 0;
      countLines(shown ? `lines of ${stageKey(target, stageOf(target))}` : "");
      view.scrollTop = before && before.tab === state.tab && before.stage === state.stage ? top : 0;
    }
    remark();
  };
  onChange(draw);
  draw(null);
  document.addEventListener("keydown", (event) => onKey(event, data));
}

function showTab(view, kernel, target) {
  if (state.tab === "grid") showGrid(view, kernel);
  else if (target.error !== null) showCode(view, target);
  else if (state.tab === "checks") showChecks(view, kernel, target);
  else if (state.tab === "facts") showFacts(view, kernel, target);
  else if (state.tab === "times") showTimes(view, target);
  else showCode(view, target);
}

function showHeader(header, data, kernel) {
  const options = data.kernels.map((one, k) =>
    h("option", { value: k, selected: k === state.kernel }, `${one.name}(${brief(one)})`));
  replace(header,
    h("h1", {}, data.title),
    h("label", {}, "kernel ", h("select", { id: "kernel",
      onchange: (event) => change({ kernel: Number(event.target.value), pinned: null }) }, options)),
    h("div", { class: "targets", role: "group", "aria-label": "target" }, kernel.targets.map((target, k) =>
      h("button", { class: k === state.target ? "on" : "", title: target.detail ?? null,
        onclick: () => change({ target: k, stage: nearest(kernel, k) }) }, target.name))),
    h("span", { class: "signature" }, signature(kernel)),
    h("span", { class: "faint made" }, `tilewright ${data.version}, ${data.made}`));
}

// The stage of another target that has the same name, if there is one.
function nearest(kernel, index) {
  const target = kernel.targets[index];
  return target.stages.some((_, k) => stageKey(target, k) === state.stage) ? state.stage : "";
}

function brief(kernel) {
  const types = kernel.parameters.map(({ type }) => type.replace(/ in tiles of /, " by "));
  return [...types, ...kernel.constants.map(([name, value]) => `${name}=${value}`)].join(", ");
}

function signature(kernel) {
  const typed = kernel.parameters.map(({ name, type }) => `${name}: ${type}`);
  const block = kernel.block ? [`blocks of ${kernel.block.join(" × ")} threads`] : [];
  return [...typed, ...kernel.constants.map(([name, value]) => `${name} = ${value}`), ...block].join(" · ");
}

function showTabs(tabs) {
  replace(tabs, Object.entries(TABS).map(([name, title]) =>
    h("button", { class: state.tab === name ? "on" : "", id: `tab-${name}`, onclick: () => change({ tab: name }) }, title)),
    h("span", { class: "faint keys" }, "← → stages · d changes · 1–5 tabs · click pins a line"));
}

function onKey(event, data) {
  if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT/.test(event.target.tagName)) return;
  const target = data.kernels[state.kernel].targets[state.target];
  const tab = Object.keys(TABS)[Number(event.key) - 1];
  if (tab) change({ tab });
  else if (event.key === "d" && state.tab === "code") change({ diff: !state.diff });
  else if (event.key === "Escape") change({ pinned: null });
  else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && state.tab === "code" && target.stages.length) {
    const step = event.key === "ArrowRight" ? 1 : -1;
    const index = Math.max(0, Math.min(target.stages.length - 1, stageOf(target) + step));
    change({ stage: stageKey(target, index) });
  } else return;
  event.preventDefault();
}

start(JSON.parse(document.getElementById("data").textContent));
