// A map as large as there is room for, with type for the last row of a hall.

// Smallest type in CSS pixels: twenty points for the last row of a hall, less for a phone in the hand.
const HALL_TYPE = 27;
const HAND_TYPE = 13;
const WIDEST_PHONE = 640;
// Below the figure: on a phone, the buttons of the lecture (assets/lecture/style.css).
const FOOT = 8;
const PHONE_FOOT = 70;
const LOWEST = 200;
// Lengths below are in units of a figure whose labels are LABEL_SIZE high; the canvas is enlarged.
const LONGEST_COLUMN_LABEL = 52;
const CORNER = 46;
const LEGEND_BESIDE = 58;
// Half of the lowest number beside it.
const LAST_TICK = 7;
// Cells are as wide and as high as there is room for, but not too far from square.
const WIDEST_CELL = 2.5;
const HIGHEST_CELL = 1.5;

// How much larger than its units a figure is drawn.
const lectureZoom = () => (innerWidth > WIDEST_PHONE ? HALL_TYPE : HAND_TYPE) / LABEL_SIZE;

/**
 * Room for a figure, in units.
 * @param {number} width in CSS pixels
 * @param {number} top of the figure on the screen; everything below is room
 */
function lectureRoom(width, top) {
  const zoom = lectureZoom();
  const foot = innerWidth > WIDEST_PHONE ? FOOT : PHONE_FOOT;
  return { width: width / zoom, height: Math.max(LOWEST, innerHeight - top - foot) / zoom };
}

/**
 * A canvas to draw on in units.
 * @param {HTMLCanvasElement} canvas
 * @param {{ width: number, height: number }} geometry
 * @param {number} zoom
 */
function zoomedSurface(canvas, { width, height }, zoom) {
  const surface = new CanvasSurface(canvas, width, height, window.devicePixelRatio * zoom);
  canvas.style.width = `${width * zoom}px`;
  canvas.style.height = `${height * zoom}px`;
  return surface;
}

/**
 * Where everything of a map is that fills a screen: as `mapGeometry`, without titles and bars.
 * @param {Arranged} arranged
 * @param {{ width: number, height: number }} room
 * @returns {MapGeometry}
 */
function lectureGeometry({ rows, columns }, { width, height }) {
  const narrow = width < height;
  const margin = 4;
  const left = Math.round(Math.min(Math.max(longestLabel(rows), CORNER) + margin + 8, width * 0.34));
  const columnBand = Math.min(longestLabel(columns), Math.max(LONGEST_COLUMN_LABEL, height * 0.14));
  const top = Math.round(columnBand * Math.sin(-COLUMN_ANGLE) + 13);
  const leaning = columnBand * Math.cos(COLUMN_ANGLE) + 4;
  const right = narrow ? leaning : leaning + 6 + LEGEND_BESIDE;
  const across = (width - left - right) / columns.length;
  const down = (height - top - (narrow ? LEGEND_BELOW : LAST_TICK)) / rows.length;
  const cellWidth = Math.max(1, Math.min(across, WIDEST_CELL * down));
  const cellHeight = Math.max(1, Math.min(down, HIGHEST_CELL * across));
  const bottom = top + cellHeight * rows.length;
  return {
    left, top, cellWidth, cellHeight, columnBand, width, narrow, margin, bottom, profile: 0, small: LABEL_SIZE,
    smallest: LABEL_SIZE, right: left + cellWidth * columns.length, height: bottom + (narrow ? LEGEND_BELOW : LAST_TICK),
    columnSize: LABEL_SIZE, rowStep: Math.ceil((LABEL_SIZE + 2) / cellHeight),
    columnStep: Math.ceil((LABEL_SIZE + 3) / cellWidth),
  };
}

/**
 * What rows and columns are, in the corner between their labels, where it takes no room from the map.
 * @param {Surface} surface
 * @param {MapGeometry} geometry
 * @param {Theme} theme
 */
function drawCorner(surface, { left, top }, theme) {
  const ink = /** @type {TextStyle} */ ({ size: LABEL_SIZE, fill: theme.text, anchor: "end" });
  surface.text(left - 6, top - 26, "at →", ink);
  surface.text(left - 6, top - 9, "looks ↓", ink);
}
