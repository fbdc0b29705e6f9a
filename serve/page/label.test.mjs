import assert from "node:assert/strict";
import { test } from "node:test";
import { back, between, described, guessOf, nextAt, things } from "./label.mjs";
import { changes, compared, points, told } from "./rest.mjs";
import { ask, each } from "./words.mjs";

test("a range goes both ways, and without a beginning it is its end alone", () => {
  const list = ["a", "b", "c", "d"];
  assert.deepEqual(between(list, "b", "d"), ["b", "c", "d"]);
  assert.deepEqual(between(list, "d", "b"), ["b", "c", "d"]);
  assert.deepEqual(between(list, "c", "c"), ["c"]);
  assert.deepEqual(between(list, "gone", "c"), ["c"]);
});

test("guesses are said with what they are worth", () => {
  assert.equal(guessOf({}), "");
  assert.equal(guessOf({ guesses: [{ class: "cat", probability: 0.931 }, { class: "dog" }] }), "cat 93.1\u00a0%");
  assert.equal(
    guessOf(
      {
        guesses: [
          { class: "cat", distance: 1.234 },
          { class: "dog", distance: 2 },
        ],
      },
      2,
    ),
    "cat, 1.23 away · dog, 2.00 away",
  );
  assert.equal(described({ id: "x", label: "cat", mark: "skipped" }), "picture x, labelled cat, skipped, no guess yet");
});

test("what undoes a deed brings back what was there", () => {
  assert.deepEqual(back("label", "a/b", ""), ["v1/samples/a%2Fb/label", "DELETE"]);
  assert.deepEqual(back("label", "a", "cat"), ["v1/samples/a/label", "PUT", { label: "cat" }]);
  assert.deepEqual(back("unlabel", "a", "cat"), ["v1/samples/a/label", "PUT", { label: "cat" }]);
  assert.deepEqual(back("mark", "a", undefined), ["v1/samples/a/mark", "PUT", { mark: "" }]);
  assert.deepEqual(back("mark", "a", "skipped"), ["v1/samples/a/mark", "PUT", { mark: "skipped" }]);
});

test("keys move the cursor by rows and columns, and not out of the list", () => {
  assert.equal(nextAt("ArrowRight", 4, 10, 3), 5);
  assert.equal(nextAt("ArrowDown", 4, 10, 3), 7);
  assert.equal(nextAt("ArrowDown", 8, 10, 3), 9);
  assert.equal(nextAt("ArrowUp", 1, 10, 3), 0);
  assert.equal(nextAt("Home", 4, 10, 3), 0);
  assert.equal(nextAt("End", 4, 10, 3), 9);
  assert.equal(nextAt("x", 4, 10, 3), undefined);
  assert.equal(nextAt("ArrowRight", 0, 0, 1), undefined);
});

test("deeds are told in words", () => {
  assert.equal(told({ kind: "label", who: "anna", label: "cat", was: "dog" }), "anna labelled a picture cat, which was dog.");
  assert.equal(told({ kind: "mark", who: "anna", label: "skipped" }), "anna skipped a picture.");
  assert.equal(told({ kind: "mark", label: "", was: "deleted" }), "somebody brought a deleted picture back.");
  assert.equal(told({ kind: "rollback", who: "anna", version: 1234 }), "anna went back to version 1,234.");
  assert.equal(told({ kind: "split", who: "anna", label: "lynx", was: "cat" }), "anna split the class lynx off cat.");
  assert.equal(told({ kind: "merge", label: "pet", was: "cat" }), "somebody made the class cat a part of pet.");
  assert.equal(things(1), "1 picture");
  assert.equal(things(1200), "1,200 pictures");
});

test("a change of a class says before what it does", () => {
  const it = { of: "cat", to: "lynx", labelled: 12, ids: ["a"], path: "v1/classes/cat" };
  assert.equal(changes.split.question(it), "Make a new class lynx of cat? It changes the labels of 1 picture of 12.");
  assert.deepEqual(changes.split.request(it), ["v1/classes/cat/split", "POST", { name: "lynx", ids: ["a"] }]);
  assert.match(changes.merge.question(it), /^Make cat a part of lynx\? It changes the labels of 12 pictures\. All versions that are kept go, /);
  assert.match(changes.remove.question(it), /^Remove cat\? It erases 12 pictures everywhere\. All versions that are kept go, /);
  assert.deepEqual(changes.remove.request(it), ["v1/classes/cat", "DELETE"]);
});

test("versions are compared class by class", () => {
  const one = {
    classes: [
      { name: "cat", samples: 20, accuracy: 0.5 },
      { name: "dog", samples: 3, accuracy: 1 },
    ],
  };
  const now = {
    classes: [
      { name: "cat", samples: 20, accuracy: 0.75 },
      { name: "dog", samples: 3, accuracy: 0.5 },
    ],
  };
  assert.deepEqual(compared(one, now), [
    ["cat", "20", "50.0\u00a0%", "75.0\u00a0%", "+25.0"],
    ["dog", "3", "100.0\u00a0%", "50.0\u00a0%", "−50.0"],
  ]);
  assert.equal(points(0.5, 0.5), "0.0");
});

test("what fails of many is told, and the others are done", async () => {
  const done = [];
  const failed = await each([...Array(20).keys()], async (n) => {
    if (n % 7 === 3) {
      throw new Error(`no ${n}`);
    }
    done.push(n);
  });
  assert.equal(done.length, 17);
  assert.deepEqual(
    failed.map(({ one, error }) => [one, error.message]),
    [
      [3, "no 3"],
      [10, "no 10"],
      [17, "no 17"],
    ],
  );
});

test("a request is sent again where there is no room yet, and a refusal says what the daemon says", async () => {
  const answers = [
    new Response("", { status: 429, headers: { "Retry-After": "0" } }),
    new Response('{"label":"cat"}', { status: 202 }),
    new Response('{"detail":"There is no class dgo.","nearest":"dog"}', { status: 422 }),
    new Response("no JSON", { status: 500, statusText: "Broken" }),
    new Response(null, { status: 204 }),
  ];
  globalThis.fetch = async () => answers.shift();
  assert.deepEqual(await ask("x", "PUT", {}), { label: "cat" });
  await assert.rejects(ask("x"), { message: "There is no class dgo.", status: 422, nearest: "dog" });
  await assert.rejects(ask("x"), { message: "Broken", status: 500 });
  assert.equal(await ask("x"), undefined);
});
