// What is seen, as files, without asking the server.

function saveFile(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function fileName({ kind }, choice, ending) {
  return `${kind}-layer${choice.layer + 1}-head${choice.head + 1}.${ending}`;
}

// draw(surface) draws the large figure, width x height CSS pixels.
async function savePicture(format, name, { width, height, draw, background, description }) {
  if (format === "SVG") {
    const surface = new SvgSurface(width, height, background, description);
    draw(surface);
    saveFile(`${name}svg`, "image/svg+xml", surface.toString());
    return;
  }
  const canvas = document.createElement("canvas");
  const surface = new CanvasSurface(canvas, width, height, Number(format.match(/\d/)?.[0] ?? 1));
  surface.rect(0, 0, width, height, background);
  draw(surface);
  saveFile(`${name}png`, "image/png", await new Promise((resolve) => canvas.toBlob(resolve)));
}

// All labels, one a line: in a figure of a long sentence some are cut short and some left out.
function descriptionOf(header, choice, { rows, columns }) {
  const listed = (side) => side.map(({ label }) => label);
  return [`${header.title}, layer ${choice.layer + 1}, head ${choice.head + 1}.`,
    "Rows look, from the top:", ...listed(rows), "Columns are looked at, from the left:", ...listed(columns)].join("\n");
}

function csvOf(arranged) {
  const quoted = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const lines = ["row,from,column,to,weight"];
  arranged.rows.forEach((row, r) => arranged.columns.forEach((column, c) => lines.push(
    [r + 1, quoted(row.label), c + 1, quoted(column.label), shownWeight(arranged, r, c)].join(","))));
  return lines.join("\n") + "\n";
}

// Masked cells are null, which no weight is.
function jsonOf(header, choice, arranged) {
  const { rows, columns, values, masked } = arranged;
  return JSON.stringify({
    kind: header.kind, layer: choice.layer + 1, head: choice.head + 1, words: choice.words,
    start_and_end_hidden: choice.hide, from: rows.map((row) => row.label), to: columns.map((column) => column.label),
    weights: rows.map((_, r) => columns.map((_, c) => {
      const at = r * columns.length + c;
      return masked[at] ? null : Number(values[at].toFixed(4));
    })),
  }, null, 1);
}
