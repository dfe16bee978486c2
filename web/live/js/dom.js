// Elements from text that may hold anything: it becomes text nodes and attributes, never markup.

export const find = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const { style = {}, label, ...rest } = properties, made = Object.assign(document.createElement(tag), rest);
  Object.assign(made.style, style);
  if (label) made.setAttribute("aria-label", label);
  made.append(...children);
  return made;
}

export function drawing(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// A colour of live.css as the browser draws it now, light or dark: [red, green, blue].
export function colour(name) {
  const probe = element("span", { hidden: true, style: { color: `var(--${name})` } });
  document.body.append(probe);
  const numbers = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
  probe.remove();
  return numbers.slice(0, 3);
}
