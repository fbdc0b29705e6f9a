// The page of `ocl serve` shows what the daemon sends: its status and notices by v1/events, and the pictures that wait for labels. Paths
// are relative, so that a proxy may give the daemon a prefix.

// count writes a whole number with separators.
export const count = (n) => Math.round(n).toLocaleString("en-US");

// percent writes a share, and what was not measured.
export const percent = (share) => (typeof share === "number" ? (100 * share).toFixed(1) + "\u00a0%" : "not measured");

// enough is of how many pictures a share says something.
export const enough = 20;

// percentOf writes a share of so many pictures; of few it would be chance.
export const percentOf = (share, of) => (of < enough ? `after ${enough} pictures` : percent(share));

// bytes writes a size.
export function bytes(n) {
  for (const unit of ["bytes", "kB", "MB", "GB"]) {
    if (n < 1000 || unit === "GB") {
      return (unit === "bytes" ? count(n) : n.toFixed(1)) + "\u00a0" + unit;
    }
    n /= 1000;
  }
}

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
    ["learned", count(s.samples.learned), s.samples.answering < s.samples.learned ? `${count(s.samples.answering)} of them in what answers` : `${count(s.rates.learned)} a second`],
    ["waiting to be learned", count(s.samples.waiting), `${count(s.samples.queue)} at most`],
    ["predictions a second", count(s.rates.predictions), latency ? `${latency.p50.toFixed(1)} ms, one of a hundred above ${latency.p99.toFixed(1)} ms` : ""],
    ["drift", count(s.drift.found), s.drift.last ? `last at ${clock(s.drift.last)}` : "none was found"],
    ["memory of the learner", count(s.memory.stored), `of ${count(s.memory.capacity)} pictures; the process has ${bytes(s.memory.bytes)}`],
    ["on the disk", bytes(s.disk.journal + s.disk.snapshots), `journal ${bytes(s.disk.journal)}, snapshots ${bytes(s.disk.snapshots)}`],
  ];
}

// clock is the time of day of an instant.
export const clock = (time) => new Date(time).toLocaleTimeString("en-GB");

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
    picture.append(svg("path", { class: "grid", d: `M${left} ${y}H${width}` }), svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, 100 * share + " %"));
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

const byId = (id) => document.getElementById(id);

function element(name, text, look) {
  const e = document.createElement(name);
  if (text !== undefined) {
    e.textContent = text;
  }
  if (look !== undefined) {
    e.className = look;
  }
  return e;
}

let classes = [];

function show(s) {
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
  classes = s.classes.map((c) => c.name);
  byId("classes").replaceChildren(
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

const mostNews = 50;

function tell(notice) {
  const list = byId("news");
  if (list.dataset.begun === undefined) {
    list.replaceChildren();
    list.dataset.begun = "yes";
  }
  const item = element("li");
  item.append(element("time", clock(notice.time)), notice.text);
  list.prepend(item);
  while (list.children.length > mostNews) {
    list.lastChild.remove();
  }
}

// problemOf is what an answer says that is none.
async function problemOf(answer) {
  try {
    return (await answer.json()).detail ?? answer.statusText;
  } catch {
    return answer.statusText;
  }
}

async function label(card, id, name) {
  const able = card.querySelectorAll("button,select");
  able.forEach((e) => (e.disabled = true));
  try {
    const answer = await fetch(`v1/samples/${encodeURIComponent(id)}/label`, {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ label: name }),
    });
    if (!answer.ok) {
      throw new Error(await problemOf(answer));
    }
    byId("said").textContent = `Labelled as ${name}.`;
    card.remove();
    shown.delete(id);
    await pictures();
  } catch (fault) {
    byId("said").textContent = `It was not labelled: ${fault.message}`;
    able.forEach((e) => (e.disabled = false));
  }
}

const mostPictures = 12;
const mostButtons = 4;
const shown = new Map();

// choices are the labels that get a button of their own, the guesses first, and those in the list below.
export function choices(guesses, all) {
  const guessed = guesses.map((g) => g.class);
  const order = [...guessed, ...all.filter((name) => !guessed.includes(name))];
  return { buttons: order.slice(0, mostButtons), rest: order.slice(mostButtons) };
}

