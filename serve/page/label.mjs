// The part of the page of `ocl serve` where people label pictures.
import { ask, button, byId, count, each, element, pathOf, percent } from "./words.mjs";

// mostKeys is the number of classes that have a key.
const mostKeys = 9;

// mostListed is the number of pictures on a page of the list.
const mostListed = 60;

// fewest is the number of pictures below which further ones are fetched.
const fewest = 40;

// staleAfter is when pictures are asked for again at which the daemon has not looked yet, in milliseconds.
const staleAfter = 1500;

// mostActions is the number of actions that can be undone.
const mostActions = 100;

// between are the ids of a list from one to another, both of them too.
export function between(list, one, other) {
  const [a, b] = [list.indexOf(one), list.indexOf(other)].sort((x, y) => x - y);
  return a < 0 ? [other] : list.slice(a, b + 1);
}

// guessOf says what a picture may show.
export function guessOf(info, most = 1) {
  return (info.guesses ?? [])
    .slice(0, most)
    .map((g) =>
      typeof g.probability === "number" ? `${g.class} ${percent(g.probability)}` : typeof g.distance === "number" ? `${g.class}, ${g.distance.toFixed(2)} away` : g.class,
    )
    .join(" · ");
}

// described says what is known of a picture, for who does not see it.
export const described = (info) =>
  [
    `picture ${info.id}`,
    info.label ? `labelled ${info.label}` : "",
    info.mark ?? "",
    guessOf(info) ? `guessed as ${guessOf(info)}` : "no guess yet",
    info.unknown ? "like none of the classes" : "",
  ]
    .filter((text) => text !== "")
    .join(", ");

// back is the request that undoes what was done to a picture: a label, one that was taken away, or a mark. was is what there was before.
export function back(kind, id, was) {
  switch (kind) {
    case "mark":
      return [pathOf(id, "/mark"), "PUT", { mark: was ?? "" }];
    case "label":
      return was ? [pathOf(id, "/label"), "PUT", { label: was }] : [pathOf(id, "/label"), "DELETE"];
    default:
      return [pathOf(id, "/label"), "PUT", { label: was }];
  }
}

// things is a number of pictures in words.
export const things = (n) => (n === 1 ? "1 picture" : `${count(n)} pictures`);

// nextAt is where the cursor goes by a key, in a list of n with so many in a row; undefined where the key does not move it.
export function nextAt(key, at, n, columns) {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, Home: -n, End: n }[key];
  return step === undefined || n === 0 ? undefined : Math.min(n - 1, Math.max(0, at + step));
}

const filters = {
  unlabelled: { empty: "No picture waits for a label. Add some here, or send them to v1/predictions?remember=true.", of: "guessed as" },
  skipped: { empty: "No picture was skipped.", of: "guessed as" },
  deleted: { empty: "No picture was deleted. Deleted ones stay here until they are too old or erased by DELETE v1/samples/ID.", of: "guessed as" },
  labelled: { empty: "No sample has a label yet.", of: "labelled" },
  doubted: { empty: "No label differs from what was guessed before.", of: "labelled" },
};

let list = []; // the pictures of this page of the list
let at = 0; // where the cursor is in it
let total = 0;
let offset = 0;
let like = ""; // the id of a picture whose like are shown
let anchor = ""; // from which a range is chosen
let classes = [];
let several = false;
const chosen = new Set();
const gone = new Set(); // ids that are being dealt with, which the daemon may still list
const cells = new Map(); // by id
const lines = new Map(); // what is under way for an id, so that its requests stay in their order
const actions = []; // that can be undone

const filter = () => byId("filter").value;
const current = () => list[at];
const say = (text) => (byId("said").textContent = text);
const waits = () => ["unlabelled", "skipped", "deleted"].includes(filter());

// send sends requests about a picture, each a path, a method and a body, behind those about it that are under way.
function send(id, ...requests) {
  const all = async () => {
    for (const request of requests) {
      await ask(...request);
    }
  };
  const done = (lines.get(id) ?? Promise.resolve()).catch(() => {}).then(all);
  lines.set(id, done);
  const forget = () => lines.get(id) === done && lines.delete(id);
  done.then(forget, forget);
  return done;
}

