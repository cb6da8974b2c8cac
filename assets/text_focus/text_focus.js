// Selects the last word in one of Streamlit's text boxes when the page asks the user to change the text.

import { element } from "../shared/element.js";
import { Component, mount } from "../shared/mount.js";

class TextFocus extends Component {
  /**
   * @type {string | undefined} the text in which a word was last selected; in this text, no word is selected again,
   * because the user may have moved the cursor
   */
  text;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("span", {}));
  }

  /**
   * @param {{ label: string, text: string }} message (pages/ui/components/text_focus.py)
   * @param {number} frames maximum number of frames to wait for Streamlit to put the text into the box
   */
  show({ label, text }, frames = 60) {
    if (this.text === text) return;
    const box = [...document.querySelectorAll("input")].find((each) => each.ariaLabel === label);
    if (!box || box.value !== text) {
      if (frames) requestAnimationFrame(() => this.show({ label, text }, frames - 1));
      return;
    }
    this.text = text;
    box.focus();
    const word = /[\p{L}\p{N}]+(?=[^\p{L}\p{N}]*$)/u.exec(text);
    box.setSelectionRange(word?.index ?? text.length, word ? word.index + word[0].length : text.length);
  }
}

export default mount(TextFocus);
