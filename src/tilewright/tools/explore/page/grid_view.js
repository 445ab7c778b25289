// The blocks of a launch, and what each of them reads and writes, as the interpreter has seen it.

import { h, replace, svg, table } from "./dom.js";
import { position } from "./facts_view.js";
import { forget, link } from "./links.js";

const WIDE = 300, HIGH = 230, LEAST = 26, CELL = 20;
const MOST_ZOOM = 8; // how much larger than at the scale of all tensors a small one is drawn
const VERBS = ["reads", "writes", "updates"];
const chosen = { kernel: null, block: 0, step: null };

export function showGrid(place, kernel) {
  forget("text");
  const { grid } = kernel;
  if (chosen.kernel !== kernel) Object.assign(chosen, { kernel, block: 0, step: null });
  if (!grid.blocks.length) {
    replace(place, h("h2", {}, `Grid ${grid.grid.join(" × ")}`),
      h("p", { class: "faint" }, grid.why || "no block accesses a tensor"));
    return;
  }
  const again = (changes) => {
    Object.assign(chosen, changes);
    showGrid(place, kernel);
  };
  const steps = grid.accesses.filter(([block]) => block === chosen.block);
  const shown = chosen.step === null ? steps : steps.slice(chosen.step, chosen.step + 1);
  replace(place,
    h("div", { class: "grid" },
      h("div", { class: "blocks" },
        h("h2", {}, `Grid ${grid.grid.join(" × ")}`),
        blocks(grid, again),
        h("p", { class: "faint" }, `block (${grid.blocks[chosen.block].join(", ")})`),
        grid.why ? h("p", { class: "faint" }, grid.why) : null,
        legend()),
      h("div", { class: "tensors" }, pictures(grid, shown))),
    stepper(steps, again),
    accesses(kernel, grid, steps, again));
}

// Blocks as cells: two axes as rows and columns, a single axis in rows of equal length.
function blocks(grid, again) {
  const [rows, columns] = layout(grid.grid);
  const size = Math.max(5, Math.min(CELL, Math.floor(WIDE / 2 / columns), Math.floor(HIGH / rows)));
  const picture = svg("svg", { width: columns * size, height: rows * size, class: "map", role: "group" });
  grid.blocks.forEach((block, k) => {
    const [row, column] = cell(grid.grid, block, columns);
    const one = svg("rect", {
      x: column * size + 0.5, y: row * size + 0.5, width: size - 1, height: size - 1, rx: Math.min(3, size / 4),
      class: k === chosen.block ? "block on" : "block",
      onclick: () => again({ block: k, step: null }),
      onmouseenter: (event) => {
        if (event.buttons) again({ block: k, step: null });
      },
    }, svg("title", {}, `block (${block.join(", ")})`));
    picture.append(one);
  });
  return picture;
}

function layout(grid) {
  const axes = grid.map((n, k) => k).filter((k) => grid[k] > 1);
  if (axes.length <= 1) {
    const count = grid.reduce((a, b) => a * b, 1);
    const columns = Math.min(count, Math.max(8, Math.ceil(Math.sqrt(count))));
    return [Math.ceil(count / columns), columns];
  }
  return [grid[0] * grid.slice(2).reduce((a, b) => a * b, 1), grid[1]];
}

function cell(grid, block, columns) {
  const axes = grid.map((n, k) => k).filter((k) => grid[k] > 1);
  if (axes.length <= 1) {
    const number = axes.length ? block[axes[0]] : 0;
    return [Math.floor(number / columns), number % columns];
  }
  let row = 0;
  for (let k = 2; k < grid.length; k += 1) row = row * grid[k] + block[k];
  return [row * grid[0] + block[0], block[1]];
}

// All tensors at one scale, so that extents compare; only one that would be a dot is larger.
function pictures(grid, shown) {
  const areas = grid.tensors.map((tensor, k) => area(grid, tensor, k));
  const common = Math.min(...areas.map(fitting));
  return grid.tensors.map((tensor, k) =>
    drawn(grid, tensor, k, shown, areas[k], Math.min(fitting(areas[k]), common * zoom(areas[k], common))));
}

function fitting({ size }) {
  return Math.min(WIDE / size[1], HIGH / size[0]);
}

function zoom({ size }, common) {
  return Math.max(1, Math.min(MOST_ZOOM, (4 * LEAST) / (Math.max(...size) * common)));
}

// The last two axes of a tensor, and what its accesses are about, which may lie outside.
function area(grid, tensor, index) {
  const rank = tensor.shape.length;
  const plane = (box) => [rank > 1 ? box.slice(2 * rank - 4, 2 * rank - 2) : [0, 1], box.slice(2 * rank - 2)];
  const rows = rank > 1 ? tensor.shape[rank - 2] : 1, columns = rank ? tensor.shape[rank - 1] : 1;
  const all = grid.accesses.filter((access) => access[1] === index).map((access) => plane(access[4]));
  const low = [0, 1].map((axis) => all.reduce((least, box) => Math.min(least, box[axis][0]), 0));
  const high = [rows, columns].map((extent, axis) => all.reduce((most, box) => Math.max(most, box[axis][1]), extent));
  return { plane, rows, columns, low, size: [high[0] - low[0], high[1] - low[1]] };
}

