// One head, large: rows look, columns are looked at.

const LABEL_SIZE = 13;
const TITLE_SIZE = 14;
const COLUMN_ANGLE = -Math.PI / 3;
// Room for the colours and what they stand for: beside the map, or below one with too little room beside it.
const LEGEND = 74;
const LEGEND_BELOW = 40;
// The length of the bars, with what is around them, of the width of the figure.
const PROFILE = 0.05;
const SHORTEST_PROFILE = 30;
const LONGEST_PROFILE = 40;
const SMALLEST_NUMBER = 11;

// Where everything of the map is, for a figure so many pixels wide. With room for the bars of what is pinned, whether or
// not something is, so that nothing moves under the pointer that pins it.
function mapGeometry(arranged, width, withProfiles) {
  const { rows, columns } = arranged;
  const narrow = width < 560;
  // Marked labels are bold.
  const longestRow = Math.max(...rows.map((row) => textWidth(row.label, LABEL_SIZE, true)));
  const longestColumn = Math.max(...columns.map((column) => textWidth(column.label, LABEL_SIZE, true)));
  // Whole pixels, so that edges are sharp and a picture twice as dense has twice the pixels.
  const left = Math.round(30 + Math.min(longestRow + 8, width * (narrow ? 0.34 : 0.3)));
  const columnBand = Math.min(longestColumn, 130);
  const top = Math.round(34 + columnBand * Math.sin(-COLUMN_ANGLE) + 8);
  const profile = withProfiles
    ? Math.round(Math.min(LONGEST_PROFILE, Math.max(SHORTEST_PROFILE, PROFILE * width))) : 0;
  // The last label leans over the right edge of the map.
  const right = Math.max((narrow ? 8 : LEGEND) + profile, columnBand * Math.cos(COLUMN_ANGLE) + 4);
  const cellWidth = Math.max(Math.min((width - left - right) / columns.length, 84), 1);
  // Nearly square, and all of the map on a screen with the controls above it, but not too low for a label as long as
  // there is room for all of them.
  const room = Math.max(480 / rows.length, Math.min(600 / rows.length, LABEL_SIZE + 2));
  const cellHeight = Math.max(Math.floor(Math.min(room, Math.max(cellWidth, 22), 50)), 4);
  return {
    left, top, cellWidth, cellHeight, columnBand, width, narrow, profile,
    right: left + cellWidth * columns.length,
    bottom: top + cellHeight * rows.length,
    height: top + cellHeight * rows.length + profile + 6 + (narrow ? LEGEND_BELOW : 0),
    // Every n-th label where there is no room for all.
    rowStep: Math.ceil((LABEL_SIZE + 2) / cellHeight),
    columnStep: Math.ceil((LABEL_SIZE + 3) / cellWidth),
  };
}

// figure: { arranged, choice, shades, theme, hover, selected: { rows, columns } as sets of indices, axes, measure: what
// the numbers are }
function drawMap(surface, geometry, figure) {
  const { arranged, choice, theme, hover, selected } = figure;
  const { rows, columns } = arranged;
  const { left, top, right, bottom, cellWidth, cellHeight } = geometry;
  const colour = mapColour(figure);
  surface.cells(left, top, cellWidth, cellHeight, rows.length, columns.length, colour);
  hatch(surface, geometry, arranged);
  if (cellWidth >= 8 && cellHeight >= 8) {
    for (let row = 0; row <= rows.length; row++) {
      surface.line(left, top + row * cellHeight, right, top + row * cellHeight, theme.background, 1, 0.55);
    }
    for (let column = 0; column <= columns.length; column++) {
      surface.line(left + column * cellWidth, top, left + column * cellWidth, bottom, theme.background, 1, 0.55);
    }
  }
  if (numbersFit(geometry, arranged)) drawNumbers(surface, geometry, arranged, colour);
  drawLabels(surface, geometry, figure);
  drawLegend(surface, geometry, figure);
  drawProfiles(surface, geometry, figure);
  for (const row of selected.rows) {
    surface.frame(left, top + row * cellHeight, right - left, cellHeight, CHOSEN_COLOUR, 2);
  }
  for (const column of selected.columns) {
    surface.frame(left + column * cellWidth, top, cellWidth, bottom - top, CHOSEN_COLOUR, 2);
  }
  if (hover?.row !== undefined && hover.row < rows.length) {
    surface.frame(left, top + hover.row * cellHeight, right - left, cellHeight, theme.text, 1);
  }
  if (hover?.column !== undefined && hover.column < columns.length) {
    surface.frame(left + hover.column * cellWidth, top, cellWidth, bottom - top, theme.text, 1);
  }
}

