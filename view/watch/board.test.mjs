import assert from "node:assert/strict";
import test from "node:test";
import { renew } from "./board.mjs";

// part is as much of an element as renew uses: boxes that can be scrolled, and what it holds.
const part = (html, ...tops) => {
  const boxes = tops.map((top) => ({ scrollLeft: 0, scrollTop: top, scrollTo: ({ top }) => (boxes.moved = [...(boxes.moved ?? []), top]) }));
  return {
    innerHTML: html,
    childNodes: [html],
    boxes,
    querySelectorAll: () => boxes,
    replaceChildren(...nodes) {
      this.innerHTML = nodes.join("");
    },
  };
};

test("a page that says the same is left alone", () => {
  const now = part("a", 7);
  assert.equal(renew(now, part("a")), false);
  assert.equal(now.boxes.moved, undefined);
});

test("a page that says more is shown, scrolled as it was", () => {
  const now = part("a", 7, 9);
  assert.equal(renew(now, part("b")), true);
  assert.equal(now.innerHTML, "b");
  assert.deepEqual(now.boxes.moved, [7, 9]);
});
