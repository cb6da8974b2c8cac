// Maps side by side; pointing at a cell points at it in all of them.

const DIFFERENCE = "difference";

class SideBySide {
  constructor(parent) {
    this.maps = element("div", { class: "maps" });
    this.readout = element("p", { class: "readout" });
    this.spoken = element("p", { class: "spoken", "aria-live": "polite" });
    this.root = element("div", { class: "atlas" }, this.maps, this.readout, this.spoken);
    parent.append(this.root);
    this.root.onkeydown = (event) => this.press(event);
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(this.root);
  }

  close() {
    this.resizing.disconnect();
    this.root.remove();
  }

  // sides: [{ title, axes, rows: [label], columns: [label], values, masked, scale, measure }]
  show({ sides }) {
    this.hover = null;
    this.sides = sides.map((side) => {
      const values = Float32Array.from(side.values);
      return {
        title: side.title,
        axes: side.axes,
        scale: side.scale,
        measure: side.measure,
        arranged: {
          rows: side.rows.map((label) => ({ label })), columns: side.columns.map((label) => ({ label })),
          values, masked: Uint8Array.from(side.masked), largest: values.reduce((most, value) => Math.max(most, Math.abs(value)), 0),
        },
      };
    });
    this.maps.replaceChildren(...this.sides.map((side) => {
      side.canvas = element("canvas", { tabindex: 0, role: "application", "aria-label": `${side.title}. Arrow keys read the cells.` });
      side.canvas.onmousemove = (event) => this.point(side.geometry ? hitMap(side.geometry, event.offsetX, event.offsetY) : null);
      side.canvas.onmouseleave = () => this.point(null);
      side.box = element("div", {}, element("strong", {}, side.title), side.canvas);
      return side.box;
    }));
    this.draw();
  }

  point(hit) {
    if (hit?.row === this.hover?.row && hit?.column === this.hover?.column) return;
    this.hover = hit;
    this.draw();
  }

  draw() {
    if (this.waiting || !this.sides) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      if (!this.root.isConnected || !this.root.clientWidth) return;
      const theme = themeOf(this.root);
      const selected = { rows: new Set(), columns: new Set() };
      for (const side of this.sides) {
        const choice = { scale: side.scale, threshold: 0 };
        const shades = shadesOf(side.scale === DIFFERENCE ? DIFFERENCE : "viridis");
        side.geometry = mapGeometry(side.arranged, side.box.clientWidth, false);
        const surface = new CanvasSurface(side.canvas, side.geometry.width, side.geometry.height, window.devicePixelRatio);
        const { arranged, axes, measure } = side;
        drawMap(surface, side.geometry, { arranged, choice, shades, theme, hover: this.hover, selected, axes, measure });
      }
      this.readout.textContent = this.told();
      this.root.dataset.drawn = "maps";
    });
  }

  // What all of them say of the cell, row or column that is pointed at.
  told() {
    if (!this.hover) return "Point at a cell to read it in all maps.";
    const { row, column } = this.hover;
    return this.sides.filter(({ arranged }) => !(row >= arranged.rows.length) && !(column >= arranged.columns.length))
      .map(({ title, arranged }) => {
        if (row === undefined || column === undefined) return `${title}: ${(arranged.rows[row] ?? arranged.columns[column]).label}`;
        return `${title}: ${quote(arranged.rows[row].label)} to ${quote(arranged.columns[column].label)} ${shownWeight(arranged, row, column)}`;
      }).join(" · ");
  }

  press(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const side = this.sides.find(({ canvas }) => canvas === event.target);
    if (!step || !side) return;
    const { row = 0, column = 0 } = this.hover ?? {};
    const kept = (value, count) => Math.min(count - 1, Math.max(0, value));
    this.hover = {
      row: kept(row + (this.hover ? step[0] : 0), side.arranged.rows.length),
      column: kept(column + (this.hover ? step[1] : 0), side.arranged.columns.length),
    };
    this.spoken.textContent = this.told();
    this.draw();
    event.preventDefault();
  }
}

const shownMaps = new WeakMap();

export default function sideBySide({ data, parentElement }) {
  const shown = shownMaps.get(parentElement) ?? new SideBySide(parentElement);
  shownMaps.set(parentElement, shown);
  shown.show(data);
  return () => {
    shownMaps.delete(parentElement);
    shown.close();
  };
}
