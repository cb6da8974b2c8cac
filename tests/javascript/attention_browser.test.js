// Tests of the attention browser: its numbers, readouts and layout are compared with the trace.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Recorder, fixture } from "./page.js";
import { arrange, entryName } from "../../assets/attention_browser/arrangement.js";
import { csvOf, escaped, jsonOf } from "../../assets/attention_browser/exports.js";
import { gridGeometry, hitGrid } from "../../assets/attention_browser/grid.js";
import { moved, press } from "../../assets/attention_browser/keys.js";
import { lectureGeometry } from "../../assets/attention_browser/lecture_map.js";
import { drawLines, hitLines, linesGeometry } from "../../assets/attention_browser/lines.js";
import { drawMap } from "../../assets/attention_browser/map.js";
import { hitMap, LABEL_SIZE, mapGeometry } from "../../assets/attention_browser/map_geometry.js";
import { pinnedCell, pinnedIn, withPin } from "../../assets/attention_browser/pins.js";
import { captionOf, description, notesOf, rankedHeads } from "../../assets/attention_browser/readout.js";
import { sumsOf } from "../../assets/attention_browser/sums.js";
import { linksOfWord, sentenceOfLinks, wordLinks } from "../../assets/attention_browser/word_links.js";
import { drawWithCaption, layoutWidth } from "../../assets/figures/svg_file.js";
import { fromScale, inkOn, onScale, SCALES, shadesOf } from "../../assets/shared/colours.js";
import { clamped } from "../../assets/shared/controls.js";
import { quote } from "../../assets/shared/direction.js";
import { followInput } from "../../assets/shared/input.js";
import { PALETTE } from "../../assets/shared/palette.js";
import { opensAbove } from "../../assets/shared/popup.js";
import { shortened, textWidth, wrapped } from "../../assets/shared/ruler.js";
import { MASKED_CODE, unframe, unpack, weightOf } from "../../assets/shared/wire.js";

const KINDS = ["encoder", "decoder", "cross"];
const THEME = { background: "#ffffff", chosen: "#c2410c", text: "#111111", primary: "#0000ff", border: "#cccccc",
  masked: [9, 9, 9] };
const NOTHING = { rows: new Set(), columns: new Set() };

async function kindOf(kind) {
  return { ...await unpack(fixture(`${kind}.bin`)), arranged: new Map() };
}

function expectedOf(kind) {
  const expected = JSON.parse(fixture(`${kind}.json`));
  return { ...expected, choice: { heads: [], ...expected.choice },
    selected: { rows: new Set(expected.pinned.rows), columns: new Set(expected.pinned.columns) } };
}

function near(actual, expected, tolerance) {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);
}

test("a message from Python is unpacked bit for bit", async () => {
  const { header, codes } = JSON.parse(fixture("message.json"));
  const message = await unpack(fixture("message.bin"));
  assert.deepEqual(message.header, header);
  assert.deepEqual(Array.from(message.codes), codes);
  assert.deepEqual(unframe(fixture("message.bin")).header, header);
});

test("encoded weights keep four decimal places", () => {
  for (let number = 0; number <= 10_000; number++) {
    assert.equal(weightOf(Math.floor((60_000 * number) / 10_000 + 3)).toFixed(4), (number / 10_000).toFixed(4));
  }
  assert.equal(weightOf(MASKED_CODE), 0);
});