const labelOf = (info, name) => [pathOf(info.id, "/label"), "PUT", { label: name }];
const noLabel = (info) => [pathOf(info.id, "/label"), "DELETE"];
const markOf = (info, to) => [pathOf(info.id, "/mark"), "PUT", { mark: to }];

function tileOf(info) {
  let tile = cells.get(info.id);
  if (tile === undefined) {
    tile = element("div", undefined, "tile");
    tile.id = `tile-${info.id}`;
    tile.dataset.id = info.id;
    tile.setAttribute("role", "option");
    tile.append(pictureOf(info.id), element("span"));
    cells.set(info.id, tile);
  }
  tile.lastChild.textContent = info.label || guessOf(info) || "no guess";
  tile.setAttribute("aria-label", described(info));
  return tile;
}

// pictureOf is the picture of an id as it is kept. One that is small is drawn with hard edges.
export function pictureOf(id) {
  const picture = element("img");
  picture.alt = "";
  picture.draggable = false;
  picture.decoding = "sync";
  picture.addEventListener("load", () => picture.classList.toggle("small", picture.naturalWidth < 100));
  picture.src = pathOf(id, "/picture?kept=true");
  return picture;
}

// draw shows the list as it is.
function draw() {
  const grid = byId("grid");
  const here = new Set(list.map((info) => info.id));
  for (const [id, tile] of cells) {
    if (!here.has(id)) {
      tile.remove();
      cells.delete(id);
      chosen.delete(id);
    }
  }
  list.forEach((info, i) => {
    const tile = tileOf(info);
    if (grid.children[i] !== tile) {
      grid.insertBefore(tile, grid.children[i] ?? null);
    }
  });
  at = Math.min(at, Math.max(0, list.length - 1));
  point();
  const n = list.length;
  byId("where").textContent = n === 0 ? "" : `${count(offset + 1)} to ${count(offset + n)} of ${count(Math.max(total, offset + n))}`;
  byId("before").disabled = offset === 0;
  byId("after").disabled = offset + n >= total;
  byId("pager").hidden = offset === 0 && n >= total;
  byId("empty").hidden = n > 0;
  byId("empty").textContent = like !== "" ? "No other picture was looked at yet." : byId("of").value !== "" ? "None of this class." : filters[filter()].empty;
  byId("stage").hidden = n === 0;
}

let shown = ""; // the id of the picture that is shown large

// point shows where the cursor is, what is chosen, and the picture there.
function point() {
  for (const [id, tile] of cells) {
    tile.classList.toggle("at", id === current()?.id);
    tile.setAttribute("aria-selected", String(chosen.has(id)));
  }
  const info = current();
  const grid = byId("grid");
  if (info === undefined) {
    grid.removeAttribute("aria-activedescendant");
    shown = "";
    return;
  }
  grid.setAttribute("aria-activedescendant", `tile-${info.id}`);
  if (shown !== info.id) {
    shown = info.id;
    const large = pictureOf(info.id);
    large.alt = `picture ${info.id}`;
    byId("big").replaceChildren(large);
  }
  const parts = [
    info.label ? `Labelled ${info.label}${info.who ? ` by ${info.who}` : ""}.` : "",
    guessOf(info, 3) ? `${info.label ? "Guessed as" : "Perhaps"} ${guessOf(info, 3)}.` : "No guess yet.",
    info.unknown && !info.label ? "It looks like none of the classes." : "",
  ];
  if (chosen.size > 0) {
    parts.push(`${things(chosen.size)} chosen.`);
  }
  byId("about").textContent = parts.filter((text) => text !== "").join(" ");
  byId("accept").disabled = !info.guesses?.length && chosen.size === 0;
  byId("unlabel").hidden = waits();
  byId("skip").hidden = !waits();
  byId("skip").lastChild.textContent = filter() === "unlabelled" ? " Skip" : " Bring back";
  byId("delete").hidden = filter() === "deleted";
  byId("like").hidden = filter() !== "unlabelled";
}

