// The same weights as lines: pieces that look at the left, pieces looked at at the right.

// Lines of less than this are too many and too faint to see; the figure says so.
const FAINTEST = 0.02;
const THICKEST = 9;

function linesGeometry(arranged, width) {
  const { rows, columns } = arranged;
  const longest = (side) => Math.max(...side.map((label) => textWidth(label.label, LABEL_SIZE, true)));
  const left = Math.min(longest(rows), width * 0.36) + 34;
  const right = width - Math.min(longest(columns), width * 0.26) - 34;
  const most = Math.max(rows.length, columns.length);
  const pitch = Math.max(LABEL_SIZE + 3, Math.min(30, 620 / most));
  const top = 40;
  // The shorter side is centred beside the longer one.
  const start = (count) => top + ((most - count) * pitch) / 2;
  return {
    left, right, pitch, top, width, height: Math.ceil(top + most * pitch + 8),
    rowY: (row) => start(rows.length) + (row + 0.5) * pitch,
    columnY: (column) => start(columns.length) + (column + 0.5) * pitch,
  };
}

// figure: as for the map, and heads: [{ head, arranged, colour }], whose lines are drawn.
function drawLines(surface, geometry, { arranged, heads, choice, theme, hover, selected, axes }) {
  const { rows, columns } = arranged;
  const { left, right } = geometry;
  const least = Math.max(FAINTEST, choice.threshold / 100);
  const shown = shownLines(hover, selected);
  for (const { arranged: one, colour } of heads) {
    for (let row = 0, at = 0; row < rows.length; row++) {
      for (let column = 0; column < columns.length; column++, at++) {
        const value = one.values[at];
        if (value < least || one.masked[at] || !shown(row, column)) continue;
        const strength = onScale(value, choice.scale, one.largest);
        surface.line(left + 6, geometry.rowY(row), right - 6, geometry.columnY(column), colour,
          0.5 + strength * (THICKEST - 0.5), 0.25 + 0.6 * strength);
      }
    }
  }
  const ink = (marked) => ({ size: LABEL_SIZE, fill: marked ? theme.chosen : theme.text, bold: marked });
  rows.forEach((row, index) => {
    const marked = index === hover?.row || selected.rows.has(index);
    surface.text(left - 2, geometry.rowY(index), shortened(row.label, left - 12, LABEL_SIZE, marked),
      { ...ink(marked), anchor: "end" });
  });
  columns.forEach((column, index) => {
    const marked = index === hover?.column || selected.columns.has(index);
    surface.text(right + 2, geometry.columnY(index),
      shortened(column.label, geometry.width - right - 8, LABEL_SIZE, marked), ink(marked));
  });
  const title = { size: TITLE_SIZE, fill: theme.text };
  surface.text(left, 14, axes.from, { ...title, anchor: left > geometry.width / 3 ? "end" : "middle" });
  surface.text(right, 14, axes.to, { ...title, anchor: "middle" });
}

// Which lines are drawn: those of the piece under the pointer, else of the selected pieces, else all.
function shownLines(hover, selected) {
  if (hover?.row !== undefined) return (row) => row === hover.row;
  if (hover?.column !== undefined) return (_, column) => column === hover.column;
  if (!selected.rows.size && !selected.columns.size) return () => true;
  return (row, column) => selected.rows.has(row) || selected.columns.has(column);
}

// The piece under the pointer: { row } at the left, { column } at the right, or null.
function hitLines(geometry, arranged, x, y) {
  const nearest = (count, yOf) => {
    const index = Math.floor((y - yOf(0)) / geometry.pitch + 0.5);
    return index >= 0 && index < count ? index : undefined;
  };
  if (x < geometry.left + 12) {
    const row = nearest(arranged.rows.length, geometry.rowY);
    return row === undefined ? null : { row };
  }
  if (x > geometry.right - 12) {
    const column = nearest(arranged.columns.length, geometry.columnY);
    return column === undefined ? null : { column };
  }
  return null;
}
