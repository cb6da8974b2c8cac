// Two things to draw on, a canvas and an SVG document, with the same methods: a figure is drawn once and saved as seen.

const FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", system-ui, sans-serif';

class CanvasSurface {
  // width and height in CSS pixels; density is device pixels per CSS pixel.
  constructor(canvas, width, height, density) {
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    this.context = canvas.getContext("2d");
    this.context.setTransform(density, 0, 0, density, 0, 0);
    this.context.clearRect(0, 0, width, height);
  }

  rect(x, y, width, height, fill) {
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
  }

  frame(x, y, width, height, stroke, thickness) {
    this.context.strokeStyle = stroke;
    this.context.lineWidth = thickness;
    this.context.strokeRect(x, y, width, height);
  }

  line(x1, y1, x2, y2, stroke, thickness, opacity = 1) {
    const context = this.context;
    context.globalAlpha = opacity;
    context.strokeStyle = stroke;
    context.lineWidth = thickness;
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
    context.globalAlpha = 1;
  }

  // A map of cells without gaps; colourAt(row, column) is [r, g, b] or null for nothing.
  cells(x, y, cellWidth, cellHeight, rows, columns, colourAt) {
    const picture = new ImageData(columns, rows);
    for (let row = 0, at = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++, at += 4) {
        const colour = colourAt(row, column);
        if (!colour) continue;
        picture.data[at] = colour[0];
        picture.data[at + 1] = colour[1];
        picture.data[at + 2] = colour[2];
        picture.data[at + 3] = 255;
      }
    }
    const small = new OffscreenCanvas(columns, rows);
    small.getContext("2d").putImageData(picture, 0, 0);
    // Cells stay sharp where there is a pixel for each; where there are more cells than pixels they are averaged.
    this.context.imageSmoothingEnabled = cellWidth < 1 || cellHeight < 1;
    this.context.imageSmoothingQuality = "high";
    this.context.drawImage(small, x, y, cellWidth * columns, cellHeight * rows);
  }

  text(x, y, string, { size = 13, fill, anchor = "start", angle = 0, bold = false }) {
    const context = this.context;
    context.save();
    context.translate(x, y);
    context.rotate(angle);
    context.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
    context.fillStyle = fill;
    context.textAlign = anchor === "middle" ? "center" : anchor;
    context.textBaseline = "middle";
    context.fillText(string, 0, 0);
    context.restore();
  }
}

class SvgSurface {
  // The description holds what there may be no room to draw.
  constructor(width, height, background, description) {
    this.document = document.implementation.createDocument("http://www.w3.org/2000/svg", "svg", null);
    const root = this.document.documentElement;
    root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    root.setAttribute("width", width);
    root.setAttribute("height", height);
    root.setAttribute("font-family", FONT);
    this.add("desc", {}).textContent = writable(description);
    this.rect(0, 0, width, height, background);
  }

  add(name, attributes) {
    const element = this.document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) {
      element.setAttribute(key, typeof value === "number" ? +value.toFixed(3) : value);
    }
    this.document.documentElement.append(element);
    return element;
  }

  rect(x, y, width, height, fill) {
    this.add("rect", { x, y, width, height, fill });
  }

  frame(x, y, width, height, stroke, thickness) {
    this.add("rect", { x, y, width, height, fill: "none", stroke, "stroke-width": thickness });
  }

  line(x1, y1, x2, y2, stroke, thickness, opacity = 1) {
    this.add("line", { x1, y1, x2, y2, stroke, "stroke-width": thickness, "stroke-opacity": opacity });
  }

  cells(x, y, cellWidth, cellHeight, rows, columns, colourAt) {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const colour = colourAt(row, column);
        if (colour) this.rect(x + column * cellWidth, y + row * cellHeight, cellWidth, cellHeight, css(colour));
      }
    }
  }

  text(x, y, string, { size = 13, fill, anchor = "start", angle = 0, bold = false }) {
    const element = this.add("text", {
      transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) rotate(${((angle * 180) / Math.PI).toFixed(2)})`,
      "font-size": size, "font-weight": bold ? 600 : 400, fill, "text-anchor": anchor, "dominant-baseline": "central",
    });
    element.textContent = writable(string);
  }

  toString() {
    return new XMLSerializer().serializeToString(this.document);
  }
}

// Characters that no XML document may hold would make the whole file unreadable.
function writable(string) {
  return string.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

const ruler = new OffscreenCanvas(1, 1).getContext("2d");

function textWidth(string, size, bold = false) {
  ruler.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
  return ruler.measureText(string).width;
}

// The string, cut in the middle if it is wider than `width` pixels.
function shortened(string, width, size, bold = false) {
  if (textWidth(string, size, bold) <= width) return string;
  const characters = Array.from(string);
  for (let kept = characters.length - 1; kept > 1; kept--) {
    const front = Math.ceil(kept / 2);
    const cut = characters.slice(0, front).join("") + "…" + characters.slice(characters.length - (kept - front)).join("");
    if (textWidth(cut, size, bold) <= width) return cut;
  }
  return "…";
}

// The string as lines of at most `width` pixels, broken between words, or within a word that is wider itself.
function wrapped(string, width, size) {
  const lines = [""];
  for (const word of string.split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (textWidth(longer, size) <= width) {
      lines[lines.length - 1] = longer;
      continue;
    }
    if (lines.at(-1)) lines.push("");
    for (const character of word) {
      if (textWidth(lines.at(-1) + character, size) > width) lines.push("");
      lines[lines.length - 1] += character;
    }
  }
  return lines;
}
