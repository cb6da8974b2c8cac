// The gallery as a picture that can be saved.

import { CHOSEN_COLOUR, css, inkOn, SHADES } from "../shared/colours.js";
import { apart } from "../shared/direction.js";
import { textWidth, wrapped } from "../shared/ruler.js";
import { PICTURE_EDGE } from "../shared/surface.js";
/** @import { Picture } from "../figures/svg_file.js" */
/** @import { Colour, Theme } from "../shared/colours.js" */
/** @import { Surface } from "../shared/surface.js" */
/** @import { ExhibitCard, Strip } from "./gallery.js" */

// In CSS pixels: type, lines, the words of a sentence and what is between things.
const CARD = { size: 13, line: 18, word: 20, inside: 6, space: 3, gap: 14 };

/**
 * Every exhibit below the one before.
 * @param {ExhibitCard[]} exhibits
 * @param {number} outer its width, with the edges
 * @param {Theme} theme
 * @param {Colour[]} shades
 * @returns {Picture}
 */
export function galleryPicture(exhibits, outer, theme, shades) {
  const width = outer - 2 * PICTURE_EDGE;
  /** @type {((surface: Surface) => void)[]} */
  const drawn = [];
  let y = CARD.gap;
  /** @type {(text: string, bold?: boolean) => void} */
  const write = (text, bold = false) => {
    for (const line of wrapped(text, width, CARD.size, bold)) {
      const middle = y + CARD.line / 2;
      drawn.push((surface) => surface.text(0, middle, line, { size: CARD.size, fill: theme.text, bold }));
      y += CARD.line;
    }
  };
  for (const { title, meaning, head, numbers, examples } of exhibits) {
    write(title, true);
    write(meaning);
    write(head.label + numbers);
    for (const { before, looking, after, direction, words, about } of examples) {
      y += CARD.inside;
      write(before + apart(looking) + after);
      const { bottom, draw } = stripPicture(words, y, width, direction, shades);
      drawn.push(draw);
      y = bottom;
      write(about);
    }
    y += CARD.gap;
  }
  return {
    geometry: { width: Math.round(outer) }, theme, end: y,
    draw: (surface) => surface.moved(PICTURE_EDGE, 0, () => drawn.forEach((draw) => draw(surface))),
  };
}

/**
 * The words of a sentence with the colours of where the head looks.
 * @param {Strip["words"]} words
 * @param {number} top
 * @param {number} width
 * @param {"ltr" | "rtl"} direction of the sentence
 * @param {Colour[]} shades
 * @returns {{ bottom: number, draw: (surface: Surface) => void }}
 */
function stripPicture(words, top, width, direction, shades) {
  let [x, y] = [0, top];
  const placed = words.map(({ label, weight, aim }) => {
    const wide = textWidth(label, CARD.size) + 2 * CARD.inside;
    if (x && x + wide > width) [x, y] = [0, y + CARD.word + CARD.space];
    const place = { x: direction === "rtl" ? width - x - wide : x, y, wide, label, aim, shade: shades[Math.round(weight * (SHADES - 1))] };
    x += wide + CARD.space;
    return place;
  });
  return { bottom: y + CARD.word + CARD.space, draw: (surface) => placed.forEach((word) => {
    surface.rect(word.x, word.y, word.wide, CARD.word, css(word.shade));
    if (word.aim) surface.frame(word.x + 1, word.y + 1, word.wide - 2, CARD.word - 2, CHOSEN_COLOUR, 2);
    surface.text(word.x + CARD.inside, word.y + CARD.word / 2, word.label, { size: CARD.size, fill: inkOn(word.shade) });
  }) };
}
