// Plays a sequence of steps once, from the current step to the last.

/**
 * The steps to play. `count` returns their number, `at` the index of the current step, and `pace` the milliseconds
 * until the next step. `show` displays a step. `changed` is called when playing begins or ends, and after each step.
 * @typedef {{ count: () => number, at: () => number, show: (at: number) => void, pace: () => number, changed: () => void }} Played
 */

export class Player {
  playing = false;
  /** @type {number | undefined} */
  timer;

  /** @param {Played} played */
  constructor(played) {
    this.played = played;
  }

  // Starts from the first step if the last one is shown. If the player is already playing, the wait for the next
  // step begins again, at the current pace.
  play() {
    const { count, at, show, pace, changed } = this.played;
    clearTimeout(this.timer);
    if (!this.playing && at() >= count() - 1) show(0);
    this.playing = true;
    this.timer = setTimeout(() => {
      show(at() + 1);
      if (at() >= count() - 1) this.pause();
      else this.play();
    }, pace());
    changed();
  }

  pause() {
    if (!this.playing) return;
    this.close();
    this.played.changed();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  close() {
    clearTimeout(this.timer);
    this.playing = false;
  }
}
