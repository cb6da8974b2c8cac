// What the server sends about one kind of attention, unpacked: a header, and every weight of every layer and head.

// A weight is a whole number of 1/60,000, placed so that its first four decimals are the tensor's; those on pieces that are
// not special are doubled as often as the header says of their row (pages/ui/payload.py).
const WEIGHT_STEPS = 60000;
const MASKED_CODE = 65535;

// A message of the server: a header, and the bytes after it.
function opened(bytes) {
  const message = new Uint8Array(bytes);
  const length = new DataView(message.buffer).getUint32(0, true);
  return { header: JSON.parse(new TextDecoder().decode(message.subarray(4, 4 + length))), body: message.subarray(4 + length) };
}

function inflated(bytes) {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
}

async function unpack(bytes) {
  const { header, body } = opened(bytes);
  const planes = new Uint8Array(await inflated(body).arrayBuffer());
  const count = planes.length / 2;
  const codes = new Uint16Array(count);
  for (let i = 0; i < count; i++) codes[i] = planes[i] | (planes[count + i] << 8);
  return { header, codes, arranged: new Map() };
}

function weightOf(code) {
  if (code === MASKED_CODE || code <= 3) return 0;
  return Math.min(1, (code - 2.5) / WEIGHT_STEPS);
}

// The arrangement of rows and columns that the reader chose: pieces or words, with or without start and end symbols.
function arrangementName(choice) {
  return (choice.words ? "words" : "pieces") + (choice.hide ? "-hidden" : "");
}

// One head as the reader asked to see it: { rows, columns, values [R * C], masked [R * C], largest }.
// Attention to a word is the sum over its pieces, from a word the mean; without some columns, rows are scaled to 1.
function arrange(data, choice, layer, head) {
  const name = arrangementName(choice);
  const key = `${name}/${layer}/${head}`;
  if (data.arranged.has(key)) return data.arranged.get(key);
  const { heads, queries, keys, arrangements, special, doublings } = data.header;
  const { rows, columns, scaled } = arrangements[name];
  const first = (layer * heads + head) * queries;
  const values = new Float32Array(rows.length * columns.length);
  const masked = new Uint8Array(values.length);
  let largest = 0;
  rows.forEach((row, r) => {
    let total = 0;
    columns.forEach((column, c) => {
      let sum = 0;
      let visible = false;
      for (const i of row.positions) {
        const doubled = 2 ** parseInt(doublings[first + i], 16);
        for (const j of column.positions) {
          const code = data.codes[(first + i) * keys + j];
          if (code !== MASKED_CODE) visible = true;
          sum += weightOf(code) / (special.includes(j) ? 1 : doubled);
        }
      }
      const value = sum / row.positions.length;
      total += value;
      values[r * columns.length + c] = value;
      masked[r * columns.length + c] = visible ? 0 : 1;
    });
    for (let c = 0; c < columns.length; c++) {
      const at = r * columns.length + c;
      if (scaled) values[at] = total > 0 ? values[at] / total : 0;
      values[at] = Math.min(1, values[at]);
      largest = Math.max(largest, values[at]);
    }
  });
  const arranged = { rows, columns, values, masked, largest };
  data.arranged.set(key, arranged);
  return arranged;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

// A label between quotation marks; one that runs from right to left keeps to itself, and does not turn the numbers round.
const quote = (label) => (RIGHT_TO_LEFT.test(label) ? `“\u2068${label}\u2069”` : `“${label}”`);

// What every place shows of a cell: readout, numbers in cells, CSV.
function shownWeight(arranged, row, column, decimals = 4) {
  const at = row * arranged.columns.length + column;
  return arranged.masked[at] ? "masked" : arranged.values[at].toFixed(decimals);
}
