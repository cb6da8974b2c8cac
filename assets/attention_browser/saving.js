// What is seen, as files, without asking the server.

const HTML = "HTML, everything";
// Where the data of a document goes; the first such mark of the template, which holds this very line too.
const KEPT = "{{kept}}";
const CAPTION_LINE = 19;

// browser: the AttentionBrowser whose menu was used.
async function save(browser, format) {
  const { choice, data: { header } } = browser;
  const arranged = browser.arranged();
  const selected = browser.selected(arranged);
  const name = `${header.kind}-layer${choice.layer + 1}-head${choice.head + 1}`;
  if (format === "CSV") saveFile(`${name}.csv`, "text/csv", csvOf(arranged, selected));
  else if (format === "JSON") saveFile(`${name}.json`, "application/json", jsonOf(header, choice, arranged, selected));
  else if (format === HTML) saveFile("attention.html", "text/html", await documentOf(browser));
  else await savePicture(format, name, browser.pictured(), { ...captionOf(header, choice, arranged, selected), arranged });
}

function saveFile(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// picture: { geometry, draw, end, theme }: draw(surface) draws the large figure, `end` CSS pixels high.
async function savePicture(format, name, { geometry, draw, end, theme }, caption) {
  const lines = [
    { text: caption.title, bold: true },
    ...wrapped(caption.sentence, geometry.width - 16, LABEL_SIZE).map((text) => ({ text })),
    ...wrapped(caption.notes, geometry.width - 16, LABEL_SIZE).map((text) => ({ text })),
  ];
  const height = Math.ceil(end) + 10 + lines.length * CAPTION_LINE;
  const drawAll = (surface) => {
    draw(surface);
    lines.forEach(({ text, bold = false }, index) => surface.text(
      8, Math.ceil(end) + (index + 0.5) * CAPTION_LINE, text, { size: LABEL_SIZE, fill: theme.text, bold }));
  };
  if (format === "SVG") {
    const surface = new SvgSurface(geometry.width, height, theme.background, descriptionOf(caption));
    drawAll(surface);
    saveFile(`${name}.svg`, "image/svg+xml", surface.toString());
    return;
  }
  const canvas = document.createElement("canvas");
  const surface = new CanvasSurface(canvas, geometry.width, height, Number(format.match(/\d/)?.[0] ?? 1));
  surface.rect(0, 0, geometry.width, height, theme.background);
  drawAll(surface);
  saveFile(`${name}.png`, "image/png", await new Promise((resolve) => canvas.toBlob(resolve)));
}

// All labels, one a line: in a figure of a long sentence some are cut short and some left out.
function descriptionOf({ title, arranged: { rows, columns } }) {
  const listed = (side) => side.map(({ label }) => label);
  return [`${title}.`,
    "Rows look, from the top:", ...listed(rows), "Columns are looked at, from the left:", ...listed(columns)].join("\n");
}

// A line a cell; then, where several rows or columns are pinned, a line a sum, numbered like 2+4.
function csvOf(arranged, selected) {
  const { rows, columns } = arranged;
  const sums = sumsOf(arranged, selected);
  const quoted = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const lines = ["row,from,column,to,weight"];
  const add = (row, from, column, to, weight) => lines.push([row, quoted(from), column, quoted(to), weight].join(","));
  rows.forEach((row, r) => columns.forEach((column, c) => (
    add(r + 1, row.label, c + 1, column.label, shownWeight(arranged, r, c)))));
  if (selected.rows.size > 1) {
    const { numbers, labels } = summed(rows, selected.rows);
    columns.forEach(({ label }, c) => add(numbers.join("+"), labels.join(" + "), c + 1, label, sums.rows[c].toFixed(4)));
  }
  if (selected.columns.size > 1) {
    const { numbers, labels } = summed(columns, selected.columns);
    rows.forEach(({ label }, r) => add(r + 1, label, numbers.join("+"), labels.join(" + "), sums.columns[r].toFixed(4)));
  }
  return lines.join("\n") + "\n";
}

// Masked cells are null, which no weight is.
function jsonOf(header, choice, arranged, selected) {
  const { rows, columns, values, masked } = arranged;
  const sums = sumsOf(arranged, selected);
  const several = (side) => (selected[side].size > 1
    ? { [side]: { of: summed(arranged[side], selected[side]).numbers, weights: sums[side] } } : {});
  return JSON.stringify({
    ...header.texts,
    kind: header.kind, layer: choice.layer + 1, head: choice.head + 1, words: choice.words,
    start_and_end_hidden: choice.hide, from: rows.map((row) => row.label), to: columns.map((column) => column.label),
    weights: rows.map((_, r) => columns.map((_, c) => {
      const at = r * columns.length + c;
      return masked[at] ? null : Number(values[at].toFixed(4));
    })),
    sums: { ...several("rows"), ...several("columns") },
  }, null, 1);
}

// What is needed beside the data of one kind to write the file of all three (archive.js); null if it has not come.
function archiveOf({ kind, id }) {
  if (!globalThis.attentionArchive) return null;
  const archive = opened(globalThis.attentionArchive);
  return archive.header.kind === kind && archive.header.id === id ? archive : null;
}

// One HTML file of all three kinds that needs neither a server nor a network.
async function documentOf({ bytes, choice, data }) {
  const { header, body } = archiveOf(data.header);
  const parts = [];
  header.sizes.reduce((start, size) => { parts.push(body.slice(start, start + size)); return start + size; }, 0);
  const [template, ...others] = parts;
  const order = ["encoder", "decoder", "cross"];
  const kinds = [bytes, ...others].map((one) => ({ one, ...opened(one).header }))
    .sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  const kept = {
    choice, texts: data.header.texts,
    kinds: await Promise.all(kinds.map(async ({ one, title }) => ({ title, data: await base64(one) }))),
  };
  // A sentence may hold any text, also one that ends a script.
  const written = JSON.stringify(kept).replaceAll("<", "\\u003c");
  return (await inflated(template).text()).replace(KEPT, () => written);
}

function base64(bytes) {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",")[1]);
    reader.readAsDataURL(new Blob([bytes]));
  });
}
