// The dialog with a lecture's slides: a list that can be reordered, saved as a file and loaded from a file.

import { focused, keepingFocus } from "../shared/controls.js";
import { element } from "../shared/element.js";

/**
 * The message from the server (pages/ui/lecture/bar.py).
 * @typedef {{
 *   lecture: boolean, slide: number, stepped: string, heading: string, file: string, limit: number, problem: string,
 *   slides: { title: string, page: string, text: string }[], longest: number, start: string,
 *   code: { image?: string, address?: string, problem: string } | null,
 * }} LectureMessage
 */
/**
 * An action of the lecturer; slide numbers are 1-based. `by` is 1 or -1: the direction in which the slide is moved
 * or the lecturer steps.
 * @typedef {{ what: string, slide?: number, by?: number, text?: string }} LectureAct
 */

/**
 * Returns the dialog; its method `reflect` shows the slides of a new message.
 * @param {(act: LectureAct) => void} act
 */
export function slidesDialog(act) {
  const list = element("ol", { class: "list" });
  const none = element("p", {}, "There are no slides yet. “Add this page” keeps the page as it is now, with its sentence, head and step.");
  const problem = element("p", { class: "problem", role: "alert" });
  /** @type {(label: string, onclick: () => void) => HTMLButtonElement} */
  const button = (label, onclick) => element("button", { type: "button", onclick }, label);
  const start = element("a", { class: "start" }, "All slides in one link");
  const present = button("Present from the first slide", () => { dialog.close(); act({ what: "start" }); });
  const file = element("input", { type: "file", accept: ".txt,text/plain", "aria-label": "Load slides from a file" });
  const load = element("label", { class: "load" }, "Load from a file", file);
  let data = /** @type {LectureMessage | null} */ (null);
  // `made` is the data from which the list was built. `moved` is the Move button that the user clicked: when the list is
  // rebuilt, this button gets the focus again.
  let made = "";
  let moved = /** @type {{ slide: number, label: string } | null} */ (null);
  const add = button("Add this page", () => act({ what: "add" }));
  const save = button("Save as a file", () => saveSlides(data?.file ?? ""));
  file.onchange = async () => {
    const [chosen] = file.files ?? [];
    if (chosen && data) {
      // Reads no more of a file than the server needs to reject it as too large.
      act({ what: "load", text: await chosen.slice(0, data.limit + 1).text() });
    }
    file.value = "";
  };
  const dialog = element("dialog", { class: "slides", "aria-label": "My slides" }, element("h2", {}, "My slides"), problem, none,
    list, element("p", { class: "buttons" }, present, start, save, load),
    element("form", { method: "dialog" }, add, element("button", {}, "Close")));
  /** @type {(shown: LectureMessage["slides"][number], index: number, message: LectureMessage) => HTMLElement} */
  const item = ({ title, page, text }, index, { slides: { length: count }, longest }) => {
    const slide = index + 1;
    const named = element("input", { type: "text", class: "title", value: title, placeholder: "Title", maxLength: longest,
      "aria-label": `Title of slide ${slide}`, onchange: () => act({ what: "title", slide, text: named.value }) });
    /** @type {(label: string, sign: string, more: LectureAct, disabled: boolean) => HTMLElement} */
    const small = (label, sign, more, disabled) => element("button", {
      type: "button", class: "small", "aria-label": `${label} slide ${slide}`, title: label, disabled,
      onclick: () => {
        moved = more.by ? { slide: slide + more.by, label } : null;
        act(more);
      },
    }, sign);
    return element("li", {}, named,
      element("button", { type: "button", class: "open", autofocus: index === 0, onclick: () => act({ what: "open", slide }) },
        element("b", {}, page), element("span", {}, text)),
      small("Move up", "↑", { what: "move", slide, by: -1 }, index === 0),
      small("Move down", "↓", { what: "move", slide, by: 1 }, index === count - 1),
      small("Remove", "✕", { what: "remove", slide }, false));
  };
  /** @type {(message: LectureMessage) => void} */
  const reflect = (message) => {
    data = message;
    const { slides } = message;
    const pages = JSON.stringify(slides.map(({ page, text }) => [page, text]));
    // Do not overwrite a title while the user is typing it.
    if (pages === made) list.querySelectorAll("input").forEach((title, index) => {
      if (title !== focused(list)) title.value = slides[index].title;
    });
    else keepingFocus(list, "button, input", () => list.replaceChildren(...slides.map((shown, index) => item(shown, index, message))));
    made = pages;
    // At either end of the list, one of the two Move buttons is disabled, so the other gets the focus.
    const buttons = moved ? [...list.children[moved.slide - 1].querySelectorAll("button:enabled[title^=Move]")] : [];
    const same = buttons.find((one) => one instanceof HTMLElement && one.title === moved?.label) ?? buttons[0];
    if (same instanceof HTMLElement) same.focus();
    moved = null;
    list.querySelectorAll("li").forEach((one, index) => one.classList.toggle("here", index + 1 === message.slide));
    problem.textContent = message.problem;
    none.hidden = slides.length > 0;
    // Without slides, the button that adds one gets the focus when the dialog opens.
    add.autofocus = slides.length === 0;
    for (const one of [list, present, start, save]) one.hidden = slides.length === 0;
    // The URL is relative, because the app's URL may have any path.
    if (message.start) start.href = message.start.startsWith("?") ? `./${message.start}` : message.start;
  };
  return Object.assign(dialog, { reflect });
}

/**
 * Downloads the list of slides as a text file.
 * @param {string} text
 */
function saveSlides(text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  element("a", { href: address, download: "slides.txt" }).click();
  URL.revokeObjectURL(address);
}
