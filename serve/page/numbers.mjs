// The numbers of the page of `ocl serve`, its chart and its table of classes.
import { byId, bytes, clock, count, element, enough, percent, percentOf } from "./words.mjs";

// tiles are the numbers on top: what they are, the number, and what belongs to it.
export function tiles(s) {
  const latency = s.latency_ms;
  return [
    [
      "accuracy of the answers",
      percentOf(s.accuracy?.recent, s.accuracy?.samples),
      s.accuracy ? `over the last ${count(s.accuracy.samples)} labelled` : "no answer had its label yet",
    ],
    [
      "accuracy on held-out pictures",
      percentOf(s.held_out?.accuracy, s.held_out?.samples),
      s.held_out ? `${count(s.held_out.samples)} pictures, forgotten: ${percentOf(s.held_out.forgetting, s.held_out.samples)}` : "",
    ],
    ...(typeof s.held_out?.ece === "number" && s.held_out.samples >= enough
      ? [["error of the probabilities", (100 * s.held_out.ece).toFixed(1), `points, on ${count(s.held_out.samples)} held-out pictures`]]
      : []),
    ["learned", count(s.samples.learned), s.samples.answering < s.samples.learned ? `${count(s.samples.answering)} of them in what answers` : `${count(s.rates.learned)} a second`],
    ["waiting to be learned", count(s.samples.waiting), `${count(s.samples.queue)} at most`],
    ["predictions a second", count(s.rates.predictions), latency ? `${latency.p50.toFixed(1)} ms, one of a hundred above ${latency.p99.toFixed(1)} ms` : ""],
    ["drift", count(s.drift.found), s.drift.last ? `last at ${clock(s.drift.last)}` : "none was found"],
    ["memory of the learner", count(s.memory.stored), `of ${count(s.memory.capacity)} pictures; the process has ${bytes(s.memory.bytes)}`],
    ["on the disk", bytes(s.disk.journal + s.disk.snapshots), `journal ${bytes(s.disk.journal)}, snapshots ${bytes(s.disk.snapshots)}`],
  ];
}

// ordered are classes with the most forgotten first; those of which nothing was measured, or on few pictures, come last, in the order in which they were added.
export function ordered(classes) {
  const lost = (c) => (c.held_out < enough ? -1 : (c.forgetting ?? -1));
  return classes.toSorted((a, b) => lost(b) - lost(a));
}

// shares are the cells of a class: its accuracy, the best one, and what was forgotten.
export const shares = (c) =>
  [c.accuracy, c.best, c.forgetting].map((v, i) => (typeof v !== "number" || (i > 0 && c.held_out < enough) ? "–" : c.held_out < enough ? `after ${enough}` : percent(v)));

// courses are the lines of the chart: each a list of [images learned, share]. A share of few pictures is no point.
export function courses(history) {
  const of = (key, pictures) => history.filter((p) => typeof p[key] === "number" && !(p[pictures] < enough)).map((p) => [p.learned, p[key]]);
  return [
    { name: "accuracy of the answers", look: "recent", points: of("accuracy", "answers") },
    { name: "accuracy on held-out pictures", look: "heldout", points: of("held_out", "tested") },
    { name: "forgotten", look: "forgotten", points: of("forgetting", "tested") },
  ].filter((line) => line.points.length > 0);
}

const height = 200;
const left = 44;

