// Shows a training run as a film: the maps at one step, all curves, and controls that move between steps.

import { lectureZoom, zoomedSurface } from "../attention_browser/lecture_map.js";
import { LABEL_SIZE } from "../attention_browser/map_geometry.js";
import { SIDE_GAP, SideBySide } from "../attention_browser/side_by_side.js";
import { saveable } from "../figures/saveable.js";
import { onStep } from "../shared/clicker.js";
import { themeOf } from "../shared/colours.js";
import { keepingFocus, select } from "../shared/controls.js";
import { element } from "../shared/element.js";
import { mount, PaintedComponent } from "../shared/mount.js";
import { Player } from "../shared/player.js";
import { SyncedState } from "../shared/synced_state.js";
import { unpack } from "../shared/wire.js";
import { curvesGeometry, drawCurves, KIND_LINES, stepAt } from "./curves.js";
import { Film, SCORE_NAMES } from "./film.js";
import { drawSpectrum, largestFrequencies, SPECTRUM_TITLE, spectrumGeometry } from "./spectrum.js";
/** @import { Picture } from "../figures/svg_file.js" */
/** @import { Theme } from "../shared/colours.js" */
/** @import { CurvesGeometry } from "./curves.js" */
/** @import { FilmKind, FilmView } from "./film.js" */

// Duration of a snapshot in milliseconds: a hundred snapshots take ten seconds.
const FRAME_DURATION = 100;
// Number of snapshots by which one press of a lecturer's clicker moves the film.
const CLICK_STEP = 5;

