// The lecturer's controls for presenting the page, collecting slides, showing the QR code, and stepping with a clicker.

import { leaveSlide, stepFigure } from "../shared/clicker.js";
import { element } from "../shared/element.js";
import { keysButton, keysDialog } from "../shared/keys.js";
import { Component, mount } from "../shared/mount.js";
import { page } from "../shared/page.js";
import { slidesDialog } from "./slides.js";
/** @import { LectureAct, LectureMessage } from "./slides.js" */

// Milliseconds for which the controls stay visible after the pointer has moved.
const CONTROLS_DURATION = 2500;
// The keys of a clicker or keyboard that work in lecture mode, and their actions.
/** @type {Record<string, "next" | "previous" | "blank" | "code" | "leave">} */
const LECTURE_KEYS = {
  PageDown: "next", PageUp: "previous", ArrowRight: "next", ArrowLeft: "previous", ".": "blank", b: "blank", q: "code",
  Escape: "leave",
};
// LECTURE_KEYS as a list for the user.
const LECTURE_KEY_LIST = [
  ["Page Down, →", "go to the next step or, after the last, to the next slide"],
  ["Page Up, ←", "go to the previous step or, before the first, to the previous slide"],
  [". or b", "blank the screen, or bring it back"],
  ["q", "show the QR code for this page"],
  ["Esc", "leave lecture mode"],
  ["?", "show this list"],
];
const IN_CONTROL = "input, select, textarea, [contenteditable]";

