// What the figures show, in words: of a cell, a row, a column, or the sum of several.

// at: what is pointed at, or null; selected: what is pinned, as sets of indices.
function told(arranged, at, selected) {
  const several = selected.rows.size > 1 || selected.columns.size > 1;
  return !at && several ? sentenceOfSum(arranged, selected) : sentenceOf(arranged, at ?? pinnedCell(selected));
}

// The only row and the only column that are pinned.
function pinnedCell({ rows, columns }) {
  return { row: rows.size === 1 ? [...rows][0] : undefined, column: columns.size === 1 ? [...columns][0] : undefined };
}

// One sentence about a cell, a row or a column of a head.
function sentenceOf(arranged, at) {
  const { rows, columns, values } = arranged;
  const row = rows[at?.row];
  const column = columns[at?.column];
  if (row && column) {
    const weight = shownWeight(arranged, at.row, at.column);
    if (weight === "masked") return `${quote(row.label)} (row ${at.row + 1}) may not look at ${quote(column.label)}: masked`;
    return `${quote(row.label)} (row ${at.row + 1}) looks at ${quote(column.label)} (column ${at.column + 1}) with ${weight}`;
  }
  // What is masked has no weight to be named.
  const seen = (cell) => (arranged.masked[cell] ? null : values[cell]);
  if (row) return `${quote(row.label)} looks most at ${most(columns, (c) => seen(at.row * columns.length + c))}`;
  if (column) {
    return `${quote(column.label)} is looked at most by ${most(rows, (r) => seen(r * columns.length + at.column))}`;
  }
  return "Point at a cell to read it, click to pin it.";
}

// One sentence about several rows, several columns, or the cells where both meet.
function sentenceOfSum(arranged, selected) {
  const { rows, columns } = arranged;
  const sums = sumsOf(arranged, selected);
  const many = (side, indices, name) => {
    const { numbers, labels } = summed(side, indices);
    return `${labels.map(quote).join(" and ")} (${name}${numbers.length > 1 ? "s" : ""} ${numbers.join(", ")})`;
  };
  if (!sums.columns) return `${many(rows, selected.rows, "row")} together look most at ${most(columns, (c) => sums.rows[c])}`;
  if (!sums.rows) {
    return `${many(columns, selected.columns, "column")} together are looked at most by ${most(rows, (r) => sums.columns[r])}`;
  }
  return `${many(rows, selected.rows, "row")} ${selected.rows.size > 1 ? "look" : "looks"} at `
    + `${many(columns, selected.columns, "column")} with ${sums.all.toFixed(4)} in all`;
}

// The three pieces of a side with the largest values; null is none.
function most(side, valueAt) {
  return [...side.keys()].filter((index) => valueAt(index) !== null).sort((a, b) => valueAt(b) - valueAt(a)).slice(0, 3)
    .map((index) => `${quote(side[index].label)} ${valueAt(index).toFixed(4)}`).join(", ");
}

// What was done to the numbers before they were drawn, one sentence each.
function notesOf(choice, selected) {
  const least = choice.look === "lines" ? Math.max(FAINTEST, choice.threshold / 100) : choice.threshold / 100;
  return [
    least > 0 && `Weights below ${least.toFixed(2)} are left out.`,
    choice.look === "map" && selected.rows.size > 1 && `The bars below are the sum of ${selected.rows.size} rows.`,
    choice.look === "map" && selected.columns.size > 1 && `The bars at the right are the sum of ${selected.columns.size} columns.`,
    choice.scale !== SCALES[0] && `Colours: ${choice.scale}.`,
  ].filter(Boolean);
}

// The head of all layers that looks most from one cell's row to its column; null without a cell, or where it is masked.
function strongest(data, choice, at) {
  if (at?.row === undefined || at?.column === undefined) return null;
  const { layers, heads } = data.header;
  let found = null;
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) {
      const arranged = arrange(data, choice, layer, head);
      const cell = at.row * arranged.columns.length + at.column;
      if (arranged.masked[cell]) return null;
      if (!found || arranged.values[cell] > found.value) {
        found = { layer, head, value: arranged.values[cell], weight: shownWeight(arranged, at.row, at.column) };
      }
    }
  }
  return found;
}

// What a figure shows, for whoever finds it saved: title, sentence, scale, and what was done to the numbers.
function captionOf(header, choice, arranged, selected) {
  const { source, target } = header.texts;
  const others = choice.look === "lines" ? choice.heads.filter((head) => head < header.heads) : [];
  const heads = [choice.head, ...others].map((head) => head + 1);
  const colours = {
    [SCALES[0]]: "weight, 0 to 1", [SCALES[1]]: `weight, 0 to ${arranged.largest.toFixed(4)}, this head's largest`,
    [SCALES[2]]: "square root of the weight, 0 to 1",
  }[choice.scale];
  return {
    title: `${header.title}, layer ${choice.layer + 1}, head${heads.length > 1 ? "s" : ""} ${heads.join(", ")}`,
    sentence: { encoder: source, decoder: target, cross: `${source} → ${target}` }[header.kind],
    notes: [
      choice.look === "lines" ? `Width of a line: ${colours}.` : `Colour: ${colours}.`,
      choice.look === "map" && arranged.masked.some(Boolean) && "Grey, hatched: masked.",
      choice.words && "Pieces are merged into words.",
      choice.hide && "Start and end symbols are hidden, and every row is scaled to 1.",
      ...notesOf({ ...choice, scale: SCALES[0] }, selected),
    ].filter(Boolean).join(" "),
  };
}
