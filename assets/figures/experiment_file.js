// Opens a saved experiment, or a figure that contains one, and sends only the experiment to the server.

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
   * Returns up to `limit` + 1 characters of the file's text, starting at `mark`, which precedes an experiment. If the
   * file does not contain it, returns the beginning of the file, so that the server reports the error.
   * @param {File} file
   */
  async experimentIn(file) {
    const text = await file.text();
    return text.slice(Math.max(0, text.indexOf(this.mark ?? ""))).slice(0, (this.limit ?? 0) + 1);
  }
}

export default mount(ExperimentFile);