for (const kind of KINDS) {
  describe(`${kind} attention`, () => {
    test("every head in every arrangement matches the Python view", async () => {
      const data = await kindOf(kind);
      const { layers, heads } = data.header;
      for (const { words, hide, rows, columns, weights, mask } of expectedOf(kind).views) {
        for (let layer = 0; layer < layers; layer++) {
          for (let head = 0; head < heads; head++) {
            const arranged = arrange(data, { words, hide }, layer, head);
            assert.deepEqual(arranged.rows.map(({ label }) => label), rows);
            assert.deepEqual(arranged.columns.map(({ label }) => label), columns);
            assert.deepEqual(Array.from(arranged.masked, (masked) => !masked), mask.flat());
            weights[layer][head].flat().forEach((weight, at) => near(arranged.values[at], weight, 5e-5));
            near(arranged.largest, Math.max(...weights[layer][head].flat()), 5e-5);
          }
        }
      }
    });

    test("sums of pinned tokens are computed from the displayed weights", async () => {
      const { selected, sums } = expectedOf(kind);
      const arranged = arrange(await kindOf(kind), { words: false, hide: false }, 0, 1);
      const { rows, columns, all } = sumsOf(arranged, selected);
      assert.deepEqual(rows.map((sum) => sum.toFixed(4)), sums.rows.map((sum) => sum.toFixed(4)));
      assert.deepEqual(columns.map((sum) => sum.toFixed(4)), sums.columns.map((sum) => sum.toFixed(4)));
      assert.equal(all.toFixed(4), sums.all.toFixed(4));
      assert.deepEqual(sumsOf(arranged, NOTHING), { rows: null, columns: null, all: 0 });
    });

    test("the CSV file matches the output of Python's csv module", async () => {
      const { selected, csv } = expectedOf(kind);
      assert.equal(csvOf(arrange(await kindOf(kind), { words: false, hide: false }, 0, 1), selected), csv);
    });

    test("the JSON file contains null for masked cells, and the sums of pinned tokens", async () => {
      const { selected, choice, views, sums } = expectedOf(kind);
      const data = await kindOf(kind);
      const saved = JSON.parse(jsonOf(data.header, { ...choice, head: 1 }, arrange(data, choice, 0, 1), selected));
      const { mask, weights } = views.find(({ words, hide }) => !words && !hide);
      assert.deepEqual([saved.layer, saved.head, saved.kind], [1, 2, kind]);
      saved.weights.forEach((row, r) => row.forEach((weight, c) => {
        if (mask[r][c]) near(weight, weights[0][1][r][c], 5.1e-5);
        else assert.equal(weight, null);
      }));
      assert.deepEqual(saved.sums.rows, { of: [2, 4], weights: sums.rows });
    });

    test("heads are ranked by their weight in the chosen cell", async () => {
      const { choice, views } = expectedOf(kind);
      const { weights } = views.find(({ words, hide }) => !words && !hide);
      const ranked = rankedHeads(await kindOf(kind), choice, { row: 2, column: 1 });
      const expected = weights.flat().map((head) => head[2][1].toFixed(4)).sort((a, b) => b - a);
      assert.deepEqual(ranked.map(({ weight }) => weight), expected);
      assert.equal(new Set(ranked.map(({ layer, head }) => `${layer} ${head}`)).size, expected.length);
      for (const { layer, head, weight } of ranked) assert.equal(weights[layer][head][2][1].toFixed(4), weight);
      assert.deepEqual(rankedHeads(await kindOf(kind), choice, { row: 2 }), []);
    });
  });
}

test("a masked cell is described, coloured and hatched as masked", async () => {
  const { choice } = expectedOf("decoder");
  const arranged = arrange(await kindOf("decoder"), choice, 0, 0);
  assert.match(description(arranged, { row: 0, column: 2 }, NOTHING), /\(row 1\) cannot look at .*: masked$/);
  const surface = new Recorder();
  const geometry = mapGeometry(arranged, 900, true);
  drawMap(surface, geometry, { arranged, choice, shades: shadesOf("viridis"), theme: THEME, hover: null,
    selected: NOTHING, axes: { from: "from", to: "to" }, measure: "weight" });
  const [{ colours }] = surface.of("cells");
  const masked = colours.flat().filter((colour) => colour === THEME.masked).length;
  const size = arranged.rows.length;
  assert.equal(masked, (size * (size - 1)) / 2);
  assert.equal(surface.of("line").filter(({ stroke }) => stroke === PALETTE.masked).length, masked);
});

test("the readout describes the cell, the row or the pinned tokens", async () => {
  const arranged = arrange(await kindOf("encoder"), { words: false, hide: false }, 0, 1);
  const { views } = expectedOf("encoder");
  const head = views.find(({ words, hide }) => !words && !hide).weights[0][1];
  const [first, second] = arranged.rows.map(({ label }) => label);
  assert.equal(description(arranged, { row: 0, column: 1 }, NOTHING),
    `“${first}” (row 1) looks at “${second}” (column 2) with weight ${head[0][1].toFixed(4)}`);
  const most = Math.max(...head[0]);
  const text = description(arranged, { row: 0 }, NOTHING);
  assert.ok(text.startsWith(`“${first}” looks most at “${arranged.columns[head[0].indexOf(most)].label}” ${most.toFixed(4)}, `),
    text);
  const pinned = { rows: new Set([0, 1]), columns: new Set([2]) };
  assert.match(description(arranged, null, pinned), /^“.*” and “.*” \(rows 1, 2\) look at “.*” \(column 3\) with a total weight of \d\.\d{4}$/);
  assert.deepEqual(pinnedCell(pinned), { row: undefined, column: 2 });
  assert.equal(quote("שלום"), "“\u2068שלום\u2069”");
});

test("the readout gives the positions of repeated words", () => {
  const labels = ["the", "dog", "the"].map((label, position) => ({ label, positions: [position] }));
  const values = [0.5, 0.4, 0.1, 0.6, 0.3, 0.1, 0.7, 0.2, 0.1];
  const arranged = { rows: labels, columns: labels, values, masked: values.map(() => false), signed: false };
  assert.equal(description(arranged, { row: 0 }, NOTHING),
    "“the” (row 1) looks most at “the” (column 1) 0.5000, “dog” 0.4000, “the” (column 3) 0.1000");
  assert.equal(description(arranged, { row: 1 }, NOTHING),
    "“dog” looks most at “the” (column 1) 0.6000, “dog” 0.3000, “the” (column 3) 0.1000");
  assert.equal(description(arranged, { column: 2 }, NOTHING),
    "“the” (column 3) is looked at most by “the” (row 1) 0.1000, “dog” 0.1000, “the” (row 3) 0.1000");
  assert.deepEqual([entryName(labels, 1, "row"), entryName(labels, 2, "row")], ["“dog”", "“the” (row 3)"]);
});