class Lecture extends Component {
  /** @type {LectureMessage | undefined} */
  data;
  /** @type {number} the slide requested last; it may not be open yet, because clicks arrive faster than pages load */
  wanted = 0;
  /** @type {number | undefined} */
  dozing;
  /** @type {number | undefined} */
  early;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("div", { class: "lecture" }));
    /** @type {(label: string, title: string, onclick: () => void, name?: string) => HTMLButtonElement} */
    const button = (label, title, onclick, name = "") => (
      element("button", { type: "button", class: name, title, "aria-label": title, onclick }, label));
    this.count = element("button", { type: "button", title: "My slides", onclick: () => this.slides.showModal() });
    this.entrance = element("div", { class: "entrance", role: "group", "aria-label": "Lecture" },
      button("Present", "Present this page (key p)", () => this.act({ what: "present" }), "present"), this.count,
      button("+", "Keep this page as a slide", () => this.act({ what: "add" }), "add"));
    this.heading = element("h2", { class: "heading", hidden: true });
    this.keys = keysDialog(LECTURE_KEY_LIST);
    this.number = element("span", { class: "number" });
    this.back = button("◀", "Back (Page Up)", () => this.step(-1));
    this.next = button("▶", "Next (Page Down)", () => this.step(1));
    this.controls = element("div", { class: "controls", role: "group", "aria-label": "Lecture" }, this.back, this.number, this.next,
      button("QR code", "QR code for this page (key q)", () => this.act({ what: "code" }), "qr"),
      button("Blank", "Blank screen (key .)", () => this.black.showModal(), "blank-button"),
      keysButton(() => this.keys.showModal()),
      button("Whole page", "Leave lecture mode (Esc)", () => this.act({ what: "leave" })));
    this.slides = slidesDialog((act) => this.act(act));
    this.black = element("dialog", { class: "black", "aria-label": "The screen is blank. Press Enter or Esc to show the page.",
      onclick: () => this.black.close() });
    this.code = element("dialog", { class: "code", "aria-label": "QR code for this page" });
    this.root.append(this.heading, this.entrance, this.controls, this.slides, this.code, this.keys, this.black);
    // This listener receives keys before the page's elements do, so that a clicker works wherever the focus is, except
    // in text boxes.
    this.onKey = (/** @type {KeyboardEvent} */ event) => this.press(event);
    this.onPointer = () => this.wake();
    addEventListener("keydown", this.onKey, true);
    // On a busy machine, early.js may run after this constructor. The flag tells it that this component handles the keys.
    page.clickerHeard = true;
    if (page.early) removeEventListener("keydown", page.early.hear, true);
    addEventListener("pointermove", this.onPointer);
  }

  close() {
    removeEventListener("keydown", this.onKey, true);
    removeEventListener("pointermove", this.onPointer);
    clearTimeout(this.dozing);
    clearTimeout(this.early);
    super.close();
  }

  /** @param {LectureMessage} data */
  show(data) {
    const { lecture, slide, slides, stepped, code, heading } = data;
    if (this.data?.lecture !== lecture) this.reflectMode(lecture);
    this.data = data;
    this.wanted = slide;
    this.root.classList.toggle("on", lecture);
    this.entrance.hidden = lecture;
    this.controls.hidden = !lecture;
    this.heading.hidden = !heading;
    this.heading.textContent = heading;
    this.count.textContent = slides.length ? `Slides (${slides.length})` : "Slides";
    this.number.textContent = stepped || (slides.length ? `${slide || "–"} / ${slides.length}` : "");
    for (const one of [this.back, this.next]) one.hidden = stepped !== "";
    this.slides.reflect(data);
    this.reflectCode(code);
    this.root.dataset.drawn = lecture ? `lecture ${slide}` : `page ${slides.length}`;
    this.pressEarly();
  }

  // Replays the keys that were pressed while the page was loading, once the page can react to them.
  pressEarly() {
    clearTimeout(this.early);
    if (!page.early?.keys.length) return;
    if (document.querySelector("[data-test-script-state=notRunning]")) {
      for (const key of page.early.keys.splice(0)) {
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, code: key, bubbles: true, cancelable: true }));
      }
    } else {
      this.early = setTimeout(() => this.pressEarly(), 100);
    }
  }

  /**
   * Opens the dialog with the page's QR code; closes the dialog if there is no code.
   * @param {LectureMessage["code"]} code
   */
  reflectCode(code) {
    if (!code) {
      this.code.close();
      return;
    }
    const { image, address, problem } = code;
    this.code.replaceChildren(
      ...(image ? [element("img", { src: image, alt: `QR code for ${address}` })] : []),
      ...(problem ? [element("p", { class: "problem" }, problem)] : []),
      ...(address ? [element("p", { class: "address" }, new URL(address).host)] : []),
      element("button", { type: "button", onclick: () => this.act({ what: "code" }) }, "Close"));
    if (!this.code.open) this.code.showModal();
  }

  /**
   * Switches the enlarged fonts of page.css on or off by a class, which takes effect at once. Streamlit would remove a
   * style sheet only after drawing and measuring the next figure.
   * @param {boolean} lecture
   */
  reflectMode(lecture) {
    document.documentElement.classList.toggle("whole-page", !lecture);
  }

  /**
   * Sends an action to the server.
   * @param {LectureAct} act
   */
  act(act) {
    if (act.what === "leave") this.reflectMode(false);
    if (act.what === "open") leaveSlide();
    this.server.setTriggerValue("act", act);
  }

  /**
   * Moves to the next or previous step of the figure, or to the next or previous slide if there is no such step.
   * @param {number} by
   */
  step(by) {
    // If the slide is a lesson with an open question, the first press reveals the answer.
    /** @type {HTMLButtonElement | null} */
    const show = document.querySelector(".st-key-lesson_show button");
    if (by > 0 && show) {
      show.click();
      return;
    }
    const count = this.data?.slides.length ?? 0;
    // While another slide is loading, the figure is still that of the previous slide.
    const here = this.wanted === this.data?.slide;
    if ((here && stepFigure(by, count > 0)) || !count) return;
    const wanted = this.wanted + by;
    if (wanted < 1 || wanted > count) return;
    this.wanted = wanted;
    this.act({ what: "open", slide: wanted, by });
  }

  /**
   * Handles a key, unless it is meant for a control, or for a dialog other than the blank screen and the QR code.
   * @param {KeyboardEvent} event
   */
  press(event) {
    if (!this.data || event.ctrlKey || event.metaKey || event.altKey) return;
    const path = event.composedPath();
    const target = path[0];
    if (target instanceof Element && target.matches(IN_CONTROL)) return;
    const dialog = path.find((node) => node instanceof HTMLDialogElement);
    const taken = this.black.open ? this.uncover(event) : !(dialog && dialog !== this.code) && this.runControl(event, target);
    if (!taken) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * Ends the blank screen if the key is a lecture key, Space or Enter. Returns whether the key is one of these.
   * @param {KeyboardEvent} event
   */
  uncover(event) {
    if (!(event.key in LECTURE_KEYS || event.key === " " || event.key === "Enter")) return false;
    this.black.close();
    return true;
  }

  /**
   * Runs the action that the lecturer's controls assign to a key, if any; returns whether there was one.
   * @param {KeyboardEvent} event
   * @param {EventTarget} target
   */
  runControl({ key }, target) {
    // The buttons of a lesson react to Page Down and Page Up. For laptops without these keys, the right and left arrow
    // keys do the same.
    const clicked = /** @type {Record<string, string>} */ ({ ArrowRight: "PageDown", ArrowLeft: "PageUp" })[key];
    if (clicked && this.data?.stepped && !this.code.open && target instanceof Element && target.matches("body, button")) {
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: clicked, code: clicked, bubbles: true, cancelable: true }));
      return true;
    }
    if (!this.data?.lecture) {
      if (key === "p") this.act({ what: "present" });
      return key === "p";
    }
    // Arrow keys belong to the element that has the focus.
    if (key.startsWith("Arrow") && target !== document.body && target !== this.code) return false;
    if (key === "?") {
      this.keys.showModal();
      return true;
    }
    const meaning = LECTURE_KEYS[key];
    const moves = meaning === "next" || meaning === "previous";
    const stepped = moves && this.data.stepped !== "";
    // In a lesson, the next and previous keys press the lesson's own buttons.
    if (!meaning || (stepped && !this.code.open)) return false;
    if (moves && !stepped) this.step(meaning === "next" ? 1 : -1);
    else if (meaning === "blank") this.black.showModal();
    // While the QR code is open, Esc closes it. In a lesson, the next and previous keys close it, too.
    else this.act({ what: stepped || meaning === "code" || this.code.open ? "code" : "leave" });
    return true;
  }

  wake() {
    this.root.classList.add("awake");
    clearTimeout(this.dozing);
    this.dozing = setTimeout(() => this.root.classList.remove("awake"), CONTROLS_DURATION);
  }
}

export default mount(Lecture);
