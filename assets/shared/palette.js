// The colours of every figure. Python reads them from this file, too (pages/ui/charts/palette.py), so the object must
// be valid JSON.

// The sequential palettes are perceptually uniform and safe for colour-blind users. Viridis and magma are from van der
// Walt and Smith 2015, cividis from Nuñez et al. 2018. Paper is for print; white stands for a weight of 0. The
// diverging palette (ColorBrewer's RdBu, Harrower and Brewer 2003) is for signed numbers; white stands for 0. `heads`
// has eight colours that colour-blind users can tell apart (Okabe and Ito 2008), for heads drawn together. Grey and
// ochre replace black and yellow, which would be invisible in one of the themes. `pair` is for charts with two lines or
// bars, `series` for charts with more.
export const PALETTE = {
  "sequential": {
    "viridis": ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"],
    "cividis": ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"],
    "magma": ["#000004", "#180f3d", "#440f76", "#721f81", "#9e2f7f", "#cd4071", "#f1605d", "#fd9668", "#feca8d", "#fcfdbf"],
    "paper": ["#ffffff", "#f0f0f0", "#d9d9d9", "#bdbdbd", "#969696", "#737373", "#525252", "#252525", "#000000"]
  },
  "diverging": ["#2166ac", "#67a9cf", "#d1e5f0", "#f7f7f7", "#fddbc7", "#ef8a62", "#b2182b"],
  "heads": ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8b93a3", "#a6761d"],
  "pair": ["#3b6fe0", "#d97706"],
  "series": ["#94a3b8", "#3b82f6", "#f59e0b", "#10b981"],
  "bits": ["#cfd8ea", "#1d4ed8"],
  "masked": "#8b93a3",
  "picked": "#ef4444",
  "dark": "#0b1020",
  "light": "#ffffff"
};