test("hovering over the middle of a cell, label or thumbnail finds it", async () => {
  const data = await kindOf("cross");
  const arranged = arrange(data, { words: false, hide: false }, 0, 0);
  const { rows, columns } = arranged;
  for (const width of [400, 900, 1400]) {
    const map = mapGeometry(arranged, width, true);
    const lines = linesGeometry(arranged, width);
    rows.forEach((_, row) => {
      const y = map.top + (row + 0.5) * map.cellHeight;
      columns.forEach((_, column) => (
        assert.deepEqual(hitMap(map, map.left + (column + 0.5) * map.cellWidth, y), { row, column })));
      assert.deepEqual(hitMap(map, 5, y), { row });
      assert.deepEqual(hitLines(lines, arranged, 5, lines.rowY(row)), { row });
    });
    columns.forEach((_, column) => {
      assert.deepEqual(hitMap(map, map.left + (column + 0.5) * map.cellWidth, map.top - 9), { column });
      assert.deepEqual(hitLines(lines, arranged, width - 5, lines.columnY(column)), { column });
    });
    assert.equal(hitMap(map, map.left + 5, map.bottom + 20), null);
    const grid = gridGeometry(data.header, width, true);
    for (let layer = 0; layer < data.header.layers; layer++) {
      for (let head = 0; head < data.header.heads; head++) {
        const hit = hitGrid(grid, grid.left + (head + 0.5) * grid.cellWidth, grid.top + (layer + 0.4) * grid.cellHeight);
        assert.deepEqual([hit.layer, hit.head], [layer, head]);
        assert.ok(hit.across > 0 && hit.across < 1 && hit.down > 0 && hit.down < 1);
      }
    }
    assert.equal(hitGrid(grid, grid.left - 1, grid.top + 1), null);
  }
});

test("labels fit their space, and row labels do not overlap", async () => {
  const tokens = arrange(await kindOf("encoder"), { words: false, hide: false }, 0, 0);
  const long = { label: "Unabhängigkeitserklärungskapitän".repeat(2), positions: [0] };
  const arranged = { ...tokens, rows: [long, ...tokens.rows.slice(1)] };
  for (const width of [300, 560, 1400]) {
    const geometry = mapGeometry(arranged, width, true);
    const surface = new Recorder();
    drawMap(surface, geometry, { arranged, choice: { scale: SCALES[0], threshold: 0 }, shades: shadesOf("viridis"),
      theme: THEME, hover: null, selected: NOTHING, axes: { from: "from: the token", to: "to: the token" }, measure: "weight" });
    assert.ok(geometry.right <= width, "the map is within the figure");
    const left = surface.of("text").filter(({ anchor, x, size }) => anchor === "end" && x < geometry.left && size === LABEL_SIZE);
    assert.ok(left.length > 0);
    for (const { x, string } of left) assert.ok(x - textWidth(string, LABEL_SIZE) >= 0, string);
    left.slice(1).forEach(({ y }, index) => assert.ok(y - left[index].y >= LABEL_SIZE));
  }
});

test("in a narrow figure, step labels keep both words and every column keeps its label", async () => {
  const tokens = arrange(await kindOf("encoder"), { words: false, hide: false }, 0, 0);
  const size = 12;
  /** @type {(name: (index: number) => string) => { label: string, positions: number[] }[]} */
  const labelled = (name) => Array.from({ length: size }, (_, index) => ({ label: name(index), positions: [index] }));
  const arranged = { ...tokens, rows: labelled((index) => `in: word${index} → out: Wort${index}`), columns: labelled((index) => `w${index}`),
    values: new Float32Array(size * size), masked: new Uint8Array(size * size) };
  for (const [width, name] of [[330, "word3 → Wort3"], [900, "in: word3 → out: Wort3"]]) {
    const surface = new Recorder();
    drawMap(surface, mapGeometry(arranged, width, true), { arranged, choice: { scale: SCALES[0], threshold: 0 },
      shades: shadesOf("viridis"), theme: THEME, hover: null, selected: NOTHING, axes: { from: "from", to: "to" }, measure: "weight" });
    const written = surface.of("text").map(({ string }) => string);
    assert.ok(written.includes(name), `${width}: ${written}`);
    assert.ok(written.includes(name.startsWith("in:") ? "from" : "from, in → out"), `${width}: ${written}`);
    for (let column = 0; column < size; column++) assert.ok(written.includes(`w${column}`), `${width}: column ${column}`);
  }
});

