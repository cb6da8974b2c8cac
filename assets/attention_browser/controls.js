// Elements and small controls, of which the browsers build their pages. What readers typed only ever becomes text.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made[key] = value;
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function select(label, options, change) {
  const box = element("select", { "aria-label": label, onchange: () => change(box.value) });
  const field = element("label", { class: "field" }, element("span", {}, label), box);
  field.fill = (choices, chosen) => {
    box.replaceChildren(...choices.map(([value, text]) => element("option", { value, label: text }, text)));
    box.value = chosen;
  };
  if (options) field.fill(options, options[0][0]);
  return field;
}

function checkbox(label, change) {
  const box = element("input", { type: "checkbox", onchange: () => change(box.checked) });
  return Object.assign(element("label", { class: "check" }, box, label), { box });
}

// Runs `refill`, and puts the focus back on the child with the same number.
function keepingFocus(parent, selector, refill) {
  const root = parent.getRootNode();
  const at = [...parent.querySelectorAll(selector)].indexOf(root.activeElement);
  refill();
  if (at < 0) return;
  const now = parent.querySelectorAll(selector);
  now[Math.min(at, now.length - 1)]?.focus();
}
