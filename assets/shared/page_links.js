// Links to pages of the app. They open pages in the same way as the menus, so that the session continues.

import { element } from "./element.js";
import { opensElsewhere } from "./input.js";
/** @import { Server } from "./mount.js" */

/**
 * Returns a link to a page with the parameters of the current URL, except those that `changed` replaces.
 * @param {string} label
 * @param {string} page
 * @param {Record<string, string>} changed
 */
export function pageLink(label, page, changed) {
  return element("a", { "data-page": page, "data-changed": JSON.stringify(changed) }, label);
}

/**
 * Returns all links inside an element.
 * @param {HTMLElement} root
 * @returns {(SVGAElement | HTMLAnchorElement)[]}
 */
export function linksOf(root) {
  return [...root.querySelectorAll("a")].filter((link) => link instanceof SVGAElement || link instanceof HTMLAnchorElement);
}

/**
 * Updates the URLs of all links, for users who open one in another tab. The URLs contain the current page's parameters,
 * which change with every choice.
 * @param {HTMLElement} root
 */
export function addressLinks(root) {
  for (const link of linksOf(root)) {
    const { page, stage, changed } = link.dataset;
    const parameters = new URLSearchParams(location.search);
    if (stage !== undefined) parameters.set("inside_stage", stage);
    for (const [name, value] of Object.entries(JSON.parse(changed ?? "{}"))) parameters.set(name, value);
    link.setAttribute("href", `${page}?${parameters}`);
  }
}

/**
 * Opens a component's links on a click, and updates their URLs.
 * @param {{ root: HTMLElement, server: Server }} component
 */
export function openLinks(component) {
  const { root } = component;
  root.onclick = (event) => {
    const opened = followed(root, event);
    if (opened) component.server.setTriggerValue("open", opened);
  };
  root.onpointerover = () => addressLinks(root);
  root.addEventListener("focusin", () => addressLinks(root));
}

/**
 * Returns the message that asks the server to open a clicked link. Returns undefined if the browser opens the link
 * itself, or if no link was clicked.
 * @param {HTMLElement} root
 * @param {MouseEvent} event
 */
function followed(root, event) {
  const { target } = event;
  const link = linksOf(root).find((each) => target instanceof Node && each.contains(target));
  if (!link || opensElsewhere(event)) return undefined;
  event.preventDefault();
  const { page, stage, changed } = link.dataset;
  return changed === undefined ? stage ?? page
    : [page, Object.fromEntries(new URLSearchParams((link.getAttribute("href") ?? "").replace(/^[^?]*/, "")))];
}