// Space available in lecture mode, in figure units: 13 units (the label height) are 27 pixels.
const PROJECTOR = { width: 478, height: 332 };
const BESIDE_A_QUESTION = { width: 273, height: 345 };
const WIDE_PROJECTOR = { width: 678, height: 395 };
const LEAST_IN_A_HALL = 0.6 * LABEL_SIZE;
const GARDEN = ["The old man is reading a newspaper in the garden . </s>", "Der alte Mann liest eine Zeitung im Garten . </s>"];
const LIBRARY = ["My students asked whether the old library near the river is open on Sundays . </s>",
  "Meine Schüler frag… …ten, ob die alte Bibliothek in der Nähe des Flusses sonntags geöffnet ist . </s>"];

// Draws a map in lecture mode. Returns the map's geometry and the drawn labels of rows (left) and columns (above).
function presented(room, source, target, { row, column } = {}) {
  globalThis.innerWidth = 1024;
  const labelled = (names) => names.map((label, position) => ({ label, positions: [position] }));
  const written = target.split(" ");
  const rows = labelled(written.map((word, index) => `in: ${written[index - 1] ?? "<s> start"} → out: ${word}`));
  const columns = labelled(source.split(" "));
  const cells = rows.length * columns.length;
  const geometry = lectureGeometry({ rows, columns }, room);
  const surface = new Recorder();
  drawMap(surface, geometry, { arranged: { rows, columns, values: new Float32Array(cells), masked: new Uint8Array(cells), largest: 1 },
    choice: { scale: SCALES[0], threshold: 0 }, shades: shadesOf("viridis"), theme: THEME, hover: { row, column }, selected: NOTHING,
    axes: { from: "", to: "" }, measure: "weight" });
  const texts = surface.of("text");
  return { rows, columns, geometry, left: texts.filter(({ anchor, string }) => anchor === "end" && string.includes("→")),
    above: texts.filter(({ angle }) => angle && angle > -3 && angle < 0).filter(({ string }) => string) };
}

const briefly = ({ label }) => label.replace("in: ", "").replace("out: ", "");

test("on a projector, every word has a complete label that is legible from the last row", () => {
  for (const [source, target] of [GARDEN, LIBRARY]) {
    for (const room of [PROJECTOR, WIDE_PROJECTOR, ...(source === GARDEN[0] ? [BESIDE_A_QUESTION] : [])]) {
      const { rows, columns, geometry, left, above } = presented(room, source, target);
      const where = `${room.width} wide: ${source}`;
      assert.deepEqual(above.map(({ string }) => string), columns.map(({ label }) => label), where);
      assert.deepEqual(left.map(({ string }) => string.replace("in: ", "").replace("out: ", "")), rows.map(briefly), where);
      for (const { string, size, x, y, angle = 0 } of [...left, ...above]) {
        assert.ok(size >= LEAST_IN_A_HALL - 1e-9, `${where}: ${string} in ${size}`);
        const length = textWidth(string, size);
        if (angle) assert.ok(y + Math.sin(angle) * length >= 0 && x + Math.cos(angle) * length <= room.width, `${where}: ${string}`);
        else assert.ok(x - length >= 0, `${where}: ${string}`);
      }
      assert.ok(geometry.height <= room.height + 1e-9 && geometry.right <= room.width, where);
      assert.ok(geometry.cellHeight >= Math.max(...left.map(({ size }) => size)), where);
      for (const { size } of above) assert.ok(geometry.cellWidth * Math.sin(-geometry.columnAngle) >= size, where);
      for (const [index, { y }] of above.entries()) {
        const x = geometry.left + (index + 0.5) * geometry.cellWidth;
        assert.deepEqual(hitMap(geometry, x + 9 * Math.cos(geometry.columnAngle), y + 9 * Math.sin(geometry.columnAngle)),
          { column: index }, where);
      }
    }
  }
});

test("in lecture mode, the word under the pointer has a complete label that no other label covers", () => {
  const many = Array.from({ length: 60 }, (_, index) => `word${index}`);
  const long = "Unabhängigkeitserklärung";
  for (const room of [PROJECTOR, BESIDE_A_QUESTION]) {
    for (const at of [20, 21, 22, 23]) {
      const words = many.map((word, index) => (index === at ? long : word));
      const { rows, columns, geometry, left, above } = presented(room, words.join(" "), words.join(" "), { row: at, column: at });
      assert.ok(left.length < rows.length && above.length < columns.length, "there is no room for all");
      for (const [names, label, pitch, along] of [
        [left, `word${at - 1} → ${long}`, 1, "y"], [above, long, Math.sin(-geometry.columnAngle), "x"],
      ]) {
        const [marked] = names.filter(({ bold }) => bold);
        assert.equal(marked.string, label);
        for (const other of names) {
          assert.ok(other === marked || Math.abs(other[along] - marked[along]) * pitch >= 0.9 * other.size, `${at}: ${other.string}`);
        }
      }
    }
  }
});

