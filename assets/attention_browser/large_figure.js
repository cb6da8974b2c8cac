// The large figure of the attention browser: a map, or lines between the tokens.

import { HEAD_COLOURS } from "../shared/colours.js";
import { drawCorner, lectureGeometry } from "./lecture_map.js";
import { drawLines, linesGeometry } from "./lines.js";
import { mapGeometry } from "./map_geometry.js";
import { drawMap } from "./map.js";
/** @import { Picture } from "../figures/svg_file.js" */
/** @import { Theme } from "../shared/colours.js" */
/** @import { Arranged } from "./arrangement.js" */
/** @import { AttentionBrowser } from "./attention_browser.js" */
/** @import { LinesGeometry } from "./lines.js" */
/** @import { MapGeometry } from "./map_geometry.js" */

/**
 * Returns the content of the large figure, its geometry, and a function that draws it on a surface.
 * @param {AttentionBrowser} browser
 * @param {number} width in CSS pixels; 0 means the width on the screen
 * @param {Theme} theme
 * @returns {Picture & { arranged: Arranged, geometry: MapGeometry | LinesGeometry }}
 */
export function picturedFigure(browser, width, theme) {
  const { choice, shades, data, hover, lecture } = browser;
  const arranged = browser.arranged();
  const selected = browser.selected(arranged);
  const room = width ? { width, height: null } : lecture.room();
  const figure = { arranged, choice, shades, theme, hover, selected,
    axes: data.header.axes[choice.words ? "words" : "tokens"], measure: arranged.signed ? "change" : "weight" };
  if (choice.look === "lines" && !arranged.signed) {
    const geometry = linesGeometry(arranged, room.width, room.height ?? undefined);
    const drawn = [choice.head, ...choice.heads.filter((head) => head !== choice.head && head < data.header.heads)];
    const heads = drawn.map((head) => (
      { head, arranged: browser.arranged(choice.layer, head), colour: HEAD_COLOURS[head % HEAD_COLOURS.length] }));
    return { arranged, geometry, theme, end: geometry.height,
      draw: (surface) => drawLines(surface, geometry, { ...figure, heads }) };
  }
  if (room.height !== null) {
    const geometry = lectureGeometry(arranged, { width: room.width, height: room.height });
    return { arranged, geometry, theme, end: geometry.height, draw: (surface) => {
      drawMap(surface, geometry, { ...figure, hover: hover ?? lecture.place(arranged), axes: { from: "", to: "" } });
      drawCorner(surface, geometry, theme);
    } };
  }
  // On the screen, always leave room for the bars. A saved picture without bars needs none.
  const geometry = mapGeometry(arranged, room.width, !width || selected.rows.size + selected.columns.size > 0);
  return { arranged, geometry, theme, end: selected.rows.size || geometry.narrow ? geometry.height : geometry.bottom + 6,
    draw: (surface) => drawMap(surface, geometry, figure) };
}
