import assert from "node:assert/strict";
import test from "node:test";
import { keyOf, Latest, moves } from "./live.mjs";

test("parts are named by their id, or by their place", () => {
  assert.equal(keyOf("results", "SECTION", 3), "#results");
  assert.equal(keyOf("", "P", 3), "P 3");
});

// done makes the steps on a list as the page makes them on its children.
const done = (now, { gone, puts }) => {
  const list = [...now];
  for (const [part, before] of puts) {
    if (list.includes(part)) {
      list.splice(list.indexOf(part), 1);
    }
    list.splice(before === null ? list.length : list.indexOf(before), 0, part);
  }
  return list.filter((part) => !gone.includes(part));
};

test("children become others, and those that stay are not touched", () => {
  for (const [now, wanted, touched] of [
    ["abc", "abc", ""],
    ["abc", "aBc", "B"],
    ["abc", "xabcy", "xy"],
    ["abc", "", ""],
    ["", "ab", "ab"],
    ["abc", "bc", ""],
    ["abc", "cab", "c"],
  ]) {
    const steps = moves([...now], [...wanted]);
    assert.equal(done([...now], steps).join(""), wanted, now + " to " + wanted);
    assert.equal(steps.puts.map(([part]) => part).join(""), touched, now + " to " + wanted);
  }
});

test("the newest of what came meanwhile is taken, one after the other", async () => {
  const seen = [];
  let go = () => {};
  const latest = new Latest((value) => {
    seen.push(value);
    return new Promise((then) => (go = then));
  });
  const first = latest.give(1);
  latest.give(2);
  latest.give(3);
  go();
  await Promise.resolve();
  go();
  await first;
  assert.deepEqual(seen, [1, 3]);
});