// The colour of a cell, [r, g, b]; null where nothing is drawn because the weight is below the reader's threshold.
function mapColour({ arranged, choice, shades, theme }) {
  return (row, column) => {
    const at = row * arranged.columns.length + column;
    if (arranged.masked[at]) return theme.masked;
    const value = arranged.values[at];
    if (Math.abs(value) < choice.threshold / 100) return null;
    return shades[Math.round(onScale(value, choice.scale, arranged.largest) * (SHADES - 1))];
  };
}

// A diagonal through every masked cell: forbidden looks different from small.
function hatch(surface, { left, top, cellWidth, cellHeight }, arranged) {
  if (cellWidth < 5 || cellHeight < 5) return;
  const { rows, columns } = arranged;
  for (let row = 0, at = 0; row < rows.length; row++) {
    for (let column = 0; column < columns.length; column++, at++) {
      if (!arranged.masked[at]) continue;
      const x = left + column * cellWidth;
      const y = top + row * cellHeight;
      surface.line(x, y + cellHeight, x + cellWidth, y, MASKED_COLOUR, 1);
    }
  }
}

function numbersFit({ cellWidth, cellHeight }, { values }) {
  const widest = values.some((value) => value < 0) ? "-0.00" : "0.00";
  return cellWidth >= textWidth(widest, SMALLEST_NUMBER) + 4 && cellHeight >= SMALLEST_NUMBER + 4;
}

function drawNumbers(surface, { left, top, cellWidth, cellHeight }, arranged, colour) {
  const size = Math.max(SMALLEST_NUMBER, Math.min(16, cellWidth / 3, cellHeight / 2));
  const { rows, columns } = arranged;
  for (let row = 0, at = 0; row < rows.length; row++) {
    for (let column = 0; column < columns.length; column++, at++) {
      const shade = colour(row, column);
      // What would read 0.00 is left to the colour.
      if (arranged.masked[at] || !shade || Math.abs(arranged.values[at]) < 0.005) continue;
      surface.text(left + (column + 0.5) * cellWidth, top + (row + 0.5) * cellHeight,
        arranged.values[at].toFixed(2), { size, fill: inkOn(shade), anchor: "middle" });
    }
  }
}

function drawLabels(surface, geometry, { arranged, axes, theme, hover, selected }) {
  const { left, top, right, bottom, cellWidth, cellHeight, columnBand } = geometry;
  const { rows, columns } = arranged;
  const ink = (marked) => ({ size: LABEL_SIZE, fill: marked ? theme.chosen : theme.text, bold: marked });
  rows.forEach((row, index) => {
    const marked = index === hover?.row || selected.rows.has(index);
    if (index % geometry.rowStep && !marked) return;
    surface.text(left - 6, top + (index + 0.5) * cellHeight, shortened(row.label, left - 36, LABEL_SIZE, marked),
      { ...ink(marked), anchor: "end" });
  });
  columns.forEach((column, index) => {
    const marked = index === hover?.column || selected.columns.has(index);
    if (index % geometry.columnStep && !marked) return;
    surface.text(left + (index + 0.5) * cellWidth + 2, top - 8, shortened(column.label, columnBand, LABEL_SIZE, marked),
      { ...ink(marked), angle: COLUMN_ANGLE });
  });
  surface.text((left + right) / 2, 12, axes.to, { size: TITLE_SIZE, fill: theme.text, anchor: "middle" });
  surface.text(12, (top + bottom) / 2, axes.from,
    { size: TITLE_SIZE, fill: theme.text, anchor: "middle", angle: -Math.PI / 2 });
}

