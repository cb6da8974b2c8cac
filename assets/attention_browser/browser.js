// The attention browser: holds the reader's choice, draws, and tells the server what was chosen.

// Long enough that holding an arrow key sends one message, short enough to seem at once.
const TELL_AFTER = 250;

class AttentionBrowser {
  constructor(parent) {
    this.panel = panel((part) => this.change(part), (format) => this.save(format), () => this.keys.showModal());
    this.chips = headChips((head) => this.toggleHead(head));
    this.large = element("canvas", { class: "large", tabindex: 0, role: "application" });
    this.grid = element("canvas", { class: "grid", tabindex: 0, role: "application" });
    this.readout = element("p", { class: "readout" });
    this.note = element("p", { class: "note" });
    this.spoken = element("p", { class: "spoken", "aria-live": "polite" });
    this.keys = keysDialog();
    this.figure = element("div", { class: "figure" }, this.large, this.chips);
    this.overview = element("div", { class: "overview" }, this.grid, this.readout, this.note);
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

  // New data of the server, or the same again after a change of theme.
  async show(bytes) {
    const fresh = bytes !== this.bytes;
    this.bytes = bytes;
    if (fresh) {
      const data = await unpack(bytes);
      if (bytes !== this.bytes) return; // overtaken by newer data
      this.data = data;
      // The server asks for a choice when a link was opened; otherwise the reader's own stays.
      if (!this.choice || data.header.asked.number !== this.asked) this.choice = { heads: [], ...data.header.asked.choice };
      this.asked = data.header.asked.number;
      this.hover = null;
      this.hoveredHead = null;
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
    markGrid(surface, geometry, header.glance ? null : choice, this.hoveredHead, theme);
    this.gridGeometry = geometry;
    this.grid.setAttribute("aria-label", `${header.title}: all ${header.layers} layers by ${header.heads} heads. `
      + `Layer ${choice.layer + 1}, head ${choice.head + 1} is chosen; arrow keys choose another.`);
  }

  drawFigure() {
    const { large, arranged, geometry, draw } = this.pictured();
    draw(new CanvasSurface(large, geometry.width, geometry.height, window.devicePixelRatio));
    this.geometry = geometry;
    const { choice, data: { header } } = this;
    large.setAttribute("aria-label", `${header.title}, layer ${choice.layer + 1}, head ${choice.head + 1}, `
      + `${arranged.rows.length} by ${arranged.columns.length}. Arrow keys read the cells.`);
  }

  // The large figure: where everything is, and a function that draws it on a surface.
  pictured() {
    const { choice, theme, shades, data } = this;
    const arranged = this.arranged();
    const selected = this.selected(arranged);
    const width = this.figure.clientWidth;
    const figure = { arranged, choice, shades, theme, hover: this.hover, selected,
      axes: data.header.axes[choice.words ? "words" : "pieces"] };
    if (choice.look === "lines") {
      const geometry = linesGeometry(arranged, width);
      const drawn = [choice.head, ...choice.heads.filter((head) => head !== choice.head && head < data.header.heads)];
      const heads = drawn.map((head) => (
        { head, arranged: this.arranged(choice.layer, head), colour: HEAD_COLOURS[head % HEAD_COLOURS.length] }));
      return { large: this.large, arranged, geometry, draw: (surface) => drawLines(surface, geometry, { ...figure, heads }) };
    }
    const geometry = mapGeometry(arranged, width, { rows: selected.rows.size, columns: selected.columns.size });
    return { large: this.large, arranged, geometry, draw: (surface) => drawMap(surface, geometry, figure) };
  }

  // The text below: what the pointer or the pinned cell says, and what is left out.
  describe() {
    const { choice, hoveredHead } = this;
    const place = hoveredHead ?? choice;
    const arranged = this.arranged(place.layer, place.head);
    const selected = this.selected(arranged);
    const pinned = { row: [...selected.rows][0], column: [...selected.columns][0] };
    const at = hoveredHead ?? this.hover ?? pinned;
    const value = this.metric?.values[place.layer * this.data.header.heads + place.head] ?? null;
    const metric = value === null ? "" : `, ${this.metric.name}: ${value.toFixed(2)} (${this.metric.unit})`;
    const head = element("strong", {}, `Layer ${place.layer + 1}, head ${place.head + 1}`);
    this.readout.replaceChildren(...(this.data.header.glance && !hoveredHead
      ? ["Point at a head to read it."] : [head, `${metric}. ${sentenceOf(arranged, at)}`]));
    const notes = [];
    const least = choice.look === "lines" ? Math.max(FAINTEST, choice.threshold / 100) : choice.threshold / 100;
    if (least > 0) notes.push(`Weights below ${least.toFixed(2)} are left out.`);
    if (selected.rows.size > 1) notes.push(`The bars below are the sum of ${selected.rows.size} rows.`);
    if (selected.columns.size > 1) notes.push(`The bars at the right are the sum of ${selected.columns.size} columns.`);
    if (choice.scale !== SCALES[0]) notes.push(`Colours: ${choice.scale}.`);
    const most = this.strongest(at);
    if (most) notes.push(`Of all heads, layer ${most.layer + 1}, head ${most.head + 1} looks there most: ${most.weight}.`);
    this.note.textContent = notes.join(" ");
  }

  // The head of all layers with the largest weight from this row to this column; null without such a cell.
  strongest(at) {
    if (at?.row === undefined || at?.column === undefined) return null;
    const { layers, heads } = this.data.header;
    let most = null;
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < heads; head++) {
        const arranged = this.arranged(layer, head);
        const cell = at.row * arranged.columns.length + at.column;
        if (arranged.masked[cell]) return null;
        if (!most || arranged.values[cell] > most.value) {
          most = { layer, head, value: arranged.values[cell], weight: shownWeight(arranged, at.row, at.column) };
        }
      }
    }
    return most;
  }

