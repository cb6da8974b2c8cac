// A button that opens a panel over the figures.

import { element } from "./element.js";

/**
 * Returns a button with a panel. The panel opens below the button, or above it if there is too little room below
 * and more room above.
 * @param {string} label of the button
 * @param {string} name of the CSS class
 * @param {(Node | string)[]} contents of the panel
 * @param {() => void} prepare runs before the panel opens, so that its contents do not change visibly
 */
export function popup(label, name, contents, prepare = () => {}) {
  const choices = element("div", { class: "choices" }, ...contents);
  const summary = element("summary", { onclick: () => prepare() }, label);
  const menu = element("details", { class: `popup ${name}`, ontoggle: () => place() }, summary, choices);
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    summary.focus();
    event.stopPropagation();
  });

  /** @param {Event} event */
  function leave(event) {
    if (event.composedPath().includes(menu)) return;
    menu.open = false;
    removeEventListener("pointerdown", leave, true);
  }

  function place() {
    raise(menu, menu.open);
    menu.classList.remove("above");
    if (!menu.open) return;
    // The panel stays open while the user changes several settings in it. A press anywhere else closes it.
    addEventListener("pointerdown", leave, true);
    const { top, bottom } = summary.getBoundingClientRect();
    const { height } = choices.getBoundingClientRect();
    menu.classList.toggle("above", opensAbove(top, bottom, height, innerHeight));
    // The panel extends to the left. On a phone, the button may be too far left for that, so the panel is moved right.
    choices.style.translate = "";
    choices.style.translate = `${Math.max(0, 8 - choices.getBoundingClientRect().left)}px`;
    // Scroll if there is no room above or below, because the user would otherwise not see that the panel has opened.
    choices.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  return menu;
}

/**
 * Returns whether a panel has too little room below its button, and more room above it.
 * @param {number} top of the button, from the top of the screen
 * @param {number} bottom of the button
 * @param {number} height of the panel
 * @param {number} screen height of the screen
 */
export const opensAbove = (top, bottom, height, screen) => bottom + height + POPUP_GAP > screen && top > screen - bottom;

// Gap between the button and its panel, and between the panel and the edge of the screen.
const POPUP_GAP = 8;

/**
 * Raises a popup's component above the components that come later on the page, or lowers it again.
 * @param {HTMLElement} menu
 * @param {boolean} up
 */
function raise(menu, up) {
  const node = menu.getRootNode();
  const place = node instanceof ShadowRoot ? node.host.closest("[data-testid=stElementContainer]") : null;
  if (!(place instanceof HTMLElement)) return;
  place.style.position = up ? "relative" : "";
  place.style.zIndex = up ? "3" : "";
}
