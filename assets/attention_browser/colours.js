// Colour scales, and how a weight becomes a colour.

// Perceptually uniform and safe for the colour-blind. Viridis, magma: van der Walt and Smith 2015; cividis: Nuñez et al.
// 2018. Paper is for print: white is nothing.
const PALETTES = {
  viridis: "#440154 #482878 #3e4989 #31688e #26828e #1f9e89 #35b779 #6ece58 #b5de2b #fde725",
  cividis: "#00224e #123570 #3b496c #575d6d #707173 #8a8678 #a59c74 #c3b369 #e1cc55 #fee838",
  magma: "#000004 #180f3d #440f76 #721f81 #9e2f7f #cd4071 #f1605d #fd9668 #feca8d #fcfdbf",
  paper: "#ffffff #f0f0f0 #d9d9d9 #bdbdbd #969696 #737373 #525252 #252525 #000000",
};
// Several heads at once: eight colours that the colour-blind can tell apart (Okabe and Ito 2008; black and yellow, which
// one of the themes would swallow, replaced by grey and ochre).
const HEAD_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8b93a3", "#a6761d"];
const MASKED_COLOUR = "#8b93a3";
// At least 3 : 1 on both themes for frames, 4.5 : 1 on its own theme for text (WCAG 2.2, 1.4.11 and 1.4.3).
const CHOSEN_COLOUR = "#ea580c";
const CHOSEN_TEXT = { onLight: "#c2410c", onDark: "#f97316" };
const SHADES = 256;
// For differences: the middle, white, is no difference (ColorBrewer's RdBu, Harrower and Brewer 2003).
const DIVERGING = "#2166ac #67a9cf #d1e5f0 #f7f7f7 #fddbc7 #ef8a62 #b2182b";

const channels = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));

// 256 colours of a palette, or the diverging ones for "difference", as [r, g, b] each.
function shadesOf(palette) {
  const stops = (PALETTES[palette] ?? DIVERGING).split(" ").map(channels);
  return Array.from({ length: SHADES }, (_, shade) => {
    const at = (shade / (SHADES - 1)) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    return stops[low].map((value, i) => Math.round(value + (stops[low + 1][i] - value) * (at - low)));
  });
}

// The place of a weight on the colour scale, 0 to 1.
function onScale(value, scale, largest) {
  if (scale === "square root") return Math.sqrt(value);
  if (scale === "each head its own") return largest > 0 ? value / largest : 0;
  if (scale === "difference") return largest > 0 ? (value / largest + 1) / 2 : 0.5;
  return value;
}

// The weight that stands at a place on the colour scale; onScale the other way round.
function fromScale(place, scale, largest) {
  if (scale === "square root") return place * place;
  if (scale === "each head its own") return place * largest;
  if (scale === "difference") return (place * 2 - 1) * largest;
  return place;
}

const css = ([r, g, b]) => `rgb(${r},${g},${b})`;
// Dark or light figures on a shade, whichever is easier to read.
function inkOn(colour) {
  return isLight(colour) ? "#0b1020" : "#ffffff";
}

// By relative luminance as in WCAG 2.
function isLight([r, g, b]) {
  const linear = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.18;
}

// The page's colours, light or dark, as it has them now.
function themeOf(root) {
  const style = getComputedStyle(root);
  const named = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
  const background = named("--st-background-color", "#ffffff");
  const probe = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  probe.fillStyle = background;
  probe.fillRect(0, 0, 1, 1);
  const chosen = isLight(probe.getImageData(0, 0, 1, 1).data) ? CHOSEN_TEXT.onLight : CHOSEN_TEXT.onDark;
  probe.globalAlpha = 0.3;
  probe.fillStyle = MASKED_COLOUR;
  probe.fillRect(0, 0, 1, 1);
  return {
    background,
    chosen,
    text: named("--st-text-color", "#1f2937"),
    primary: named("--st-primary-color", "#1d4ed8"),
    border: named("--st-border-color", "#cbd5e1"),
    masked: Array.from(probe.getImageData(0, 0, 1, 1).data.slice(0, 3)),
  };
}