test("cells smaller than 12 pixels have no grid lines", async () => {
  const tokens = arrange(await kindOf("encoder"), { words: false, hide: false }, 0, 0);
  const seen = new Set();
  for (const size of [4, 12, 20, 30, 45, 60, 90, 128]) {
    const labels = Array.from({ length: size }, (_, index) => ({ label: `w${index}`, positions: [index] }));
    const arranged = { ...tokens, rows: labels, columns: labels,
      values: new Float32Array(size * size), masked: new Uint8Array(size * size) };
    for (const width of [330, 700, 1100]) {
      const geometry = mapGeometry(arranged, width, false);
      const surface = new Recorder();
      drawMap(surface, geometry, { arranged, choice: { scale: SCALES[0], threshold: 0 }, shades: shadesOf("viridis"),
        theme: THEME, hover: null, selected: NOTHING, axes: { from: "from", to: "to" }, measure: "weight" });
      const between = surface.of("line").filter(({ stroke }) => stroke === THEME.background);
      const small = Math.min(geometry.cellWidth, geometry.cellHeight) < 12;
      assert.equal(between.length, small ? 0 : 2 * (size + 1), `${size} tokens, ${width} pixels`);
      seen.add(small);
    }
  }
  assert.deepEqual([...seen].sort(), [false, true], "both happen");
});

test("every column of a 14-word map is labelled on a phone", async () => {
  const tokens = arrange(await kindOf("encoder"), { words: false, hide: false }, 0, 0);
  const labels = Array.from({ length: 14 }, (_, index) => ({ label: `überquerte${index}`, positions: [index] }));
  const arranged = { ...tokens, rows: labels, columns: labels };
  assert.equal(mapGeometry(arranged, 358, false).columnStep, 1);
});

test("the legend of a mask shows allowed and masked, not a scale", async () => {
  const arranged = arrange(await kindOf("encoder"), { words: false, hide: false }, 0, 0);
  const surface = new Recorder();
  drawMap(surface, mapGeometry(arranged, 400, false), { arranged, choice: { scale: "allowed", threshold: 0 }, shades: shadesOf("viridis"),
    theme: THEME, hover: null, selected: NOTHING, axes: { from: "from", to: "to" }, measure: "weight" });
  const texts = surface.of("text").map(({ string }) => string);
  assert.ok(texts.includes("allowed") && texts.includes("masked") && !texts.includes("0.50"));
});

test("a long label is shortened in the middle or wrapped between words", () => {
  assert.equal(shortened("short", 100, 10), "short");
  assert.equal(shortened("abcdefghij", 25, 10), "ab…ij");
  assert.equal(shortened("abcdefghij", 30, 10), "abc…ij");
  assert.equal(shortened("abc", 4, 10), "…");
  for (const width of [20, 35, 60]) {
    const lines = wrapped("the quick brown fox 🙂🙂🙂🙂🙂🙂🙂", width, 10);
    for (const line of lines) assert.ok(textWidth(line, 10) <= width, line);
    assert.equal(lines.join("").replaceAll(" ", ""), "thequickbrownfox🙂🙂🙂🙂🙂🙂🙂");
  }
  assert.deepEqual(wrapped("ab cd ef", 25, 10), ["ab cd", "ef"]);
});

