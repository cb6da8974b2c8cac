// Opens a saved experiment, or a figure that carries one, and sends the server the experiment alone.

import { element } from "../shared/element.js";
import { Component, mount } from "../shared/mount.js";

class ExperimentFile extends Component {
  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    const label = "Check a saved experiment or figure";
    const file = element("input", { type: "file", accept: ".json,.svg,.png,.pdf,.html", "aria-label": label });
    super(parent, element("label", { class: "open-file" }, label, file));
    file.onchange = async () => {
      const [chosen] = file.files ?? [];
      if (chosen) this.server.setTriggerValue("opened", await this.experimentIn(chosen));
      file.value = "";
    };
  }

  /** @param {{ mark: string, limit: number }} message (pages/ui/components/experiment.py) */
  show({ mark, limit }) {
    this.mark = mark;
    this.limit = limit;
  }

  /**
   * The text from the mark on. A file without the mark is sent as it begins; the server says what is wrong with it.
   * @param {File} file
   */
  async experimentIn(file) {
    const text = await file.text();
    return text.slice(Math.max(0, text.indexOf(this.mark ?? ""))).slice(0, (this.limit ?? 0) + 1);
  }
}

export default mount(ExperimentFile);
