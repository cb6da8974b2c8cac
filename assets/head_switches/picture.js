// Draws the boards of switches as a picture that can be saved.

import { CHOSEN_COLOUR } from "../shared/colours.js";
import { drawingContext } from "../shared/ruler.js";
import { headNamesOfRow } from "./boards.js";
/** @import { Picture } from "../figures/svg_file.js" */
/** @import { Theme } from "../shared/colours.js" */
/** @import { Surface } from "../shared/surface.js" */
/** @import { Board } from "./boards.js" */

// Sizes in CSS pixels.
const BOARD = { narrowest: 200, gap: 20, title: 24, label: 22, size: 13, space: 3 };
// Pixels along each side of a map's cell. Programs that display the picture would blur a smaller map.
const PIXELS_A_CELL = 6;

/**
 * Returns a picture of the boards, side by side if there is room, otherwise one below the other. Heads that are off are
 * pale and crossed out.
 * @param {Board[]} boards
 * @param {Set<string>} off
 * @param {number} width
 * @param {Theme} theme
 * @returns {Promise<Picture>}
 */
export async function switchesPicture(boards, off, width, theme) {
  const across = Math.max(1, Math.min(boards.length, Math.floor((width + BOARD.gap) / (BOARD.narrowest + BOARD.gap))));
  const each = (width - (across - 1) * BOARD.gap) / across;
  const sides = boards.map(({ heads }) => (each - BOARD.label) / heads);
  const high = Math.max(...boards.map(({ layers }, at) => BOARD.title + BOARD.label + layers * sides[at])) + BOARD.gap;
  const images = await Promise.all(boards.map(async ({ picture }) => {
    const image = new Image();
    image.src = picture;
    await image.decode();
    return image;
  }));
  return {
    geometry: { width: Math.round(width) }, theme, end: high * Math.ceil(boards.length / across),
    draw: (surface) => boards.forEach((board, at) => surface.moved(
      (at % across) * (each + BOARD.gap), Math.floor(at / across) * high,
      () => drawBoard(surface, board, images[at], off, sides[at], theme))),
  };
}

/**
 * Draws a board with its title and the numbers of its layers and heads.
 * @param {Surface} surface
 * @param {Board} board
 * @param {HTMLImageElement} image all maps of the board
 * @param {Set<string>} off
 * @param {number} side the width of a head's square, in CSS pixels
 * @param {Theme} theme
 */
function drawBoard(surface, board, image, off, side, theme) {
  const { title, layers, heads } = board;
  const style = { size: BOARD.size, fill: theme.text };
  const [left, top] = [BOARD.label, BOARD.title + BOARD.label];
  surface.text(left, BOARD.title / 2, title, { ...style, bold: true });
  for (let head = 0; head < heads; head++) {
    surface.text(left + (head + 0.5) * side, top - BOARD.label / 2, String(head + 1), { ...style, anchor: "middle" });
  }
  const shown = side - BOARD.space;
  for (let layer = 0; layer < layers; layer++) {
    surface.text(left - 8, top + (layer + 0.5) * side, String(layer + 1), { ...style, anchor: "end" });
    headNamesOfRow(board, layer).forEach((name, head) => {
      const [x, y] = [left + head * side, top + layer * side];
      surface.image(x, y, shown, shown, cutOut(image, board, layer, head, off.has(name)));
      surface.frame(x, y, shown, shown, off.has(name) ? CHOSEN_COLOUR : theme.border, off.has(name) ? 2 : 1);
      if (!off.has(name)) return;
      surface.line(x, y, x + shown, y + shown, CHOSEN_COLOUR, 2);
      surface.line(x, y + shown, x + shown, y, CHOSEN_COLOUR, 2);
    });
  }
}

/**
 * Returns a canvas with the map of one head.
 * @param {HTMLImageElement} image
 * @param {Board} board
 * @param {number} layer
 * @param {number} head
 * @param {boolean} pale
 */
function cutOut(image, { layers, heads }, layer, head, pale) {
  const [width, height] = [image.naturalWidth / heads, image.naturalHeight / layers];
  const canvas = document.createElement("canvas");
  canvas.width = width * PIXELS_A_CELL;
  canvas.height = height * PIXELS_A_CELL;
  const context = drawingContext(canvas);
  context.imageSmoothingEnabled = false;
  if (pale) Object.assign(context, { filter: "grayscale(1)", globalAlpha: 0.25 });
  context.drawImage(image, head * width, layer * height, width, height, 0, 0, canvas.width, canvas.height);
  return canvas;
}
