// Decoding, step by step: holds the course that the reader takes, shows it, and tells the server.

// Long enough that holding an arrow key sends one message, short enough to seem at once.
const TELL_AFTER = 250;
// What the server must decode again for; everything else is shown with what is here.
const DECODED = ["method", "size", "alpha", "temperature", "top_k", "top_p", "seed", "forced", "never"];

class DecodingSteps {
  constructor(parent) {
    const go = (step) => this.go(step);
    this.speed = 1;
    this.strip = strip(go);
    this.transport = transport({
      go, toggle: () => (this.playing ? this.pause() : this.play()), hesitate: () => this.go(this.road.hesitation),
      pace: (speed) => { this.speed = speed; if (this.playing) this.play(); },
    });
    this.keys = stepKeys();
    this.settings = settings((part) => this.decode(part), (part) => this.view(part), {
      showKeys: () => this.keys.showModal(), showTree: () => this.tree.scrollIntoView({ block: "start" }),
    });
    this.roads = roads((course, parts) => this.decode(course, parts ?? this.course.step),
      (piece) => this.decode({ never: this.course.never.filter((other) => other !== piece) }));
    this.heading = element("h3", { class: "in-out" });
    this.numbers = element("p", { class: "numbers" });
    this.says = element("p", { class: "says", "aria-live": "polite" });
    this.candidates = candidates({
      take: (piece) => this.take(piece), ban: (piece) => this.ban(piece),
      type: (text) => this.type(text),
    });
    this.looks = looks((part) => this.view(part));
    this.layers = layerByLayer();
    this.tree = tree({ look: (node) => this.view({ node }),
      follow: (forced, step) => this.decode({ forced, never: [] }, step) });
    this.root = element("div", { class: "steps" }, this.strip, this.transport, this.settings, this.roads,
      element("div", { class: "now" }, this.heading, this.numbers, this.says),
      element("div", { class: "stage" }, this.candidates, element("div", {}, this.looks, this.layers)),
      this.tree, this.keys);
    parent.append(this.root);
    this.root.onkeydown = (event) => this.press(event);
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(this.root);
  }

  close() {
    clearTimeout(this.timer);
    clearTimeout(this.telling);
    this.resizing.disconnect();
    this.root.remove();
  }

