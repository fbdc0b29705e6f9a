import assert from "node:assert/strict";
import test from "node:test";
import { step, words } from "./triangle.mjs";

test("a cell is said in words", () => {
  assert.equal(words("ER 200", "ER 1k", "▼3.1", "± 0.4 points, p = 0.001, 10 seeds"), "ER 200 against ER 1k: −3.1 ± 0.4 points, p = 0.001, 10 seeds: worse.");
  assert.equal(words("A", "B", "▲3.1", "± 0.4 points, p = 0.001, 3 seeds"), "A against B: +3.1 ± 0.4 points, p = 0.001, 3 seeds: better.");
  assert.equal(words("A", "B", "−0.2", "points, fewer than three seeds in common, 2 seeds"), "A against B: −0.2 points, fewer than three seeds in common, 2 seeds: not decided.");
  assert.equal(words("A", "B", "·", "no two seeds in common"), "A against B: no two seeds in common.");
});

test("keys lead to cells of the triangle alone", () => {
  assert.deepEqual(step("ArrowDown", 1, 0, 3), [2, 0]);
  assert.equal(step("ArrowDown", 2, 0, 3), undefined);
  assert.equal(step("ArrowUp", 1, 0, 3), undefined);
  assert.equal(step("ArrowUp", 2, 1, 3), undefined); // the diagonal
  assert.deepEqual(step("ArrowRight", 2, 0, 3), [2, 1]);
  assert.equal(step("ArrowRight", 2, 1, 3), undefined);
  assert.deepEqual(step("Home", 2, 1, 3), [2, 0]);
  assert.deepEqual(step("End", 2, 0, 3), [2, 1]);
  assert.equal(step("a", 2, 0, 3), undefined);
});
