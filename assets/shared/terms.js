// Explains technical terms where a component shows them.

import { element } from "./element.js";
import { GLOSSARY } from "./glossary.js";

/**
 * Returns a term whose explanation appears on hover, on focus and on tap. Esc closes the explanation.
 * @param {string} text the term as displayed
 * @param {string} word the term's name in the glossary
 */
export function term(text, word) {
  const bubble = element("span", { class: "bubble", role: "tooltip", hidden: true }, GLOSSARY[word]);
  const show = () => {
    bubble.hidden = false;
    bubble.style.left = "0px";
    // The explanation stays within the screen, even if the term is close to its edge.
    const { left, right } = bubble.getBoundingClientRect();
    bubble.style.left = `${Math.min(0, innerWidth - 8 - right) - Math.min(0, left - 8)}px`;
  };
  const hide = () => { bubble.hidden = true; };
  const marked = element("span", {
    class: text === "?" ? "term mark" : "term", tabindex: 0, role: "button", "aria-label": `${text === "?" ? word : text}: ${GLOSSARY[word]}`,
    onfocus: show, onblur: hide,
    onclick: (/** @type {MouseEvent} */ event) => {
      // A click on a label would otherwise activate its control.
      event.preventDefault();
      show();
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Escape") hide();
      else if (event.key === "Enter" || event.key === " ") show();
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
  }, text);
  return element("span", { class: "explained", onpointerenter: show, onpointerleave: hide }, marked, bubble);
}

/**
 * Adds an explanation to the label of a control, and returns the control.
 * @template {HTMLElement} Field
 * @param {Field} field control made by `select` or `number`
 * @param {string} word of the glossary
 * @returns {Field}
 */
export function explained(field, word) {
  const label = field.querySelector("span");
  label?.replaceChildren(term(label.textContent ?? "", word));
  return field;
}
