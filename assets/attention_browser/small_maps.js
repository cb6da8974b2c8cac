// The small maps of the grid, cached as an image without the frames that mark heads.

import { CanvasSurface } from "../shared/surface.js";
import { arrangementName } from "./arrangement.js";
import { drawGrid } from "./grid.js";
/** @import { GridGeometry } from "./grid.js" */

export class SmallMaps {
  /** @type {HTMLCanvasElement} */
  picture;
  /** @type {string | null} the settings with which the image was drawn */
  shown = null;

  // Makes the next call to `draw` draw all maps again.
  forget() {
    this.shown = null;
  }

  /**
   * Copies the image to a surface. The maps are drawn again only if they would look different.
   * @param {CanvasSurface} surface
   * @param {GridGeometry} geometry
   * @param {number} density
   * @param {Parameters<typeof drawGrid>[2]} content
   */
  draw(surface, geometry, density, content) {
    const { data, choice, theme } = content;
    const settings = JSON.stringify([data.header.id, arrangementName(choice), choice.scale, choice.palette,
      choice.threshold, choice.metric, geometry.width, density, theme]);
    if (settings !== this.shown) {
      this.picture = document.createElement("canvas");
      drawGrid(new CanvasSurface(this.picture, geometry.width, geometry.height, density), geometry, content);
      this.shown = settings;
    }
    surface.context.drawImage(this.picture, 0, 0, geometry.width, geometry.height);
  }
}
