import assert from "node:assert/strict";
import test from "node:test";
import { find, named, shares, stops } from "./deck.mjs";

test("cells are read as they were packed", () => {
  // TestPackShares has the same: 12.5 % is printed as 12, and 37.5 % as 38.
  assert.deepEqual(shares("D5 Lu__fQ"), [[{ percent: "12.5", whole: 12, step: 2 }], [{ percent: "37.5", whole: 38, step: 8 }, null, { percent: "100.0", whole: 100, step: 20 }]]);
  assert.deepEqual(shares("AA"), [[{ percent: "0.0", whole: 0, step: 0 }]]);
});

test("a slider goes through rows and their runs, and the address keeps where it is", () => {
  const maps = [{ Name: "ER", Runs: [{ Seed: 1 }, { Seed: 7 }] }, { Name: "MIR" }];
  assert.deepEqual(stops(maps), [
    { map: 0, run: -1 },
    { map: 0, run: 0 },
    { map: 0, run: 1 },
    { map: 1, run: -1 },
  ]);
  stops(maps).forEach((_, number) => {
    const { row, seed } = named(maps, number);
    assert.equal(find(maps, { row: row || undefined, seed: seed || undefined }), number);
  });
  assert.deepEqual(named(maps, 2), { row: "ER", seed: "7" });
  assert.equal(find(maps, { row: "gone" }), 0);
});