  // For those who hear the page instead of seeing it.
  say() {
    const { choice } = this;
    const arranged = this.arranged();
    this.spoken.textContent = `Layer ${choice.layer + 1}, head ${choice.head + 1}: ${sentenceOf(arranged, this.hover)}`;
  }

  save(format) {
    const { choice, theme, data: { header } } = this;
    const arranged = this.arranged();
    if (format === "CSV") return saveFile(fileName(header, choice, "csv"), "text/csv", csvOf(arranged));
    if (format === "JSON") {
      return saveFile(fileName(header, choice, "json"), "application/json", jsonOf(header, choice, arranged));
    }
    const { geometry, draw } = this.pictured();
    return savePicture(format, fileName(header, choice, ""), {
      width: geometry.width, height: geometry.height, draw, background: theme.background,
      description: descriptionOf(header, choice, arranged),
    });
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
    this.root.onkeydown = (event) => this.press(event);
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

  press(event) {
    const elsewhere = this.keys.open || event.target.matches("select, input");
    if (elsewhere || event.ctrlKey || event.metaKey || event.altKey || !this.data) return;
    const { layers, heads, glance } = this.data.header;
    const { choice } = this;
    const kept = (value, count) => Math.min(count - 1, Math.max(0, value));
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const act = {
      "[": () => this.change({ layer: kept(choice.layer - 1, layers) }),
      "]": () => this.change({ layer: kept(choice.layer + 1, layers) }),
      ",": () => this.change({ head: kept(choice.head - 1, heads) }),
      ".": () => this.change({ head: kept(choice.head + 1, heads) }),
      "m": () => this.change({ look: choice.look === "map" ? "lines" : "map" }),
      "w": () => this.change({ words: !choice.words }),
      "?": () => this.keys.showModal(),
      "Escape": () => { this.hover = null; this.change({ rows: [], columns: [] }); },
    }[event.key];
    if (step && event.target === this.grid) {
      this.change({ layer: kept(choice.layer + step[0], layers), head: kept(choice.head + step[1], heads) });
    } else if (step && event.target === this.large) {
      const { rows, columns } = this.arranged();
      const { row = 0, column = 0 } = this.hover ?? {};
      this.hover = this.hover === null ? { row, column }
        : { row: kept(row + step[0], rows.length), column: kept(column + step[1], columns.length) };
      this.draw();
      this.say();
    } else if (event.key === "Enter" && event.target === this.large) {
      this.pin(this.hover, event.shiftKey);
    } else if (event.key === "Enter" && event.target === this.grid && glance) {
      this.open(choice);
    } else if (act && !glance) {
      act();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

// One sentence about a cell, a row or a column of a head.
function sentenceOf(arranged, at) {
  const { rows, columns, values } = arranged;
  const row = rows[at?.row];
  const column = columns[at?.column];
  if (row && column) {
    const weight = shownWeight(arranged, at.row, at.column);
    if (weight === "masked") return `“${row.label}” (row ${at.row + 1}) may not look at “${column.label}”: masked`;
    return `“${row.label}” (row ${at.row + 1}) looks at “${column.label}” (column ${at.column + 1}) with ${weight}`;
  }
  const most = (count, valueAt, label) => Array.from({ length: count }, (_, i) => i)
    .sort((a, b) => valueAt(b) - valueAt(a)).slice(0, 3).map((i) => `“${label(i)}” ${valueAt(i).toFixed(4)}`).join(", ");
  if (row) {
    return `“${row.label}” looks most at `
      + most(columns.length, (c) => values[at.row * columns.length + c], (c) => columns[c].label);
  }
  if (column) {
    return `“${column.label}” is looked at most by `
      + most(rows.length, (r) => values[r * columns.length + at.column], (r) => rows[r].label);
  }
  return "Point at a cell to read it, click to pin it.";
}

const browsers = new WeakMap();

// Called by Streamlit at the start, and again with new data or another theme.
export default function attentionBrowser({ data, parentElement, setStateValue, setTriggerValue }) {
  const browser = browsers.get(parentElement) ?? new AttentionBrowser(parentElement);
  browsers.set(parentElement, browser);
  browser.tell = setStateValue;
  browser.trigger = setTriggerValue;
  browser.show(data);
  return () => {
    browsers.delete(parentElement);
    browser.close();
  };
}