function card(info) {
  const box = element("article");
  const picture = element("img");
  picture.src = `v1/samples/${encodeURIComponent(info.id)}/picture`;
  picture.alt = `picture ${info.id}`;
  const guesses = info.guesses ?? [];
  const best = guesses[0];
  box.append(picture, element("p", best ? `${best.class}? ${typeof best.probability === "number" ? percent(best.probability) : ""}` : "no guess", "note"));
  const { buttons, rest } = choices(guesses, classes);
  for (const name of buttons) {
    const button = element("button", name);
    button.type = "button";
    button.addEventListener("click", () => label(box, info.id, name));
    box.append(button);
  }
  if (rest.length > 0) {
    const list = element("select");
    list.setAttribute("aria-label", "another label");
    list.append(element("option", "another…"), ...rest.map((name) => element("option", name)));
    list.addEventListener("change", () => list.selectedIndex > 0 && label(box, info.id, rest[list.selectedIndex - 1]));
    box.append(list);
  }
  return box;
}

// pictures shows those that wait for a label. A card stays as long as its picture waits, so that none moves away under a pointer.
async function pictures() {
  const answer = await fetch(`v1/samples?count=${mostPictures}`, { cache: "no-store" });
  if (!answer.ok) {
    return;
  }
  const list = (await answer.json()).samples;
  const wait = new Set(list.map((info) => info.id));
  for (const [id, box] of shown) {
    if (!wait.has(id)) {
      box.remove();
      shown.delete(id);
    }
  }
  for (const info of list) {
    if (!shown.has(info.id) && shown.size < mostPictures) {
      shown.set(info.id, card(info));
      byId("pictures").append(shown.get(info.id));
    }
  }
  if (shown.size === 0 && byId("pictures").children.length === 0) {
    byId("pictures").append(element("p", "None waits. Send a picture to v1/predictions?remember=true, and it appears here.", "note"));
  } else if (shown.size > 0) {
    byId("pictures").querySelector("p.note:only-child")?.remove();
    byId("pictures")
      .querySelectorAll(":scope > p")
      .forEach((p) => p.remove());
  }
}

const every = 3000;

async function look() {
  try {
    await pictures();
  } catch {
    // the stream of events says that the daemon does not answer
  }
  setTimeout(look, every);
}

function listen() {
  const stream = new EventSource("v1/events");
  // A new connection tells the last notices again.
  stream.addEventListener("open", () => delete byId("news").dataset.begun);
  stream.addEventListener("status", (e) => {
    byId("lost").hidden = true;
    show(JSON.parse(e.data));
  });
  for (const kind of ["class", "drift", "divergence", "forgotten", "rollback", "labelled", "problem"]) {
    stream.addEventListener(kind, (e) => tell(JSON.parse(e.data)));
  }
  stream.addEventListener("error", () => {
    byId("lost").hidden = false;
    if (stream.readyState === EventSource.CLOSED) {
      setTimeout(begin, every);
    }
  });
}

// enter asks for a token, which the daemon keeps as a cookie that no script can read.
function enter() {
  const door = byId("door");
  door.hidden = false;
  door.onsubmit = async (e) => {
    e.preventDefault();
    const answer = await fetch("v1/session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token: byId("token").value }) });
    byId("refused").hidden = answer.ok;
    if (answer.ok) {
      door.hidden = true;
      begin();
    } else {
      byId("refused").textContent = await problemOf(answer);
    }
  };
}

let looking = false;

async function begin() {
  try {
    const answer = await fetch("v1/status", { cache: "no-store" });
    if (answer.status === 401 || answer.status === 403) {
      enter();
      return;
    }
    show(await answer.json());
  } catch {
    byId("lost").hidden = false;
    setTimeout(begin, every);
    return;
  }
  listen();
  if (!looking) {
    looking = true;
    look();
  }
}

if (typeof document !== "undefined") {
  begin();
}