// look brings the cursor into view.
function look() {
  cells.get(current()?.id)?.scrollIntoView({ block: "nearest" });
}

let fetching; // a fetch that is under way
let again = false;
let stale; // the timer that asks again

// fill fetches what is missing on this page of the list. What is there stays where it is, so that nothing moves away under a pointer.
export async function fill() {
  if (fetching) {
    again = true;
    return fetching;
  }
  fetching = (async () => {
    do {
      again = false;
      const query = new URLSearchParams({ filter: filter(), offset: String(offset), count: String(Math.min(1000, mostListed + gone.size)) });
      if (byId("of").value !== "") {
        query.set("class", byId("of").value);
      }
      if (like !== "") {
        query.set("like", like);
      }
      const asked = query.toString();
      const before = new Set(gone);
      const answer = await ask(`v1/samples?${asked}`);
      if (again) {
        continue;
      }
      total = answer.total;
      const fresh = new Map(answer.samples.map((info) => [info.id, info]));
      list = list.map((info) => fresh.get(info.id) ?? info).filter((info) => !gone.has(info.id));
      const here = new Set(list.map((info) => info.id));
      for (const info of answer.samples) {
        if (!here.has(info.id) && !before.has(info.id) && !gone.has(info.id) && list.length < mostListed) {
          list.push(info);
        }
      }
      draw();
      clearTimeout(stale);
      stale = answer.stale > 0 ? setTimeout(fill, staleAfter) : undefined;
    } while (again);
  })();
  try {
    await fetching;
  } catch (error) {
    say(`The list did not come: ${error.message}`);
  } finally {
    fetching = undefined;
  }
}

// turn shows another list, or another page of it.
export async function turn(to = 0) {
  offset = Math.max(0, to);
  list = [];
  at = 0;
  chosen.clear();
  cells.forEach((tile) => tile.remove());
  cells.clear();
  byId("of-what").textContent = filters[filter()].of;
  byId("liking").hidden = like === "";
  again = fetching !== undefined;
  await fill();
}

// chosenOf are the ids of the pictures that are chosen and have a label.
export const chosenOf = (name) => list.filter((info) => chosen.has(info.id) && info.label === name).map((info) => info.id);

// targets are the pictures that an action is for: those that are chosen, or else that at the cursor.
const targets = () => (chosen.size > 0 ? list.filter((info) => chosen.has(info.id)) : list.slice(at, at + 1));

// act does something with pictures at once, and tells the daemon meanwhile. What the daemon refuses comes back into the list.
async function act(action, infos) {
  if (infos.length === 0) {
    return;
  }
  const goes = waits() || action.goes;
  const first = list.indexOf(infos[0]);
  actions.push({ ...action, infos: infos.map((info) => ({ ...info })), at: first, filter: filter() });
  actions.splice(0, Math.max(0, actions.length - mostActions));
  byId("undo").disabled = false;
  const ids = new Set(infos.map((info) => info.id));
  if (goes) {
    ids.forEach((id) => gone.add(id));
    const before = list.slice(0, at).filter((info) => ids.has(info.id)).length;
    list = list.filter((info) => !ids.has(info.id));
    at = Math.max(0, at - before);
    total = Math.max(0, total - ids.size);
  } else {
    list = list.map((info) => (ids.has(info.id) ? { ...info, label: action.label ?? "" } : info));
    at = Math.min(list.length - 1, at + 1);
  }
  chosen.clear();
  anchor = "";
  say(`${things(infos.length)} ${action.text}.`);
  draw();
  look();
  const failed = await each(infos, (info) => action.send(info));
  ids.forEach((id) => gone.delete(id)); // a list that is asked for from now on knows it
  if (failed.length > 0) {
    say(`${things(failed.length)} not ${action.text}: ${failed[0].error.message}`);
    list = [...failed.map(({ one }) => one).filter((info) => !list.some((other) => other.id === info.id)), ...list];
    draw();
  }
  if (list.length < fewest && total > offset + list.length) {
    await fill();
  }
}

