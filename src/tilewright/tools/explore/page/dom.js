// Makes elements. Texts become text nodes, never markup: names in the data may be anything.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat().filter(Boolean));
}

export function table(head, rows) {
  return h("table", {}, h("thead", {}, h("tr", {}, head.map((text) => h("th", {}, text)))),
    h("tbody", {}, rows));
}
