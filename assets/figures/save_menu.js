// The "Save as" menu of a figure, with options for the format, width, caption, background and colours.

import { checkbox, select } from "../shared/controls.js";
import { element } from "../shared/element.js";
import { popup } from "../shared/popup.js";

const PICTURES = ["SVG", "PDF", "PNG", "PNG 2×", "PNG 4×"];
const WIDTHS = [["", "as on the screen"], ["one", "one column (77 mm)"], ["two", "two columns (160 mm)"]];
const COPY_LINK = "Copy link";

/**
 * The options for saving a picture; `column` is a key of COLUMNS (svg_file.js), or empty for the width on the screen.
 * @typedef {{ column: string, caption: boolean, transparent: boolean, light: boolean }} SaveOptions
 */

/**
 * The user's last choice, used for the next figure.
 * @type {SaveOptions}
 */
const chosenOptions = { column: "", caption: true, transparent: false, light: false };

/**
 * Returns the menu. `save` saves the figure; if that fails, it throws an error.
 * @param {(format: string, options: SaveOptions) => unknown} save
 * @param {string[]} others formats in addition to PICTURES
 * @param {(format: string) => boolean} can whether the figure can be saved in a format now
 * @param {string} label of the button that opens the menu
 */
export function saveMenu(save, others = [], can = () => true, label = "Save as") {
  const width = select("Width", WIDTHS, (value) => { chosenOptions.column = value; });
  const caption = checkbox("Caption", (checked) => { chosenOptions.caption = checked; });
  const transparent = checkbox("Transparent", (checked) => { chosenOptions.transparent = checked; });
  const light = checkbox("Light colours", (checked) => { chosenOptions.light = checked; });
  const said = element("p", { class: "said", role: "status" });
  const buttons = [...PICTURES, ...others, COPY_LINK].map((format) => (
    element("button", { type: "button", onclick: () => start(format) }, format)));
  const contents = [width, element("div", { class: "checks" }, caption, transparent, light),
    element("div", { class: "formats" }, ...buttons), said];

  function reflect() {
    width.box.value = chosenOptions.column;
    caption.box.checked = chosenOptions.caption;
    transparent.box.checked = chosenOptions.transparent;
    light.box.checked = chosenOptions.light;
    said.textContent = "";
    offer();
    // If the data for another format arrive while the menu is open, the menu offers that format, too.
    document.addEventListener("attentionexport", offer, { once: true });
  }

  function offer() {
    buttons.forEach((button) => {
      const format = button.textContent ?? "";
      // A page saved as HTML cannot load the PDF writer, and a copied link would point to the user's local file.
      const served = location.protocol !== "file:" || (format !== "PDF" && format !== COPY_LINK);
      button.hidden = !served || !can(format);
    });
  }

  /**
   * Saves the figure or copies the link, and reports success or the error.
   * @param {string} format
   */
  async function start(format) {
    said.textContent = "Saving …";
    try {
      if (format === COPY_LINK) await copy(location.href);
      else await save(format, { ...chosenOptions });
      said.textContent = format === COPY_LINK ? "Link copied." : `${format} saved.`;
    } catch (error) {
      said.textContent = error instanceof Error ? error.message : String(error);
    }
  }
  return popup(label, "save", contents, reflect);
}

/**
 * Copies text to the clipboard.
 * @param {string} text
 */
async function copy(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // If the app is opened over http from another machine, browsers offer only the older execCommand for copying.
  const box = element("textarea", { style: "position: fixed; opacity: 0" });
  box.value = text;
  document.body.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  if (!done) throw new Error(`This browser does not let the page copy text. The link is: ${text}`);
}