// path is a line of a chart of a width, from first to last images learned.
export function path(points, first, last, width) {
  const x = (v) => left + ((width - left) * (v - first)) / Math.max(1, last - first);
  const y = (v) => height - height * Math.min(1, Math.max(0, v));
  return points.map(([px, py], i) => `${i === 0 ? "M" : "L"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join("");
}

const drawn = "http://www.w3.org/2000/svg";

function svg(name, attributes, text) {
  const e = document.createElementNS(drawn, name);
  for (const [key, value] of Object.entries(attributes)) {
    e.setAttribute(key, value);
  }
  if (text !== undefined) {
    e.textContent = text;
  }
  return e;
}

function chart(history) {
  const lines = courses(history);
  const width = Math.min(640, byId("chart").clientWidth || 640); // so that its words stay as large on a phone
  const first = history.length > 0 ? history[0].learned : 0;
  const last = history.length > 0 ? history[history.length - 1].learned : 1;
  const picture = svg("svg", { viewBox: `0 -10 ${width} ${height + 40}`, role: "img" });
  const said = lines.map((line) => `${line.name}: ${percent(line.points[line.points.length - 1][1])} now`);
  picture.append(svg("title", {}, said.length > 0 ? said.join("; ") : "Nothing was measured yet"));
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const y = height - height * share;
    picture.append(svg("path", { class: "grid-line", d: `M${left} ${y}H${width}` }), svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, 100 * share + " %"));
  }
  picture.append(svg("text", { x: left, y: height + 20 }, count(first)), svg("text", { x: width, y: height + 20, "text-anchor": "end" }, count(last) + " pictures learned"));
  for (const line of lines) {
    picture.append(svg("path", { class: "course " + line.look, d: path(line.points, first, last, width) }));
  }
  byId("chart").replaceChildren(picture);
  byId("legend").replaceChildren(
    ...lines.map((line) => {
      const swatch = svg("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" });
      swatch.append(svg("path", { class: "course " + line.look, d: "M0 6H34" }));
      const item = document.createElement("li");
      item.append(swatch, `${line.name}: ${percent(line.points[line.points.length - 1][1])}`);
      return item;
    }),
  );
}

// trusted is a picture of how often answers of a probability are right: on the straight line the probabilities are right.
function trusted(held) {
  const bins = held && held.samples >= enough ? (held.reliability ?? []) : [];
  byId("reliability").hidden = bins.length === 0;
  if (bins.length === 0) {
    return;
  }
  const side = 160;
  const at = (b) => `${side * b.probability} ${side - side * b.accuracy}`;
  const picture = svg("svg", { viewBox: `-40 -10 ${side + 80} ${side + 45}`, role: "img" });
  picture.append(
    svg("title", {}, `Of held-out pictures: ${bins.map((b) => `with about ${percent(b.probability)}, ${percent(b.accuracy)} of ${count(b.samples)} right`).join("; ")}`),
  );
  for (const share of [0, 0.5, 1]) {
    const y = side - side * share;
    picture.append(svg("path", { class: "grid-line", d: `M0 ${y}H${side}` }), svg("text", { x: -6, y: y + 4, "text-anchor": "end" }, 100 * share + " %"));
  }
  picture.append(
    svg("path", { class: "grid-line", d: `M0 ${side}L${side} 0` }),
    svg("path", { class: "course heldout", d: `M${bins.map(at).join("L")}` }),
    svg("text", { x: side, y: side + 18, "text-anchor": "end" }, "probability, to 100 %"),
  );
  byId("reliability").querySelector("div").replaceChildren(picture);
}

// showNumbers shows a status.
export function showNumbers(s) {
  const states = { learning: "learning", idle: "waiting for samples", stopped: "not learning", recovering: "recovering", draining: "ending" };
  byId("line").textContent = `${s.method}, ${states[s.state] ?? s.state}. The answers are those of version ${count(s.version)}.`;
  document.title = s.accuracy?.samples >= enough ? `${percent(s.accuracy.recent)} ocl serve` : "ocl serve";
  byId("problem").hidden = s.problem === "";
  byId("problem").textContent = s.problem;
  byId("tiles").replaceChildren(
    ...tiles(s).map(([what, number, more]) => {
      const tile = element("div");
      const value = element("dd");
      value.append(element("b", number), " ", element("span", more));
      tile.append(element("dt", what), value);
      return tile;
    }),
  );
  chart(s.history);
  trusted(s.held_out);
  byId("class-rows").replaceChildren(
    ...ordered(s.classes).map((c) => {
      const row = element("tr");
      row.append(element("td", c.name), element("td", count(c.learned), "n"));
      row.append(...shares(c).map((text) => element("td", text, "n")));
      return row;
    }),
  );
  byId("held").textContent =
    s.samples.held_out > 0
      ? `Measured on ${count(s.samples.held_out)} pictures that are held out and never learned; of a class, after ${enough} of its own. “Forgotten” is the best accuracy less the one now.`
      : "No picture is held out yet, so nothing is measured by class.";
}