class TrainingFilm extends PaintedComponent {
  /** @type {ArrayBuffer | Uint8Array} the bytes of the message, still packed */
  bytes;
  /** @type {Film} the unpacked bytes; undefined until the first message arrives */
  film;
  /** @type {FilmView} */
  view;
  player = new Player({
    count: () => this.film.count, at: () => this.film.indexOf(this.view), pace: () => FRAME_DURATION,
    show: (index) => { this.view.moment = this.momentOf(index); this.draw(); },
    changed: () => { if (this.player.playing) this.draw(); else this.look({}); },
  });
  synced = new SyncedState(this, "view", () => ({ ...this.view }));
  /** @type {string} JSON of the data from which the lists of heads and events were filled */
  listed = "";
  /** @type {CurvesGeometry | undefined} geometry of the drawn curves */
  geometry;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("div", { class: "film" }));
    this.play = element("button", { type: "button", onclick: () => this.player.toggle() }, "▶ Play");
    this.slider = element("input", { type: "range", min: 0, step: 1, value: 0, "aria-label": "Training step",
      oninput: () => this.go(Number(this.slider.value)) });
    this.numbers = element("p", { class: "moment", "aria-live": "off" });
    this.score = select("Score of the heads", [["auto", "automatic"], ...Object.entries(SCORE_NAMES)],
      (score) => this.look({ score }));
    this.heads = Object.entries(KIND_LINES).map(([kind, { name }]) => ({ kind: /** @type {FilmKind} */ (kind),
      field: select(`${name[0].toUpperCase()}${name.slice(1)}: head`, null, (head) => this.look({ [kind]: Number(head) + 1 })) }));
    const bar = element("div", { class: "transport" }, this.play, this.slider, ...this.heads.map(({ field }) => field), this.score);
    this.place = element("div");
    this.maps = new SideBySide(this.place);
    this.canvas = element("canvas", { role: "img", onpointerdown: (/** @type {PointerEvent} */ event) => this.point(event),
      onpointermove: (/** @type {PointerEvent} */ event) => { if (event.buttons) this.point(event); } });
    this.curves = element("div", { class: "curves" }, this.canvas);
    this.bars = element("canvas", { role: "img" });
    this.events = element("ol", { class: "events", "aria-label": "What happened" });
    this.root.append(bar, this.numbers, this.place, this.curves, this.bars, this.events);
    saveable(this.root, (width, theme) => this.picture(width, theme));
    const endSteps = onStep((by) => { if (this.film) this.go(this.film.indexOf(this.view) + CLICK_STEP * by); });
    this.leaving.push(endSteps, () => this.player.close(), () => this.synced.leave(), () => this.maps.close());
  }

  /** @param {ArrayBuffer | Uint8Array} bytes */
  async show(bytes) {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      const film = new Film(await unpack(bytes));
      if (bytes !== this.bytes) return; // Newer data has arrived in the meantime.
      // A new request number means that the user opened a link. Only then does the link's view replace the user's.
      if (film.header.asked.number !== this.synced.number) {
        this.player.pause();
        this.synced.take(film.header.asked.number, film.header.asked.view);
      }
      this.film = film;
    }
    this.draw();
  }

  /**
   * Pauses the film, and shows a snapshot.
   * @param {number} index of a snapshot
   */
  go(index) {
    this.player.pause();
    this.look({ moment: this.momentOf(index) });
  }

  /**
   * Returns a snapshot's moment: its step, or -1 for the newest snapshot, so that the view follows new snapshots.
   * @param {number} index
   */
  momentOf(index) {
    const last = this.film.count - 1;
    return index >= last ? -1 : this.film.header.at[Math.max(0, index)];
  }

  /**
   * Changes the view of the training run.
   * @param {Partial<FilmView>} part
   */
  look(part) {
    Object.assign(this.view, part);
    this.draw();
    this.synced.send();
  }

  /**
   * Shows the snapshot at the pointer.
   * @param {PointerEvent} event on the curves
   */
  point(event) {
    if (!this.geometry) return;
    const step = stepAt(this.geometry, event.offsetX / this.zoom(), this.film.header.steps);
    this.go(this.film.indexOf({ ...this.view, moment: step }));
  }

  zoom() {
    return this.film.header.lecture ? lectureZoom() : 1;
  }

  paint() {
    if (!this.film) return;
    const { film, view } = this;
    const { lecture = false, running, id, at } = film.header;
    const index = film.indexOf(view);
    this.root.classList.toggle("lecture", lecture);
    this.list();
    this.reflect(index);
    const sides = film.sides(index, view);
    // A projector has room for one or two maps only, so cross-attention, the last kind, is shown first.
    this.maps.show({ sides: lecture ? sides.reverse() : sides, lecture });
    const zoom = this.zoom();
    const geometry = this.geometry = curvesGeometry(this.curves.clientWidth / zoom, lecture);
    drawCurves(zoomedSurface(this.canvas, geometry, zoom), geometry, { film, view, theme: themeOf(this.root) });
    this.canvas.setAttribute("aria-label", `The losses and the ${SCORE_NAMES[film.scoreOf(view)]} of every head over the steps. `
      + film.described(index));
    this.drawBars(index);
    this.root.dataset.drawn = `${id} ${at[index]}${running ? " running" : ""}`;
  }

  /**
   * Draws the spectrum below the curves, if the task has one and lecture mode is off.
   * @param {number} index of the snapshot
   */
  drawBars(index) {
    const { spectra, lecture = false } = this.film.header;
    this.bars.hidden = !spectra || lecture;
    if (!spectra || lecture) return;
    const geometry = spectrumGeometry(this.curves.clientWidth);
    drawSpectrum(zoomedSurface(this.bars, geometry, 1), geometry, { spectra, index, theme: themeOf(this.root) });
    const strongest = largestFrequencies(spectra[index]);
    this.bars.setAttribute("aria-label", `${SPECTRUM_TITLE}. The strongest frequencies are ${strongest}.`);
  }

  /**
   * Sets the controls to the displayed snapshot.
   * @param {number} index of the snapshot
   */
  reflect(index) {
    const { film, view, player: { playing } } = this;
    this.slider.max = String(film.count - 1);
    this.slider.value = String(index);
    this.slider.setAttribute("aria-valuetext", `step ${film.header.at[index]}`);
    this.play.textContent = playing ? "❚❚ Pause" : "▶ Play";
    this.play.title = playing ? "Pause the film" : "Play the film from the beginning";
    this.play.disabled = film.count < 2;
    this.numbers.textContent = film.described(index);
    this.score.box.value = view.score;
    for (const { kind, field } of this.heads) field.box.value = String(film.headOf(kind, view));
  }

  // Fills the lists of heads and events. Each event is a button that moves to its step and shows its head.
  list() {
    const { film } = this;
    const { layers, heads, events } = film.header;
    const listed = JSON.stringify([layers, heads, events]);
    if (listed === this.listed) return;
    this.listed = listed;
    const choices = Array.from({ length: film.headCount }, (_, head) => [String(head), film.headName(head).replace("head ", "")]);
    for (const { field } of this.heads) {
      field.hidden = film.headCount < 2;
      field.fill(choices, "0");
    }
    keepingFocus(this.events, "button", () => this.events.replaceChildren(...events.map(({ step, text, score, kind, head }) => (
      element("li", {}, element("button", { type: "button", onclick: () => {
        this.player.pause();
        this.look({ moment: step, ...(kind ? { [kind]: head + 1, score } : {}) });
      } }, text))))));
  }

  /**
   * Returns a picture of the displayed snapshot: the maps, the curves below them, and the spectrum at the bottom.
   * @param {number} width
   * @param {Theme} theme
   * @returns {Picture}
   */
  picture(width, theme) {
    const { film, view } = this;
    const maps = this.maps.picture(width, theme);
    const geometry = curvesGeometry(maps.geometry.width, false);
    const top = maps.end + 2 * SIDE_GAP;
    const { spectra } = film.header;
    const bars = spectrumGeometry(maps.geometry.width);
    return {
      geometry: maps.geometry, theme: maps.theme, end: top + geometry.height + (spectra ? bars.height : 0),
      draw: (surface) => {
        maps.draw(surface);
        surface.text(0, maps.end + SIDE_GAP, film.described(film.indexOf(view)), { size: LABEL_SIZE, fill: maps.theme.text });
        surface.moved(0, top, () => drawCurves(surface, geometry, { film, view, theme: maps.theme }));
        if (spectra) {
          surface.moved(0, top + geometry.height, () => (
            drawSpectrum(surface, bars, { spectra, index: film.indexOf(view), theme: maps.theme })));
        }
      },
    };
  }
}

export default mount(TrainingFilm);