  async show(bytes) {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      const road = new Road(await unpack(bytes));
      if (bytes !== this.bytes) return; // overtaken by newer data
      // The server asks for a course when a link was opened; otherwise the reader's own stays.
      if (!this.course || road.asked.number !== this.asked) {
        this.pause();
        this.course = { ...road.asked.course };
      }
      this.asked = road.asked.number;
      this.road = road;
      this.filled = null;
    }
    this.draw();
  }

  // The ids of everything written before this step.
  before() {
    return this.road.steps.slice(0, this.course.step).map(({ id }) => id);
  }

  go(step) {
    this.pause();
    this.view({ step: Math.min(this.road.count - 1, Math.max(0, step)) });
  }

  take(piece) {
    this.decode({ forced: [...this.before(), piece] });
  }

  ban(piece) {
    const { never } = this.course;
    const others = never.filter((other) => other !== piece);
    if (others.length < never.length) {
      this.decode({ never: others });
      return;
    }
    // What was forced from here on stays, up to the piece that is banned.
    const forced = this.course.forced.slice(this.course.step);
    const kept = forced.includes(piece) ? forced.slice(0, forced.indexOf(piece)) : forced;
    this.decode({ forced: [...this.before(), ...kept], never: [...never, piece].sort((a, b) => a - b) });
  }

  // The server makes pieces of a typed word; it answers with the course that they lead along.
  type(text) {
    this.pause();
    clearTimeout(this.telling);
    this.trigger("typed", { ...this.course, forced: this.before(), node: 0, text });
  }

  play() {
    clearTimeout(this.timer);
    if (!this.playing && this.course.step >= this.road.count - 1) this.course.step = 0;
    this.playing = true;
    this.timer = setTimeout(() => {
      this.course.step += 1;
      if (this.course.step >= this.road.count - 1) this.pause();
      else this.play();
      this.draw();
    }, (1000 * PACE) / this.speed);
    this.draw();
  }

  pause() {
    if (!this.playing) return;
    clearTimeout(this.timer);
    this.playing = false;
    this.view({});
  }

  // Look at something else of this road.
  view(part) {
    Object.assign(this.course, part);
    this.draw();
    this.send(TELL_AFTER);
  }

  // Take another road.
  decode(part, step = this.course.step) {
    this.pause();
    Object.assign(this.course, { node: 0 }, part, { step });
    this.draw();
    this.send(0);
  }

  send(after) {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.tell("course", { ...this.course }), after);
  }

  draw() {
    if (this.waiting || !this.road) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      if (!this.root.isConnected || !this.root.clientWidth) return;
      const { road, course } = this;
      course.layer = Math.min(course.layer, road.layers - 1);
      course.head = Math.min(course.head, road.heads - 1);
      const busy = DECODED.some((name) => JSON.stringify(course[name]) !== JSON.stringify(road.course[name]));
      this.root.classList.toggle("busy", busy);
      const step = Math.min(course.step, road.count - 1);
      if (!busy) course.step = step;
      const theme = { shades: this.shades ??= shadesOf("viridis"), text: getComputedStyle(this.root).color };
      if (this.filled !== road) {
        this.strip.fill(road, theme.shades);
        this.roads.reflect(road);
        this.filled = road;
      }
      this.strip.mark(step);
      this.transport.reflect(step, road.count, this.playing);
      this.settings.reflect(course, road);
      this.describe(road, step);
      this.candidates.reflect(road, step);
      this.looks.reflect(road, { ...course, step }, theme);
      this.layers.reflect(road, step);
      this.tree.reflect(road, course, theme.shades);
      this.root.dataset.drawn = `${road.id} ${step + 1}${busy ? " busy" : ""}`;
    });
  }

  describe(road, step) {
    const { logProb, rank, out, forced } = road.steps[step];
    this.heading.replaceChildren("in: ", element("b", {}, road.read[step]), " → out: ", element("b", {}, out));
    this.numbers.textContent = `probability ${probabilityOf(logProb)}, rank ${rank}, `
      + `log-probability ${NATS(logProb)} nats; ${NATS(road.scoreAt(step))} so far, `
      + `${NATS(road.scoreAt(road.count - 1))} in all${forced ? "; this piece is forced" : ""}`;
    this.says.textContent = sentenceOfStep(road, step);
  }

  press(event) {
    const elsewhere = this.keys.open || event.target.matches("select, input");
    if (elsewhere || event.ctrlKey || event.metaKey || event.altKey || !this.road) return;
    const { course, road } = this;
    const kept = (value, count) => Math.min(count - 1, Math.max(0, value));
    const act = {
      "ArrowLeft": () => this.go(course.step - 1), "ArrowRight": () => this.go(course.step + 1),
      "Home": () => this.go(0), "End": () => this.go(road.count - 1),
      "h": () => this.go(road.hesitation), "?": () => this.keys.showModal(),
      "[": () => this.view({ layer: kept(course.layer - 1, road.layers) }),
      "]": () => this.view({ layer: kept(course.layer + 1, road.layers) }),
      ",": () => this.view({ head: kept(course.head - 1, road.heads) }),
      ".": () => this.view({ head: kept(course.head + 1, road.heads) }),
    }[event.key];
    const numbered = /^[0-9]$/.test(event.key) ? (Number(event.key) + 9) % 10 : -1;
    const candidate = road.steps[course.step]?.candidates[numbered];
    // A button that has the focus is pressed by the space bar; only the strip has no other use for it.
    if (event.key === " " && (event.target === this.root || this.strip.contains(event.target))) {
      if (this.playing) this.pause();
      else this.play();
    } else if (candidate) {
      this.take(candidate[0]);
    } else if (act) {
      act();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

const shown = new WeakMap();

// Called by Streamlit at the start, and again with new data or another theme.
export default function decodingSteps({ data, parentElement, setStateValue, setTriggerValue }) {
  const steps = shown.get(parentElement) ?? new DecodingSteps(parentElement);
  shown.set(parentElement, steps);
  steps.tell = setStateValue;
  steps.trigger = setTriggerValue;
  steps.show(data);
  return () => {
    shown.delete(parentElement);
    steps.close();
  };
}