const label = (name) => act({ kind: "label", label: name, text: `labelled ${name}`, goes: filter() === "doubted", send: (info) => send(info.id, labelOf(info, name)) }, targets());

const mark = (to, text) => act({ kind: "mark", text, send: (info) => send(info.id, markOf(info, to)) }, targets());

const unlabel = () => act({ kind: "unlabel", text: "without a label now", goes: true, send: (info) => send(info.id, noLabel(info)) }, targets());

function skip() {
  if (waits()) {
    filter() === "unlabelled" ? mark("skipped", "skipped") : mark("", "brought back");
  }
}

function remove() {
  if (filter() === "deleted") {
    return;
  }
  if (waits()) {
    mark("deleted", "deleted");
    return;
  }
  act({ kind: "unlabel", text: "deleted", goes: true, send: (info) => send(info.id, noLabel(info), markOf(info, "deleted")) }, targets());
}

// accept labels each picture as it is guessed to be.
function accept() {
  const infos = targets().filter((info) => info.guesses?.length);
  const text = infos.length === 1 ? `labelled ${infos[0].guesses[0].class}` : "labelled as guessed";
  act(
    {
      kind: "label",
      label: infos[0]?.guesses[0].class,
      text,
      goes: filter() === "doubted",
      send: (info) => send(info.id, labelOf(info, info.guesses[0].class)),
    },
    infos,
  );
}

let undoing = Promise.resolve();

// undo takes the last action back, after those that are being taken back.
const undo = () => (undoing = undoing.then(undoOne));

async function undoOne() {
  const action = actions.pop();
  byId("undo").disabled = actions.length === 0;
  if (action === undefined) {
    return;
  }
  const failed = await each(action.infos, (info) => send(info.id, back(action.kind, info.id, action.kind === "mark" ? info.mark : info.label)));
  action.infos.forEach((info) => gone.delete(info.id));
  if (action.filter === filter()) {
    const ids = new Set(action.infos.map((info) => info.id));
    const lost = new Set(failed.map(({ one }) => one.id));
    list = list.filter((info) => !ids.has(info.id));
    const to = Math.min(list.length, Math.max(0, action.at));
    list.splice(to, 0, ...action.infos.filter((info) => !lost.has(info.id)));
    at = to;
    chosen.clear();
    anchor = "";
  }
  say(failed.length > 0 ? `${things(failed.length)} not changed back: ${failed[0].error.message}` : `Undone: ${things(action.infos.length)} ${action.text}.`);
  draw();
  look();
}

// alike shows the pictures that are like the one at the cursor, and chooses those that are very much so.
async function alike() {
  if (current() === undefined || filter() !== "unlabelled") {
    return;
  }
  like = current().id;
  await turn();
  choose();
  byId("grid").focus();
}

// choose chooses the pictures that are at least as alike as the slider says.
function choose() {
  const least = Number(byId("alike").value) / 100;
  chosen.clear();
  list.filter((info) => info.likeness >= least).forEach((info) => chosen.add(info.id));
  byId("alike-said").textContent = `${percent(least)}: ${things(chosen.size)} of ${count(list.length)} shown`;
  point();
}

let meant = ""; // a name that is no class yet, which was typed once

// give labels with the name that was typed. A name that is none of the classes is asked for twice: a slip would be a class for ever.
async function give(event) {
  event.preventDefault();
  const field = byId("name");
  const name = field.value.trim();
  if (name === "" || targets().length === 0) {
    return;
  }
  const known = classes.find((c) => c.normalize("NFC").toLowerCase() === name.normalize("NFC").toLowerCase());
  if (known === undefined && meant !== name) {
    meant = name;
    say(`There is no class ${name}. Enter again makes it.`);
    return;
  }
  meant = "";
  try {
    if (known === undefined) {
      await ask("v1/classes", "POST", { name });
      knowClasses([...classes, name]);
    }
  } catch (error) {
    say(`No class was made: ${error.message}`);
    return;
  }
  field.value = "";
  byId("grid").focus();
  await label(known ?? name);
}

