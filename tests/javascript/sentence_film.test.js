// Tests of the sentence film's keys and pace, and of the player that all stepwise figures share.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import "./page.js";
import { frameAfter, paceOf } from "../../assets/sentence_film/sentence_film.js";
import { Player } from "../../assets/shared/player.js";

test("presenter and arrow keys move between frames and stop at both ends", () => {
  const keys = ["PageDown", "ArrowRight", "PageUp", "ArrowLeft", "Home", "End", "x"];
  assert.deepEqual(keys.map((key) => frameAfter(key, 4, 11)), [5, 5, 3, 3, 0, 10, undefined]);
  assert.deepEqual([frameAfter("PageUp", 0, 11), frameAfter("PageDown", 10, 11)], [0, 10]);
});

test("the film takes a minute, and a frame with a longer text takes longer", () => {
  const frames = ["One word.", "A text of five words.", "A"].map((says) => ({ says }));
  const paces = frames.map((_, at) => paceOf(frames, at));
  assert.equal(Math.round(paces.reduce((sum, pace) => sum + pace)), 60_000);
  assert.ok(paces[1] > paces[0] && paces[0] > paces[2]);
});

test("a player pauses on request, stops at the last step, and then restarts from the first", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const seen = [];
  let at = 0;
  const player = new Player({ count: () => 3, at: () => at, pace: () => 10, show: (to) => seen.push(at = to), changed() {} });
  player.toggle();
  mock.timers.tick(10);
  player.toggle();
  mock.timers.tick(100);
  assert.deepEqual([seen, player.playing], [[1], false]);
  player.play();
  mock.timers.tick(100);
  assert.deepEqual([seen, player.playing], [[1, 2], false], "it ends at the last step");
  player.play();
  assert.deepEqual([at, player.playing], [0, true]);
  player.close();
  mock.timers.tick(100);
  assert.equal(at, 0);
  mock.timers.reset();
});