function drawn(grid, tensor, index, shown, { plane, rows, columns, low, size }, scale) {
  const rank = tensor.shape.length;
  const height = Math.max(LEAST, size[0] * scale), width = Math.max(LEAST, size[1] * scale);
  const y = (row) => ((row - low[0]) / size[0]) * height, x = (column) => ((column - low[1]) / size[1]) * width;
  const rect = ([r, c], properties, ...inside) => svg("rect", {
    x: x(c[0]), y: y(r[0]), width: Math.max(x(c[1]) - x(c[0]), 1), height: Math.max(y(r[1]) - y(r[0]), 1),
    ...properties,
  }, ...inside);
  const hatch = `hatch-${index}`;
  const picture = svg("svg", { width: width + 2, height: height + 2, viewBox: `-1 -1 ${width + 2} ${height + 2}` },
    svg("defs", {}, svg("pattern", { id: hatch, width: 6, height: 6, patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)" }, svg("rect", { width: 2, height: 6, class: "hatch" }))),
    rect([[0, rows], [0, columns]], { class: "tensor" }));
  if (tensor.tile && !tensor.tile.every((n) => n === 1)) picture.append(...borders(tensor, rows, columns, x, y));
  for (const [, owner, verb, , window, box, touched, elements, dense] of shown) {
    if (owner !== index) continue;
    picture.append(rect(plane(window), { fill: `url(#${hatch})`, class: "window" }));
    if (box) {
      const about = `${VERBS[verb]} ${touched} of ${elements} elements${dense ? "" : ", scattered"}`;
      if (dense) picture.append(rect(plane(box), { class: "under" }));
      picture.append(rect(plane(box), { class: `touched ${VERBS[verb]}${dense ? "" : " sparse"}` },
        svg("title", {}, about)));
    }
  }
  const lead = rank > 2 ? h("span", { class: "faint" }, ` · ${outer(shown, index, rank)}`) : null;
  return h("figure", {},
    h("figcaption", {}, h("b", {}, tensor.name), ` ${tensor.dtype}[${tensor.shape.join(", ")}]`,
      tensor.tile ? ` in tiles of ${tensor.tile.join(" × ")}` : "", lead),
    picture);
}

// Where the accesses are along the axes that are not drawn.
function outer(shown, index, rank) {
  const found = shown.filter((access) => access[1] === index).map((access) => ranges(access[4].slice(0, 2 * rank - 4)));
  const places = [...new Set(found)];
  return places.length ? places.slice(0, 3).map((place) => `[${place}, …]`).join(" ") : "the last two axes";
}

const MOST_BORDERS = 200;

function borders(tensor, rows, columns, x, y) {
  const tile = tensor.tile.slice(-2);
  const [high, wide] = tile.length > 1 ? tile : [1, tile[0]];
  const found = [];
  if (rows / high + columns / wide > MOST_BORDERS) return found;
  for (let row = high; row < rows; row += high)
    found.push(svg("line", { x1: x(0), x2: x(columns), y1: y(row), y2: y(row), class: "border" }));
  for (let column = wide; column < columns; column += wide)
    found.push(svg("line", { x1: x(column), x2: x(column), y1: y(0), y2: y(rows), class: "border" }));
  return found;
}

function legend() {
  const entry = (kind, text) => h("li", {}, h("span", { class: `swatch ${kind}` }), text);
  return h("ul", { class: "legend" }, entry("reads", "read"), entry("writes", "written"),
    entry("updates", "updated atomically"), entry("padding", "padding, or masked"));
}

function stepper(steps, again) {
  const last = steps.length - 1;
  const step = chosen.step;
  const go = (to) => again({ step: Math.max(0, Math.min(last, to)) });
  return h("div", { class: "stepper" },
    h("button", { onclick: () => again({ step: null }), class: step === null ? "on" : "" }, "all accesses"),
    h("button", { onclick: () => go((step ?? 1) - 1), title: "the access before", id: "back" }, "◀"),
    h("input", { type: "range", min: 0, max: last, value: step ?? 0, "aria-label": "access",
      oninput: (event) => go(Number(event.target.value)) }),
    h("button", { onclick: () => go((step ?? -1) + 1), title: "the next access", id: "next" }, "▶"),
    h("span", { class: "faint" }, step === null ? `${steps.length} accesses` : `access ${step + 1} of ${steps.length}`));
}

const MOST_ROWS = 400;

function accesses(kernel, grid, steps, again) {
  const rows = steps.slice(0, MOST_ROWS).map(([, tensor, verb, lines, window, , touched, elements], k) => {
    const row = h("tr", { class: k === chosen.step ? "on" : "", onclick: () => again({ step: k }) },
      h("td", { class: "figure" }, String(k + 1)),
      h("td", {}, VERBS[verb]),
      h("td", {}, h("code", {}, `${grid.tensors[tensor].name}[${ranges(window)}]`)),
      h("td", { class: "figure" }, String(touched)),
      h("td", { class: "figure" }, touched === elements ? "" : String(elements - touched)),
      h("td", {}, position(kernel, lines)));
    return link(row, lines, "text", false);
  });
  const more = steps.length > MOST_ROWS ? h("p", { class: "faint" }, `and ${steps.length - MOST_ROWS} more`) : null;
  return h("div", {}, table(["", "", "elements", "touched", "padding or masked", "line"], rows), more);
}

function ranges(box) {
  const parts = [];
  for (let k = 0; k < box.length; k += 2)
    parts.push(box[k + 1] === box[k] + 1 ? String(box[k]) : `${box[k]}:${box[k + 1]}`);
  return parts.join(", ");
}