test("a colour scale is monotonic and invertible, and has the end colours of its palette", () => {
  for (const scale of [...SCALES, "difference"]) {
    const places = [0, 0.1, 0.25, 0.5].map((value) => onScale(value, scale, 0.5));
    places.slice(1).forEach((place, index) => assert.ok(place > places[index], scale));
    places.forEach((place, index) => near(fromScale(place, scale, 0.5), [0, 0.1, 0.25, 0.5][index], 1e-12));
  }
  assert.equal(onScale(0, "difference", 0.5), 0.5);
  for (const [palette, stops] of Object.entries({ ...PALETTE.sequential, difference: PALETTE.diverging })) {
    const hex = (colour) => `#${colour.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
    const shades = shadesOf(palette);
    assert.deepEqual([shades.length, hex(shades[0]), hex(shades.at(-1))], [256, stops[0], stops.at(-1)]);
  }
  assert.equal(inkOn([253, 231, 37]), PALETTE.dark);
  assert.equal(inkOn([68, 1, 84]), PALETTE.light);
});

test("several heads drawn as lines are labelled in their colours", async () => {
  const arranged = arrange(await kindOf("encoder"), { words: false, hide: false }, 0, 0);
  const named = (...heads) => {
    const surface = new Recorder();
    drawLines(surface, linesGeometry(arranged, 900), { arranged, choice: { scale: SCALES[0], threshold: 0 }, theme: THEME, hover: null,
      selected: NOTHING, axes: { from: "from", to: "to" }, heads: heads.map(([head, colour]) => ({ head, arranged, colour })) });
    return surface.of("text").filter(({ string }) => string.startsWith("head ")).map(({ string, fill }) => [string, fill]);
  };
  assert.deepEqual(named([2, "red"], [0, "blue"]), [["head 3", "red"], ["head 1", "blue"]]);
  assert.deepEqual(named([2, "red"]), [], "a single head needs no label");
});

test("a panel opens above its button if it does not fit below and there is more space above", () => {
  assert.equal(opensAbove(100, 130, 300, 768), false);
  assert.equal(opensAbove(600, 630, 300, 768), true);
  assert.equal(opensAbove(300, 330, 700, 768), false, "no room on either side: the page scrolls down");
});

test("the kind of input follows the device used last", () => {
  const root = new EventTarget();
  /** @type {(type: string, pointerType?: string) => string} */
  const after = (type, pointerType) => {
    root.dispatchEvent(Object.assign(new Event(type), { pointerType }));
    return input.kind;
  };
  globalThis.matchMedia = () => ({ matches: true });
  const input = followInput(root);
  assert.equal(input.kind, "touch");
  assert.equal(after("keydown"), "keys");
  assert.equal(after("pointermove", "mouse"), "mouse");
  assert.equal(after("pointerdown", "touch"), "touch");
  assert.equal(after("pointerdown", "pen"), "mouse");
});

test("the caption of a saved figure states how its weights were changed", async () => {
  const data = await kindOf("cross");
  const choice = { ...expectedOf("cross").choice, threshold: 7, words: true, scale: SCALES[2], heads: [2, 99] };
  const arranged = arrange(data, choice, 0, 0);
  const { title, sentence, notes } = captionOf(data.header, choice, arranged, NOTHING);
  assert.equal(title, `${data.header.title}, layer 1, head 1`);
  assert.equal(sentence, `${data.header.shown.source} → ${data.header.shown.target}`);
  assert.equal(notes, "Colour: square root of the weight, from 0 to 1. Tokens are merged into words. Weights below 0.07 are hidden.");
  assert.deepEqual(notesOf({ ...choice, threshold: 0, scale: SCALES[0] }, NOTHING), []);
  const lines = captionOf(data.header, { ...choice, look: "lines" }, arranged, NOTHING);
  assert.match(lines.title, /heads 1, 3$/);
});

test("a click pins or releases tokens, and Shift adds to the pinned tokens", () => {
  const arranged = { rows: [{ label: "the", positions: [0] }, { label: "animal", positions: [1, 2] }],
    columns: [{ label: "das", positions: [0] }, { label: "Tier", positions: [1] }] };
  const none = { rows: [], columns: [] };
  const animal = withPin(none, arranged, { row: 1, column: 0 }, false);
  assert.deepEqual(animal, { rows: [1, 2], columns: [0] });
  assert.deepEqual(pinnedIn(animal, arranged), { rows: new Set([1]), columns: new Set([0]) });
  assert.deepEqual(withPin(animal, arranged, { row: 1, column: 0 }, false), none, "the same cell again");
  assert.deepEqual(withPin(animal, arranged, { row: 0 }, false), { rows: [0], columns: [] }, "the label of a row");
  assert.deepEqual(withPin(animal, arranged, { row: 0, column: 0 }, true), { rows: [1, 2, 0], columns: [] });
  assert.deepEqual(withPin(animal, arranged, null, true), animal, "Shift beside the figure");
  assert.deepEqual(withPin(animal, arranged, null, false), none);
});

describe("keyboard", () => {
  // Calls `press` with a stub that has only the parts of an attention browser that `press` uses.
  async function pressed(key, { on = "grid", modifiers = {}, hover = null, ...choice } = {}) {
    const data = await kindOf("encoder");
    const parts = { grid: {}, large: {} };
    const browser = {
      ...parts, data, hover, keys: { open: false }, choice: { ...expectedOf("encoder").choice, ...choice },
      change: (part) => Object.assign(changed, part), arranged: () => arrange(data, browser.choice, 0, 0), draw() {}, description: { say() {} },
      pin: (hit, add) => Object.assign(changed, { pinned: hit, add }),
    };
    const changed = {};
    let prevented = false;
    press(browser, { key, target: parts[on], ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...modifiers,
      preventDefault: () => { prevented = true; }, stopPropagation() {} });
    return { changed, prevented, hover: browser.hover };
  }
  globalThis.Element ??= class Element {};

  test("arrows, brackets, comma and full stop choose heads and stop at the first and last", async () => {
    assert.deepEqual((await pressed("ArrowRight")).changed, { layer: 0, head: 1 });
    assert.deepEqual((await pressed("ArrowUp")).changed, { layer: 0, head: 0 });
    assert.deepEqual((await pressed("ArrowDown", { layer: 1 })).changed, { layer: 1, head: 0 });
    assert.deepEqual((await pressed("]")).changed, { layer: 1 });
    assert.deepEqual((await pressed("[", { layer: 1 })).changed, { layer: 0 });
    assert.deepEqual((await pressed(".", { head: 3 })).changed, { head: 3 });
    assert.deepEqual((await pressed(",", { head: 3 })).changed, { head: 2 });
  });

  test("in the large figure, arrows move over cells, Enter pins, and Shift+Enter adds a pin", async () => {
    assert.deepEqual((await pressed("ArrowRight", { on: "large" })).hover, { row: 0, column: 0 });
    assert.deepEqual((await pressed("ArrowRight", { on: "large", hover: { row: 0, column: 0 } })).hover, { row: 0, column: 1 });
    const at = { row: 1, column: 1 };
    assert.deepEqual((await pressed("Enter", { on: "large", hover: at })).changed, { pinned: at, add: false });
    assert.deepEqual((await pressed("Enter", { on: "large", hover: at, modifiers: { shiftKey: true } })).changed,
      { pinned: at, add: true });
  });

  test("browser shortcuts and unknown keys are ignored", async () => {
    assert.deepEqual(await pressed("w", { modifiers: { ctrlKey: true } }), { changed: {}, prevented: false, hover: null });
    assert.deepEqual(await pressed("x"), { changed: {}, prevented: false, hover: null });
    assert.deepEqual(await pressed("w"), { changed: { words: true }, prevented: true, hover: null });
    assert.deepEqual((await pressed("m")).changed, { look: "lines" });
    assert.deepEqual((await pressed("Escape", { hover: { row: 1 } })), { changed: { rows: [], columns: [] }, prevented: true,
      hover: null });
  });

  test("an index outside its list becomes the nearest valid index", () => {
    assert.deepEqual([clamped(-1, 3), clamped(1, 3), clamped(3, 3)], [0, 1, 2]);
  });
});

test("CSV text that a spreadsheet would run as a formula is escaped, and numbers are unchanged", () => {
  for (const formula of ["=1+2", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "-", "+49 30", "＝1+1"]) {
    assert.equal(escaped(formula), `'${formula}`);
  }
  // In some locales, a semicolon or a tab starts a new cell, so the text after it may be a formula.
  assert.deepEqual(["Hi;=1+1", "Hi;\"=1\"", "\t=1", "a\r\n=1;-2+3", "a; @b"].map(escaped),
    ["Hi;'=1+1", "Hi;'\"=1\"", "'\t'=1", "a\r\n'=1;'-2+3", "a;' @b"]);
  for (const cell of ["-0.25", "+1.5e-07", "12", "-3", "Hund", "a=b", "␣-", "masked", "Hi; there", "a\r\nb", ""]) assert.equal(escaped(cell), cell);
});