// knowClasses makes the buttons of the classes, and leaves them where nothing has changed.
export function knowClasses(names) {
  if (names.length === classes.length && names.every((name, i) => name === classes[i])) {
    return;
  }
  classes = names;
  byId("keys").replaceChildren(
    ...names.slice(0, mostKeys).map((name, i) => {
      const b = button("", () => label(name));
      b.append(element("kbd", String(i + 1)), ` ${name}`);
      b.setAttribute("aria-keyshortcuts", String(i + 1));
      return b;
    }),
  );
  byId("names").replaceChildren(...names.map((name) => new Option(name)));
  const of = byId("of");
  const was = of.value;
  of.replaceChildren(new Option("any class", ""), ...names.map((name) => new Option(name)));
  of.value = names.includes(was) ? was : "";
  for (const id of ["class-of", "class-into"]) {
    const one = byId(id).value;
    byId(id).replaceChildren(...names.map((name) => new Option(name)));
    byId(id).value = names.includes(one) ? one : names[0];
  }
}

// add keeps pictures for their labels.
async function add(files) {
  const all = [...files].filter((file) => !file.type || file.type.startsWith("image/"));
  let n = 0;
  const failed = await each(all, async (file) => {
    await ask("v1/predictions?remember=true", "POST", file);
    say(`${count(++n)} of ${things(all.length)} added.`);
  });
  say(failed.length > 0 ? `${things(failed.length)} not added. ${failed[0].one.name}: ${failed[0].error.message}` : `${things(n)} added.`);
  await fill();
}

function open(dialog) {
  byId(dialog).showModal();
}

function enlarge() {
  if (current() !== undefined) {
    const own = pictureOf(current().id);
    own.alt = `picture ${current().id}`;
    byId("own").replaceChildren(own);
    open("large");
  }
}

// go moves the cursor, and chooses all on its way where a range is chosen.
function go(to, ranged) {
  const ids = list.map((info) => info.id);
  if (!ranged) {
    anchor = "";
  } else if (anchor === "") {
    anchor = ids[at];
  }
  at = to;
  if (ranged) {
    chosen.clear();
    between(ids, anchor, ids[at]).forEach((id) => chosen.add(id));
  }
  point();
  look();
}

// columns is how many cells stand in a row.
function columns() {
  const all = [...byId("grid").children].filter((e) => e.classList.contains("tile"));
  const n = all.findIndex((tile) => tile.offsetTop !== all[0].offsetTop);
  return n < 0 ? Math.max(1, all.length) : n;
}

function toggle(id) {
  chosen.has(id) ? chosen.delete(id) : chosen.add(id);
  anchor = id;
  point();
}

function key(event) {
  const to = event.target;
  if (byId("part-label").hidden || document.querySelector("dialog[open]") !== null || event.altKey || to.closest("input,select,textarea") !== null) {
    return;
  }
  const grid = to === document.body || to === byId("grid");
  const plain = !event.ctrlKey && !event.metaKey;
  let did = true;
  const moved = grid && plain ? nextAt(event.key, at, list.length, columns()) : undefined;
  if (moved !== undefined) {
    go(moved, event.shiftKey);
  } else if (grid && !plain && event.key === "a") {
    list.forEach((info) => chosen.add(info.id));
    point();
  } else if (!plain) {
    did = false;
  } else if (event.key === "Escape") {
    chosen.clear();
    like !== "" ? byId("unlike").click() : point();
  } else if (grid && event.key === " " && current() !== undefined) {
    toggle(current().id);
  } else if (grid && event.key === "Enter") {
    accept();
  } else if (event.key === "?") {
    open("help");
  } else if (!byId("keys-on").checked) {
    did = false;
  } else if (/^[1-9]$/.test(event.key) && classes[event.key - 1] !== undefined) {
    label(classes[event.key - 1]);
  } else {
    const does = { s: skip, d: remove, z: undo, a: alike, o: enlarge, n: () => byId("name").focus(), u: () => !waits() && unlabel() }[event.key];
    did = does !== undefined;
    does?.();
  }
  if (did) {
    event.preventDefault();
  }
}

