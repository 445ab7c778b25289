// What differs between two texts, line by line: the longest common subsequence, after equal ends.

export function differences(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start
    && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const middle = between(before.slice(start, before.length - end),
    after.slice(start, after.length - end), start);
  return [...same(0, 0, start), ...middle, ...same(before.length - end, after.length - end, end)];
}

function same(left, right, count) {
  return Array.from({ length: count }, (_, k) => ({ kind: "same", left: left + k, right: right + k }));
}

const MOST = 4_000_000;

function between(before, after, offset) {
  const removed = (k) => ({ kind: "removed", left: offset + k });
  const added = (k) => ({ kind: "added", right: offset + k });
  if (before.length * after.length > MOST)
    return [...before.map((_, k) => removed(k)), ...after.map((_, k) => added(k))];
  const width = after.length + 1;
  const length = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i -= 1)
    for (let j = after.length - 1; j >= 0; j -= 1)
      length[i * width + j] = before[i] === after[j]
        ? length[(i + 1) * width + j + 1] + 1
        : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
  const found = [];
  let i = 0, j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      found.push({ kind: "same", left: offset + i, right: offset + j });
      i += 1; j += 1;
    } else if (i < before.length
      && (j === after.length || length[(i + 1) * width + j] >= length[i * width + j + 1]))
      found.push(removed(i++));
    else found.push(added(j++));
  }
  return found;
}

// Values are numbered anew by each pass: texts that differ in numbers alone are the same.
export function unnumbered(lines) {
  return lines.map((line) => line.replace(/%[\w.]+/g, "%"));
}

export function isEqual(before, after) {
  return before.length === after.length && before.every((line, k) => line === after[k]);
}
