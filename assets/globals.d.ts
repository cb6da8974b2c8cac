// What one component leaves for another: every component is a module of its own.

/** Explanations of technical words: what pages/ui/components/bundle.py puts before a bundle that has some. */
declare const GLOSSARY: Record<string, string>;

/** From lecture/early.js for Lecture: keys of a clicker that were pressed before anything was there to hear them. */
declare var early: { keys: string[], hear: (event: KeyboardEvent) => void } | undefined;
/** From Lecture for lecture/early.js: it hears the keys itself. */
declare var clickerHeard: boolean | undefined;

/** From Lecture for the figure of the page: one step on or back (shared/clicker.js). */
interface WindowEventMap { lecturestep: CustomEvent<LectureStep> }

/** From HtmlExportParts for the attention browser. */
declare var attentionExport: Uint8Array<ArrayBuffer> | undefined;

/** From Exporter for every "Save as": saves the figure in a place of the page. */
declare var saveFigure: ((
  place: HTMLElement, format: string, message: SaveAsMessage, options: SaveOptions,
) => Promise<void>) | undefined;

/** From Exporter: an SVG document as PDF, for which the server sends PdfWriter when the first one is wanted. */
declare var writePdf: ((root: Element, title: string) => Promise<ArrayBuffer>) | undefined;

/** From PdfWriter for Exporter. */
declare var pdfWriter: ((root: Element, title: string) => Promise<ArrayBuffer>) | undefined;

/** The libraries in vendor/: jsPDF, with svg2pdf.js as its method `svg`. */
declare var jspdf: { jsPDF: new (options: object) => any };
