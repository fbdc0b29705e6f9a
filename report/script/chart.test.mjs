import assert from "node:assert/strict";
import test from "node:test";
import { listed, off } from "./chart.mjs";

test("the address says which lines are off", () => {
  const names = ["ER", "ER + RV", "MIR"];
  assert.deepEqual([...off(names, "MIR|ER + RV|a line that is gone")], ["MIR", "ER + RV"]);
  assert.deepEqual([...off(names, undefined)], []);
  assert.equal(listed(names, off(names, "MIR|ER")), "ER|MIR");
  assert.equal(listed(names, new Set()), "");
});
