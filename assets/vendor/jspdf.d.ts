// What the app uses of jsPDF.
export {};

declare global {
  /** Its method `svg` is that of svg2pdf.js. */
  var jspdf: { jsPDF: new (options: object) => any };
}
