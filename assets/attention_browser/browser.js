// The attention browser: holds the reader's choice, draws, and tells the server what was chosen.

// Long enough that holding an arrow key sends one message, short enough to seem at once.
const TELL_AFTER = 250;

class AttentionBrowser {
  constructor(parent) {
    this.panel = panel((part) => this.change(part), (format) => save(this, format),
      () => archiveOf(this.data.header) !== null, () => this.keys.showModal());
    this.chips = headChips((head) => this.toggleHead(head));
    this.large = element("canvas", { class: "large", tabindex: 0, role: "application" });
    this.grid = element("canvas", { class: "grid", tabindex: 0, role: "application" });
    this.readout = element("p", { class: "readout" });
    this.note = element("p", { class: "note" });
    this.best = element("button", { type: "button", class: "best", hidden: true }, "Show that head");
    this.spoken = element("p", { class: "spoken", "aria-live": "polite" });
    this.keys = keysDialog();
    this.figure = element("div", { class: "figure" }, this.large, this.chips);
    this.overview = element("div", { class: "overview" }, this.grid, this.readout, this.note, this.best);
    this.stage = element("div", { class: "stage" }, this.figure, this.overview);
    this.root = element("div", { class: "atlas" }, this.panel, this.stage, this.spoken, this.keys);
    parent.append(this.root);
    this.hover = null;
    this.hoveredHead = null;
    this.asked = null;
    this.listen();
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(this.root);
  }

  close() {
    this.resizing.disconnect();
    this.root.remove();
  }

  // New data of the server, or the same again after a change of theme. `choice` is what a file shows at first.
  async show(bytes, choice) {
    const fresh = bytes !== this.bytes;
    this.bytes = bytes;
    if (fresh) {
      const data = await unpack(bytes);
      if (bytes !== this.bytes) return; // overtaken by newer data
      const { header } = data;
      const before = this.data?.header;
      this.data = data;
      // The server asks for a choice when a link was opened; otherwise the reader's own stays.
      const asks = !this.choice || header.asked.number !== this.asked;
      if (asks) this.choice = { heads: [], ...(choice ?? header.asked.choice) };
      this.asked = header.asked.number;
      // So does the cell that the keyboard is at, which is told again with every pin.
      if (asks || header.id !== before.id || header.kind !== before.kind) this.hover = this.hoveredHead = null;
    }
    if (!this.data) return;
    this.root.classList.toggle("glance", this.data.header.glance);
    this.drawn = null;
    this.draw();
  }

  // What is chosen, kept to what exists in this sentence.
  validChoice() {
    const { layers, heads, queries, keys, metrics } = this.data.header;
    const choice = this.choice;
    choice.layer = Math.min(choice.layer, layers - 1);
    choice.head = Math.min(choice.head, heads - 1);
    choice.rows = choice.rows.filter((row) => row < queries);
    choice.columns = choice.columns.filter((column) => column < keys);
    if (!metrics.some(({ key }) => key === choice.metric)) choice.metric = "";
    if (!(choice.palette in PALETTES)) choice.palette = "viridis";
    return choice;
  }