test("a saved figure has the chosen column width and an optional caption", () => {
  const options = { column: "one", caption: true, transparent: false, light: false };
  assert.deepEqual(["", "one", "two"].map((column) => layoutWidth({ ...options, column })), [null, 354, 736]);
  const picture = { geometry: { width: 354 }, end: 200, theme: THEME, draw: (surface) => surface.line(0, 0, 9, 9, "#000000", 1) };
  const caption = { title: "Cross attention, layer 1, head 1", sentence: "dog ".repeat(40), notes: "", description: "" };
  const [full, bare] = [options, { ...options, caption: false, transparent: true }].map((chosen) => (
    drawWithCaption(picture, caption, chosen, () => new Recorder())));
  const [title, ...lines] = full.surface.of("text");
  assert.deepEqual([title.string, title.bold, title.y > 200], [caption.title, true, true]);
  assert.equal(lines.map(({ string }) => string).join(" "), caption.sentence.trim());
  assert.ok(lines.every(({ string, y }) => textWidth(string, 13) <= 354 - 16 && y < full.height));
  assert.deepEqual(full.surface.of("rect"), [{ what: "rect", x: 0, y: 0, width: 354, height: full.height, fill: "#ffffff" }]);
  assert.deepEqual([bare.height, bare.surface.of("text"), bare.surface.of("rect"), bare.surface.of("line").length], [200, [], [], 1]);
});

// Returns encoder attention with two heads on five words and an end symbol. The first head attends to the previous word,
// the second to the column that `second` lists for each row.
function twoHeads(names, second) {
  const words = ["the", "dog", "barks", "at", "it", "</s> end"];
  const side = words.map((label, position) => ({ label, positions: [position] }));
  const arranged = (columns) => {
    const values = new Float32Array(36);
    columns.forEach((column, row) => { values[row * 6 + column] = 1; });
    return { rows: side, columns: side, values, masked: new Uint8Array(36), largest: 1 };
  };
  return {
    header: { kind: "encoder", layers: 1, heads: 2, special: [5], names },
    arranged: new Map([["tokens/0/0", arranged([0, 0, 1, 2, 3, 4])], ["tokens/0/1", arranged(second)]]),
  };
}

