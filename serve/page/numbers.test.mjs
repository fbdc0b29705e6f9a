import assert from "node:assert/strict";
import { test } from "node:test";
import { courses, ordered, path, shares, tiles } from "./numbers.mjs";
import { bytes, percent } from "./words.mjs";

const status = {
  samples: { learned: 1200, waiting: 5, queue: 1000, held_out: 0 },
  rates: { predictions: 98.2, learned: 150.1 },
  latency_ms: null,
  accuracy: null,
  held_out: null,
  drift: { found: 0, last: null },
  memory: { stored: 500, capacity: 500, bytes: 123456 },
  disk: { journal: 1500, snapshots: 500 },
};

test("what was not measured is said", () => {
  const [answers, held] = tiles(status);
  assert.deepEqual(answers, ["accuracy of the answers", "not measured", "no answer had its label yet"]);
  assert.equal(held[1], "not measured");
  assert.equal(percent(0), "0.0\u00a0%");
});

test("an accuracy of fewer than twenty pictures is not shown", () => {
  const few = { ...status, accuracy: { recent: 0.5, samples: 19 }, held_out: { accuracy: 1, forgetting: 0, samples: 2 } };
  assert.deepEqual(
    tiles(few)
      .slice(0, 2)
      .map((tile) => tile.slice(1)),
    [
      ["after 20 pictures", "over the last 19 labelled"],
      ["after 20 pictures", "2 pictures, forgotten: after 20 pictures"],
    ],
  );
  const many = { ...status, accuracy: { recent: 0.5, samples: 20 }, held_out: { accuracy: 1, forgetting: 0, samples: 20 } };
  assert.equal(tiles(many)[0][1], "50.0\u00a0%");
  assert.equal(tiles(many)[1][1], "100.0\u00a0%");
  assert.deepEqual(shares({ accuracy: 1, best: 1, forgetting: 0, held_out: 3 }), ["after 20", "–", "–"]);
  assert.deepEqual(shares({ accuracy: 1, best: 1, forgetting: 0, held_out: 20 }), ["100.0\u00a0%", "100.0\u00a0%", "0.0\u00a0%"]);
  assert.deepEqual(shares({ accuracy: null, best: null, forgetting: null, held_out: 3 }), ["–", "–", "–"]);
  const points = (p) => courses([{ learned: 30, accuracy: 0.5, held_out: 0.5, forgetting: 0.5, ...p }]).map((line) => line.look);
  assert.deepEqual(points({ answers: 19, tested: 20 }), ["heldout", "forgotten"]);
  assert.deepEqual(points({ answers: 20, tested: 19 }), ["recent"]);
});

test("sizes have units", () => {
  assert.equal(bytes(999), "999\u00a0bytes");
  assert.equal(bytes(2000), "2.0\u00a0kB");
  assert.equal(bytes(5e12), "5000.0\u00a0GB");
});

test("a line leaves out what was not measured, and a course without points is none", () => {
  const lines = courses([
    { learned: 10, accuracy: null, held_out: 0.5, forgetting: null },
    { learned: 20, accuracy: 0.25, held_out: 0.75, forgetting: null },
  ]);
  assert.deepEqual(
    lines.map((line) => [line.look, line.points]),
    [
      ["recent", [[20, 0.25]]],
      [
        "heldout",
        [
          [10, 0.5],
          [20, 0.75],
        ],
      ],
    ],
  );
});

test("a path goes from the left axis to the right edge, and stays in the picture", () => {
  assert.equal(
    path(
      [
        [10, 0],
        [20, 2],
      ],
      10,
      20,
      640,
    ),
    "M44.0 200.0L640.0 0.0",
  );
  assert.equal(path([[10, 0.5]], 10, 10, 640), "M44.0 100.0");
});

test("the most forgotten classes come first, and those without a measurement keep their order behind them", () => {
  const of = (name, forgetting) => ({ name, forgetting });
  const list = [of("new", null), of("kept", 0), of("also new", undefined), of("lost", 0.5), { name: "few", forgetting: 1, held_out: 1 }];
  assert.deepEqual(
    ordered(list).map((c) => c.name),
    ["lost", "kept", "new", "also new", "few"],
  );
  assert.equal(list[0].name, "new");
});