// What each colour stands for.
function drawLegend(surface, geometry, { arranged, choice, shades, theme, measure }) {
  const ink = { size: 12, fill: theme.text };
  const marks = [0, 0.25, 0.5, 0.75, 1].map((place) => (
    { place, number: fromScale(place, choice.scale, arranged.largest).toFixed(2) }));
  // In whole pixels: between the narrower ones of a shade each, the background would shine through in a saved SVG.
  const shadeAt = (place) => shades[Math.round(place * (SHADES - 1))];
  if (geometry.narrow) {
    const length = Math.min(200, geometry.width - geometry.left - 20);
    const top = geometry.height - LEGEND_BELOW + 6;
    surface.cells(geometry.left, top, 1, 12, 1, length, (_, column) => shadeAt(column / (length - 1)));
    for (const { place, number } of marks) {
      surface.text(geometry.left + place * length, top + 22, number, { ...ink, anchor: "middle" });
    }
    surface.text(geometry.left - 8, top + 6, measure, { ...ink, anchor: "end" });
    return;
  }
  const height = Math.min(180, Math.max(80, geometry.bottom - geometry.top));
  // Beside the map: past its bars, and past the last label, which leans over its edge.
  const leaning = geometry.columnBand * Math.cos(COLUMN_ANGLE);
  const x = Math.floor(Math.min(geometry.width - 54, geometry.right + Math.max(geometry.profile + 20, leaning + 10)));
  surface.cells(x, geometry.top, 14, 1, height, 1, (row) => shadeAt(1 - row / (height - 1)));
  for (const { place, number } of marks) surface.text(x + 19, geometry.top + (1 - place) * height, number, ink);
  surface.text(x, geometry.top - 14, measure, ink);
}

// Bars below the map for the pinned rows, at its right for the pinned columns.
function drawProfiles(surface, geometry, { arranged, selected, theme }) {
  const { left, top, right, bottom, cellWidth, cellHeight, width, profile } = geometry;
  const { rows, columns } = sumsOf(arranged, selected);
  const longest = profile - 14;
  if (rows) {
    const full = Math.max(1, ...rows);
    rows.forEach((value, column) => surface.rect(
      left + column * cellWidth + 1, bottom + 8, Math.max(1, cellWidth - 2), (value / full) * longest, theme.primary));
    const said = selected.rows.size > 1 ? `sum of ${selected.rows.size} rows` : "this row";
    surface.text(left - 6, bottom + 16, said, { size: 12, fill: theme.text, anchor: "end" });
  }
  if (columns) {
    const full = Math.max(1, ...columns);
    columns.forEach((value, row) => surface.rect(
      right + 8, top + row * cellHeight + 1, (value / full) * longest, Math.max(1, cellHeight - 2), theme.primary));
    const said = selected.columns.size > 1 ? `sum of ${selected.columns.size} columns` : "this column";
    const end = Math.min(right + 8 + textWidth(said, 12), width - 2);
    surface.text(end, bottom + 16, said, { size: 12, fill: theme.text, anchor: "end" });
  }
}

// What is under the pointer: a cell { row, column }, a label { row } or { column }, or null.
function hitMap({ left, top, right, bottom, cellWidth, cellHeight }, x, y) {
  const row = Math.floor((y - top) / cellHeight);
  const column = Math.floor((x - left) / cellWidth);
  const inRows = y >= top && y < bottom;
  if (inRows && x >= left && x < right) return { row, column };
  if (inRows && x < left) return { row };
  // Column labels lean to the right of their columns.
  const leaning = Math.floor((x - left - Math.max(0, top - 8 - y) / Math.tan(-COLUMN_ANGLE)) / cellWidth);
  if (y < top && y > 24 && leaning >= 0 && leaning < Math.round((right - left) / cellWidth)) return { column: leaning };
  return null;
}