const TOKENS = { words: false, hide: false };

test("links of a word exclude the word itself, its neighbours, special tokens and positional heads", () => {
  // "it" attends to the distant word "dog", and "the" to the end symbol. "dog" attends to itself, and "barks" to its
  // neighbour.
  const data = twoHeads(["previous token", ""], [5, 1, 1, 5, 1, 5]);
  const links = wordLinks(data, TOKENS, { row: 4 });
  assert.deepEqual(links.strongest.map(({ head, row, column, weight, usual }) => [head, row, column, weight, usual]),
    [[1, 4, 1, "1.0000", 0.25]]);
  assert.equal(links.lit[0], 0);
  assert.ok(links.lit[1] > 0);
  const arranged = data.arranged.get("tokens/0/1");
  assert.equal(sentenceOfLinks(arranged, { row: 4 }, links), "Links that stand out in single heads: “it” looks at “dog” 1.00 (layer 1, head 2).");
  const seen = wordLinks(data, TOKENS, { column: 1 });
  assert.equal(sentenceOfLinks(arranged, { column: 1 }, seen), "Links that stand out in single heads: “dog” is looked at by “it” 1.00 (layer 1, head 2).");
  for (const row of [0, 1, 2]) assert.deepEqual(wordLinks(data, TOKENS, { row }).strongest, []);
});

test("the sentence about a word names the links that stand out most, the largest weight first", () => {
  const arranged = twoHeads(["", ""], [5, 1, 1, 5, 1, 5]).arranged.get("tokens/0/1");
  const strongest = ["0.6", "0.9", "0.7", "0.8"].map((weight, column) => ({ layer: 0, head: 1, row: 4, column, weight, usual: 0, excess: 4 - column }));
  assert.match(sentenceOfLinks(arranged, { row: 4 }, { strongest, lit: [] }), /looks at “dog” 0.90 .*, “barks” 0.70 .*, “the” 0.60 /);
});

for (const kind of ["encoder", "decoder", "cross"]) {
  test(`${kind} links of a word match the links on the first page`, async () => {
    const data = await kindOf(`links-${kind}`);
    const expected = JSON.parse(fixture(`links-${kind}.json`));
    assert.ok(expected.some((links) => links.length > 2));
    expected.forEach((links, row) => {
      const { strongest } = wordLinks(data, TOKENS, { row });
      assert.deepEqual(strongest.map(({ layer, head, column, weight }) => [layer, head, column, weight]),
        links.map(({ layer, head, column, weight }) => [layer, head, column, weight.toFixed(4)]));
      strongest.forEach(({ excess }, at) => near(excess, links[at].excess, 5e-5));
    });
  });
}

test("a word hovered in the sentence highlights the heads of its row and its column", () => {
  const data = twoHeads(["", ""], [5, 1, 1, 5, 1, 5]);
  data.header.arrangements = { tokens: { rows: data.arranged.get("tokens/0/0").rows, columns: data.arranged.get("tokens/0/0").columns } };
  assert.equal(linksOfWord(data, TOKENS, null), null);
  assert.equal(linksOfWord(data, TOKENS, { rows: [], columns: [] }), null);
  const [row, column] = [{ row: 4 }, { column: 4 }].map((place) => wordLinks(data, TOKENS, place).lit);
  assert.deepEqual(linksOfWord(data, TOKENS, { rows: [4], columns: [4] }).lit, row.map((value, head) => Math.max(value, column[head])));
  assert.deepEqual(linksOfWord(data, TOKENS, { rows: [4], columns: [] }).lit, row);
});

test("a link that a head makes in every row does not stand out", () => {
  const data = twoHeads(["", ""], [3, 3, 3, 3, 3, 3]);
  assert.deepEqual(wordLinks(data, TOKENS, { row: 0 }).strongest.map(({ column }) => column), []);
});

test("a cell has no word links, and arrow keys move between cells and row or column labels", () => {
  const data = twoHeads(["", ""], [5, 1, 1, 5, 1, 5]);
  assert.equal(wordLinks(data, TOKENS, { row: 4, column: 1 }), null);
  assert.equal(wordLinks(data, TOKENS, {}), null);
  assert.deepEqual(moved({ row: 4, column: 0 }, [0, -1], 6, 6), { row: 4 });
  assert.deepEqual(moved({ row: 4 }, [1, 0], 6, 6), { row: 5 });
  assert.deepEqual(moved({ row: 4 }, [0, 1], 6, 6), { row: 4, column: 0 });
  assert.deepEqual(moved({ row: 0, column: 2 }, [-1, 0], 6, 6), { column: 2 });
  assert.deepEqual(moved({ column: 2 }, [0, 1], 6, 6), { column: 3 });
  assert.deepEqual(moved({ column: 2 }, [1, 0], 6, 6), { row: 0, column: 2 });
});
