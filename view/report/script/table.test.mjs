import assert from "node:assert/strict";
import test from "node:test";
import { compare, csv, latex, markdown, matches, read, write } from "./table.mjs";

test("values are ordered as numbers or words, and missing ones come last", () => {
  const sorted = (values, down) => values.toSorted((a, b) => compare(a, b, down));
  assert.deepEqual(sorted(["10", "9", "", "-1"], false), ["-1", "9", "10", ""]);
  assert.deepEqual(sorted(["10", "9", "", "-1"], true), ["10", "9", "-1", ""]);
  assert.deepEqual(sorted(["MIR", "", "A-GEM", "er"], false), ["A-GEM", "er", "MIR", ""]);
});

test("rows are filtered by facets and by words", () => {
  const facets = { method: "ER", trick: "RV" };
  assert.ok(matches(facets, "ER + RV 200", { method: "ER", trick: "", text: "200 rv" }));
  assert.ok(!matches(facets, "ER + RV 200", { method: "MIR" }));
  assert.ok(!matches(facets, "ER + RV 200", { text: "rv 300" }));
  assert.ok(!matches({}, "", { method: "ER" }));
});

test("copies are well formed", () => {
  const lines = [
    ["method", "accuracy, %"],
    ["A|B\\", "1.5 ± 0.2"],
    ['say "x"', ""],
  ];
  assert.equal(markdown(lines), '| method | accuracy, % |\n| --- | --- |\n| A\\|B\\\\ | 1.5 ± 0.2 |\n| say "x" |  |\n');
  assert.equal(csv(lines), 'method,"accuracy, %"\r\nA|B\\,1.5 ± 0.2\r\n"say ""x""",\r\n');
  assert.equal(
    latex(lines, [false, true]),
    '\\begin{tabular}{lr}\n\\toprule\nmethod & accuracy, \\% \\\\\n\\midrule\nA|B\\textbackslash{} & 1.5 $\\pm$ 0.2 \\\\\nsay "x" &  \\\\\n\\bottomrule\n\\end{tabular}\n',
  );
});

test("the address keeps the state of each part", () => {
  let search = write("", "results", { sort: "-runs", method: "ER + RV", text: "" });
  assert.deepEqual(read(search, "results"), { sort: "-runs", method: "ER + RV" });
  search = write(search, "runs", { hide: "seed,outcome" });
  assert.deepEqual(read(search, "results"), { sort: "-runs", method: "ER + RV" });
  assert.deepEqual(read(search, "runs"), { hide: "seed,outcome" });
  assert.equal(write(write(search, "runs", {}), "results", {}), "");
});