  change(part) {
    Object.assign(this.choice, part);
    // The text is about the head that was just chosen, wherever the pointer rests.
    if ("layer" in part || "head" in part) this.hoveredHead = null;
    // Rows and columns are others now, and there may be fewer.
    if ("words" in part || "hide" in part) this.hover = null;
    this.draw();
    this.say();
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      const { heads, ...told } = this.choice;
      this.tell("choice", told);
    }, TELL_AFTER);
  }

  toggleHead(head) {
    if (head === this.choice.head) return;
    const { heads } = this.choice;
    this.change({ heads: heads.includes(head) ? heads.filter((other) => other !== head) : [...heads, head] });
  }

  // Indices of rows and columns of this arrangement that hold selected pieces.
  selected(arranged) {
    const indices = (side, pieces) => new Set(
      side.flatMap(({ positions }, index) => (positions.some((position) => pieces.includes(position)) ? [index] : [])));
    return { rows: indices(arranged.rows, this.choice.rows), columns: indices(arranged.columns, this.choice.columns) };
  }

  // Pin what was clicked, or release it; with `add`, beside what is pinned.
  pin(hit, add) {
    const arranged = this.arranged();
    const toggled = (old, side, index) => {
      if (index === undefined) return add ? old : [];
      const { positions } = side[index];
      const without = old.filter((position) => !positions.includes(position));
      if (without.length < old.length && (add || old.length === positions.length)) return without;
      return add ? [...old, ...positions] : [...positions];
    };
    this.change({
      rows: toggled(this.choice.rows, arranged.rows, hit?.row),
      columns: toggled(this.choice.columns, arranged.columns, hit?.column),
    });
  }

  arranged(layer = this.choice.layer, head = this.choice.head) {
    return arrange(this.data, this.choice, layer, head);
  }

  // Everything on the next frame, however many things changed.
  draw() {
    if (this.waiting || !this.data) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      if (!this.root.isConnected || !this.root.clientWidth) return;
      const choice = this.validChoice();
      const { header } = this.data;
      this.theme = themeOf(this.root);
      this.shades = shadesOf(choice.palette);
      this.metric = header.metrics.find(({ key }) => key === choice.metric) ?? null;
      this.drawOverview();
      if (!header.glance) {
        this.panel.reflect(choice, header);
        this.chips.reflect(choice, header.heads);
        this.drawFigure();
      }
      this.describe();
      this.root.dataset.drawn = `${header.kind} ${header.id} ${choice.layer + 1} ${choice.head + 1}`;
    });
  }

  drawOverview() {
    const { header } = this.data;
    const { choice, theme, shades, metric } = this;
    const density = window.devicePixelRatio;
    const geometry = gridGeometry(header, this.overview.clientWidth, Boolean(metric));
    // The small maps are drawn again only if they look different; frames come on top.
    const look = JSON.stringify([header.id, arrangementName(choice), choice.scale, choice.palette, choice.threshold,
      choice.metric, geometry.width, density, theme]);
    if (look !== this.drawn) {
      this.maps = document.createElement("canvas");
      drawGrid(new CanvasSurface(this.maps, geometry.width, geometry.height, density), geometry,
        { data: this.data, choice, shades, theme, metric });
      this.drawn = look;
    }
    const surface = new CanvasSurface(this.grid, geometry.width, geometry.height, density);
    surface.context.drawImage(this.maps, 0, 0, geometry.width, geometry.height);
    markGrid(surface, geometry, this.chooses() ? choice : null, this.hoveredHead, theme);
    this.gridGeometry = geometry;
    this.grid.setAttribute("aria-label", `${header.title}: all ${header.layers} layers by ${header.heads} heads. `
      + `Layer ${choice.layer + 1}, head ${choice.head + 1} is chosen; arrow keys choose another.`);
  }

  drawFigure() {
    const { large } = this;
    const { arranged, geometry, draw } = this.pictured();
    draw(new CanvasSurface(large, geometry.width, geometry.height, window.devicePixelRatio));
    this.geometry = geometry;
    const { choice, data: { header } } = this;
    large.setAttribute("aria-label", `${header.title}, layer ${choice.layer + 1}, head ${choice.head + 1}, `
      + `${arranged.rows.length} by ${arranged.columns.length}. Arrow keys read the cells.`);
  }

  // The large figure: where everything is, how far down it goes, and a function that draws it on a surface.
  pictured() {
    const { choice, theme, shades, data } = this;
    const arranged = this.arranged();
    const selected = this.selected(arranged);
    const width = this.figure.clientWidth;
    const figure = { arranged, choice, shades, theme, hover: this.hover, selected,
      axes: data.header.axes[choice.words ? "words" : "pieces"], measure: "weight" };
    if (choice.look === "lines") {
      const geometry = linesGeometry(arranged, width);
      const drawn = [choice.head, ...choice.heads.filter((head) => head !== choice.head && head < data.header.heads)];
      const heads = drawn.map((head) => (
        { head, arranged: this.arranged(choice.layer, head), colour: HEAD_COLOURS[head % HEAD_COLOURS.length] }));
      return { arranged, geometry, theme, end: geometry.height,
        draw: (surface) => drawLines(surface, geometry, { ...figure, heads }) };
    }
    const geometry = mapGeometry(arranged, width, true);
    // The room for bars is kept free on the screen; a saved picture with nothing below the map needs none.
    return { arranged, geometry, theme, end: selected.rows.size || geometry.narrow ? geometry.height : geometry.bottom + 6,
      draw: (surface) => drawMap(surface, geometry, figure) };
  }

  // Where there is only the grid, a head is chosen by the keyboard alone, and only while that is in the grid.
  chooses() {
    return !this.data.header.glance || this.grid.matches(":focus-visible");
  }

  // The text below: what the pointer or what is pinned says, and what was done to the numbers.
  describe() {
    const { choice, hoveredHead, data } = this;
    const place = hoveredHead ?? choice;
    const arranged = this.arranged(place.layer, place.head);
    const selected = this.selected(arranged);
    const at = hoveredHead ?? this.hover;
    const value = this.metric?.values[place.layer * data.header.heads + place.head] ?? null;
    const metric = value === null ? "" : `, ${this.metric.name}: ${value.toFixed(2)} (${this.metric.unit})`;
    const head = element("strong", {}, `Layer ${place.layer + 1}, head ${place.head + 1}`);
    const says = hoveredHead || !data.header.glance ? [head, `${metric}. ${told(arranged, at, selected)}`]
      : this.chooses() ? [head, ". Enter opens it."] : ["Point at a head to read it."];
    this.readout.replaceChildren(...says);
    const pinned = pinnedCell(selected);
    const best = strongest(data, choice, at ?? pinned);
    this.note.textContent = [...notesOf(choice, selected),
      ...(best ? [`Of all heads, layer ${best.layer + 1}, head ${best.head + 1} looks there most: ${best.weight}.`] : []),
    ].join(" ");
    // The way there stays in reach: it belongs to what is pinned, not to what the pointer passes.
    const elsewhere = Boolean(hoveredHead) || (at !== null && (at.row !== pinned.row || at.column !== pinned.column));
    this.best.hidden = elsewhere || !best || (best.layer === choice.layer && best.head === choice.head);
    this.best.onclick = () => {
      this.change({ layer: best.layer, head: best.head });
      // The button goes away; the arrow keys should go on from the head.
      this.grid.focus({ preventScroll: true });
    };
  }

  // For those who hear the page instead of seeing it.
  say() {
    const { choice } = this;
    const arranged = this.arranged();
    this.spoken.textContent = `Layer ${choice.layer + 1}, head ${choice.head + 1}: `
      + told(arranged, this.hover, this.selected(arranged));
  }

  listen() {
    const place = (event) => [event.offsetX, event.offsetY];
    this.large.onmousemove = (event) => this.point(this.hitLarge(...place(event)));
    this.large.onmouseleave = () => this.point(null);
    this.large.onclick = (event) => this.pin(this.hitLarge(...place(event)), event.shiftKey);
    this.grid.onmousemove = (event) => this.pointHead(hitGrid(this.gridGeometry, ...place(event)));
    this.grid.onmouseleave = () => this.pointHead(null);
    this.grid.onclick = (event) => {
      const hit = hitGrid(this.gridGeometry, ...place(event));
      if (hit) this.open(hit);
    };
    this.grid.onfocus = this.grid.onblur = () => this.draw();
    this.root.onkeydown = (event) => press(this, event);
  }

  hitLarge(x, y) {
    if (!this.geometry) return null;
    return this.choice.look === "lines" ? hitLines(this.geometry, this.arranged(), x, y) : hitMap(this.geometry, x, y);
  }

  point(hit) {
    if (hit?.row === this.hover?.row && hit?.column === this.hover?.column) return;
    this.hover = hit;
    this.draw();
  }

  pointHead(hit) {
    if (!hit && !this.hoveredHead) return;
    this.hoveredHead = null;
    if (hit) {
      const { rows, columns } = this.arranged(hit.layer, hit.head);
      const row = Math.floor(hit.down * rows.length);
      const column = Math.floor(hit.across * columns.length);
      const inside = row >= 0 && row < rows.length && column >= 0 && column < columns.length;
      this.hoveredHead = { layer: hit.layer, head: hit.head, ...(inside ? { row, column } : {}) };
    }
    this.draw();
  }

  // A head was chosen in the grid; where there is only the grid, it is opened on its own page.
  open({ layer, head }) {
    if (this.data.header.glance) this.trigger("open", { layer, head });
    else this.change({ layer, head });
  }
}

const browsers = new WeakMap();

// Called by Streamlit at the start, and again with new data or another theme; by a file with the choice that it shows.
export default function attentionBrowser({ data, choice, parentElement, setStateValue, setTriggerValue }) {
  const browser = browsers.get(parentElement) ?? new AttentionBrowser(parentElement);
  browsers.set(parentElement, browser);
  browser.tell = setStateValue;
  browser.trigger = setTriggerValue;
  browser.show(data, choice);
  return () => {
    browsers.delete(parentElement);
    browser.close();
  };
}
