// What is shown now. Views listen to it, and the address keeps it, so that reloading changes nothing.

const KEPT = ["kernel", "target", "tab", "stage", "diff"];

export const state = {
  kernel: 0, target: 0, tab: "code", stage: "", diff: false,
  pinned: null, // a reference that stays marked, or none
};

const listeners = [];

export function onChange(listener) {
  listeners.push(listener);
}

export function change(changes) {
  const before = { ...state };
  Object.assign(state, changes);
  const kept = KEPT.map((name) => `${name}=${encodeURIComponent(String(state[name]))}`);
  history.replaceState(null, "", `#${kept.join("&")}`);
  for (const listener of listeners) listener(before);
}

export function readAddress(data) {
  for (const part of location.hash.slice(1).split("&")) {
    const [name, text] = part.split("=");
    if (!KEPT.includes(name) || text === undefined) continue;
    const word = decodeURIComponent(text);
    state[name] = name === "diff" ? word === "true"
      : name === "kernel" || name === "target" ? Number(word) || 0 : word;
  }
  if (!data.kernels[state.kernel]) state.kernel = 0;
  if (!data.kernels[state.kernel].targets[state.target]) state.target = 0;
}
