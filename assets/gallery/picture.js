// The gallery as a picture that can be saved.

import { Sheet } from "../figures/sheet.js";
import { CHOSEN_COLOUR, css, inkOn, SHADES } from "../shared/colours.js";
import { isolatedIfMirrored } from "../shared/direction.js";
import { textWidth } from "../shared/ruler.js";
/** @import { Colour, Theme } from "../shared/colours.js" */
/** @import { ExhibitCard, Strip } from "./gallery.js" */

// Sizes in CSS pixels: font, line height, word boxes, and gaps.
const CARD = { size: 13, line: 18, word: 20, inside: 6, space: 3, gap: 14 };

/**
 * Returns a picture of the exhibits, one below the other.
 * @param {ExhibitCard[]} exhibits
 * @param {number} width including the edges
 * @param {Theme} theme
 * @param {Colour[]} shades
 */
export function galleryPicture(exhibits, width, theme, shades) {
  const sheet = new Sheet(width, theme, CARD);
  for (const { title, meaning, head, numbers, examples } of exhibits) {
    sheet.write(title, true);
    sheet.write(meaning);
    sheet.write(head.label + numbers);
    for (const { before, looking, after, direction, words, about } of examples) {
      sheet.y += CARD.inside;
      sheet.write(before + isolatedIfMirrored(looking) + after);
      sheet.row(words.map((word) => wordBox(word, shades)), CARD.word, CARD.space, direction);
      sheet.y += CARD.space;
      sheet.write(about);
    }
    sheet.y += CARD.gap;
  }
  return sheet.picture();
}

/**
 * Returns a box that contains a word. The box has the colour of the head's attention to the word.
 * @param {Strip["words"][number]} word
 * @param {Colour[]} shades
 * @returns {Parameters<Sheet["row"]>[0][number]}
 */
function wordBox({ label, weight, aim }, shades) {
  const wide = textWidth(label, CARD.size) + 2 * CARD.inside;
  const shade = shades[Math.round(weight * (SHADES - 1))];
  return { wide, draw: (surface, x, y) => {
    surface.rect(x, y, wide, CARD.word, css(shade));
    if (aim) surface.frame(x + 1, y + 1, wide - 2, CARD.word - 2, CHOSEN_COLOUR, 2);
    surface.text(x + CARD.inside, y + CARD.word / 2, label, { size: CARD.size, fill: inkOn(shade) });
  } };
}
