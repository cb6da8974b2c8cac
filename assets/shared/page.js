// Global names that the components of a page share, because each component is a separate file without shared modules.

/** @import { SaveAsMessage } from "../figures/save_as.js" */
/** @import { SaveOptions } from "../figures/save_menu.js" */
/**
 * Properties of the global object, each with the component that sets it and the component that uses it:
 * - `early`, set by lecture/early.js for Lecture: clicker keys that were pressed before any component listened.
 * - `clickerHeard`, set by Lecture for lecture/early.js: whether Lecture now listens to the keys itself.
 * - `attentionExport`, set by HtmlExportParts for the attention browser, with the document event "attentionexport".
 * - `attentionWord`, set by Diagram for the small maps of the first page, with the document event "attentionword":
 *   label of the word under the pointer, and its rows and columns for each attention kind. The event
 *   "attentionwordcleared" asks Diagram to set `attentionWord` to null.
 * - `saveFigure`, set by Exporter for every "Save as" menu: saves the figure inside an element of the page.
 * - `writePdf`, set by Exporter: converts an SVG document to PDF; the server sends PdfWriter on first use.
 * - `pdfWriter`, set by PdfWriter for Exporter.
 * @typedef {{
 *   early?: { keys: string[], hear: (event: KeyboardEvent) => void },
 *   clickerHeard?: boolean,
 *   attentionExport?: Uint8Array<ArrayBuffer>,
 *   attentionWord?: { label: string, places: Record<string, { rows: number[], columns: number[] }> } | null,
 *   saveFigure?: (place: HTMLElement, format: string, message: SaveAsMessage, options: SaveOptions) => Promise<void>,
 *   writePdf?: (root: Element, title: string) => Promise<ArrayBuffer>,
 *   pdfWriter?: (root: Element, title: string) => Promise<ArrayBuffer>,
 * }} Page
 */

export const page = /** @type {Page} */ (globalThis);
