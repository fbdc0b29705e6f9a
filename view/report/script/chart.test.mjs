import assert from "node:assert/strict";
import test from "node:test";
import { listed, move, nearest, off, points, seedLine, unpack } from "./chart.mjs";

test("the address says which lines are off", () => {
  const names = ["ER", "ER + RV", "MIR"];
  assert.deepEqual([...off(names, "MIR|ER + RV|a line that is gone")], ["MIR", "ER + RV"]);
  assert.deepEqual([...off(names, undefined)], []);
  assert.equal(listed(names, off(names, "MIR|ER")), "ER|MIR");
  assert.equal(listed(names, new Set()), "");
});

// told is a chart of two lines over three tasks; the second begins later and has no interval.
const told = {
  x: [1, 3],
  y: [0, 100],
  xl: "tasks learned",
  yl: "accuracy, %",
  s: [
    { n: "ER", y: "80.0 60.0 50.0", h: "1.0 - 2.5", i: "1 2", v: ["79.0 59.0 49.0", "81.0 - 51.0"] },
    { n: "MIR, memory 200", g: "MIR", x: "2 3", y: "- 75.0", i: "4" },
  ],
};

test("the points of lines are where they are drawn, and say their row, place, value, interval and seeds", () => {
  const [er, mir] = points(told, [10, 110, 0, 200]);
  assert.deepEqual(
    er.points.map((p) => [p.x, p.y]),
    [
      [10, 40],
      [60, 80],
      [110, 100],
    ],
  );
  assert.equal(er.points[0].text, "ER\ntasks learned: 1\naccuracy, %: 80.0 ± 1.0\nseeds 1, 2: 79.0, 81.0");
  assert.equal(er.points[1].text, "ER\ntasks learned: 2\naccuracy, %: 60.0\n1 run, seed 1");
  assert.equal(mir.group, "MIR");
  assert.deepEqual(mir.points, [{ x: 110, y: 50, text: "MIR, memory 200\ntasks learned: 3\naccuracy, %: 75.0\n1 run, seed 4" }]);
  assert.equal(seedLine(["1", "2"], []), "2 runs");
  assert.equal(seedLine(["3", "4", "5", "6"], ["1", "2", "3", "4"]), "seeds 3 to 6: 1, 2, 3, 4");
  assert.equal(seedLine(["3", "4", "6", "7"], ["1", "2", "3", "4"]), "seeds 3, 4, 6, 7: 1, 2, 3, 4");
  assert.equal(seedLine([], []), "");
});

test("packed values are those that were packed", () => {
  assert.deepEqual(unpack("QA__XEPi"), ["0.0", "-", "45.2", "-3.0"]); // TestPack has the same
  const packed = { ...told, p: true, s: [{ n: "ER", y: "XE__QA", i: "1 2", v: ["QA__QA", "XE__QA"] }] };
  assert.deepEqual(
    points(packed, [10, 110, 0, 200])[0].points.map((p) => p.text),
    ["ER\ntasks learned: 1\naccuracy, %: 45.2\nseeds 1, 2: 0.0, 45.2", "ER\ntasks learned: 3\naccuracy, %: 0.0\nseeds 1, 2: 0.0, 0.0"],
  );
});

test("keys move along a line and from line to line", () => {
  const lines = points(told, [10, 110, 0, 200]);
  assert.deepEqual(move(lines, null, "ArrowLeft"), [0, 0]);
  assert.deepEqual(move(lines, [0, 0], "ArrowRight"), [0, 1]);
  assert.deepEqual(move(lines, [0, 2], "ArrowRight"), [0, 2]);
  assert.deepEqual(move(lines, [0, 2], "Home"), [0, 0]);
  assert.deepEqual(move(lines, [0, 0], "End"), [0, 2]);
  assert.deepEqual(move(lines, [0, 2], "ArrowUp"), [1, 0]); // 75 is above 50
  assert.deepEqual(move(lines, [1, 0], "ArrowDown"), [0, 2]);
  assert.deepEqual(move([{ points: [] }, lines[1]], null, "ArrowUp"), [1, 0]); // the first line is hidden
  assert.equal(move([{ points: [] }], null, "ArrowUp"), null);
});

test("every point of a scatter can be reached, also points at one place", () => {
  const at = (x, y) => ({ points: [{ x, y }] });
  const lines = [at(5, 5), at(5, 5), at(1, 9)];
  const reached = [move(lines, null, "ArrowRight")];
  for (const key of ["ArrowLeft", "ArrowRight", "ArrowRight"]) {
    reached.push(move(lines, reached.at(-1), key));
  }
  assert.deepEqual(reached, [
    [0, 0],
    [2, 0],
    [0, 0],
    [1, 0],
  ]);
  const one = [
    {
      points: [
        { x: 1, y: 2 },
        { x: 2, y: 1 },
      ],
    },
  ];
  assert.deepEqual(move(one, [0, 0], "ArrowUp"), [0, 1]);
});

test("the mouse finds the nearest point that is near enough", () => {
  const lines = points(told, [10, 110, 0, 200]);
  assert.deepEqual(nearest(lines, 108, 53, 40), [1, 0]);
  assert.equal(nearest(lines, 108, 200, 40), null);
});