// rubber lets the mouse choose pictures: by clicks, and by a frame that is drawn around them.
function rubber(grid) {
  let from;
  let frame;
  const place = (e) => {
    const box = grid.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  };
  grid.addEventListener("pointerdown", (e) => {
    if (e.button === 0 && e.pointerType === "mouse") {
      from = place(e);
      grid.setPointerCapture(e.pointerId);
    }
  });
  grid.addEventListener("pointermove", (e) => {
    if (from === undefined) {
      return;
    }
    const [x, y] = place(e);
    if (frame === undefined && Math.hypot(x - from[0], y - from[1]) > 6) {
      frame = element("div", undefined, "rubber");
      grid.append(frame);
      if (!e.ctrlKey && !e.metaKey) {
        chosen.clear();
      }
    }
    if (frame === undefined) {
      return;
    }
    const [l, t, r, b] = [Math.min(x, from[0]), Math.min(y, from[1]), Math.max(x, from[0]), Math.max(y, from[1])];
    Object.assign(frame.style, { left: `${l}px`, top: `${t}px`, width: `${r - l}px`, height: `${b - t}px` });
    for (const [id, tile] of cells) {
      const hit = tile.offsetLeft < r && tile.offsetLeft + tile.offsetWidth > l && tile.offsetTop < b && tile.offsetTop + tile.offsetHeight > t;
      hit ? chosen.add(id) : chosen.delete(id);
    }
    point();
  });
  const end = () => {
    from = undefined;
    frame?.remove();
    frame = undefined;
  };
  grid.addEventListener("pointercancel", end);
  grid.addEventListener("pointerup", (e) => {
    const framed = frame !== undefined;
    end();
    const tile = document.elementFromPoint(e.clientX, e.clientY)?.closest(".tile");
    if (framed || !tile || !grid.contains(tile)) {
      return;
    }
    const id = tile.dataset.id;
    if (e.shiftKey) {
      go(
        list.findIndex((info) => info.id === id),
        true,
      );
    } else {
      at = list.findIndex((info) => info.id === id);
      if (several || e.ctrlKey || e.metaKey) {
        toggle(id);
      } else {
        chosen.clear();
        anchor = id;
        point();
      }
    }
  });
  grid.addEventListener("dblclick", enlarge);
}

// beginLabelling makes this part of the page work, once.
export function beginLabelling() {
  document.addEventListener("keydown", key);
  rubber(byId("grid"));
  byId("filter").addEventListener("change", () => {
    like = "";
    turn();
  });
  byId("of").addEventListener("change", () => turn());
  byId("before").addEventListener("click", () => turn(offset - mostListed));
  byId("after").addEventListener("click", () => turn(offset + list.length));
  byId("enlarge").addEventListener("click", enlarge);
  byId("other").addEventListener("submit", give);
  byId("name").addEventListener("keydown", (e) => e.key === "Escape" && byId("grid").focus());
  byId("accept").addEventListener("click", accept);
  byId("skip").addEventListener("click", skip);
  byId("delete").addEventListener("click", remove);
  byId("unlabel").addEventListener("click", unlabel);
  byId("undo").addEventListener("click", undo);
  byId("like").addEventListener("click", alike);
  byId("alike").addEventListener("input", choose);
  byId("unlike").addEventListener("click", () => {
    like = "";
    turn();
  });
  byId("several").addEventListener("click", () => {
    several = !several;
    byId("several").setAttribute("aria-pressed", String(several));
  });
  byId("ask").addEventListener("click", () => open("help"));
  byId("add").addEventListener("click", () => byId("files").click());
  byId("files").addEventListener("change", (e) => add(e.target.files));
  document.addEventListener("dragover", (e) => e.preventDefault());
  document.addEventListener("drop", (e) => {
    e.preventDefault();
    if (e.dataTransfer.files.length > 0) {
      add(e.dataTransfer.files);
    }
  });
  for (const close of document.querySelectorAll("dialog .close")) {
    close.addEventListener("click", () => close.closest("dialog").close());
  }
}

// wanted says whether further pictures have room on this page of the list.
export const wanted = () => list.length < mostListed;
