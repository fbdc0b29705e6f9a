// The page of `ocl serve`: its parts, and what the daemon sends by v1/events.
import { beginLabelling, fill, knowClasses, wanted } from "./label.mjs";
import { showNumbers } from "./numbers.mjs";
import { beginRest, history, mayChange, versions } from "./rest.mjs";
import { ask, byId, clock, element } from "./words.mjs";

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

let last; // status

function show(s) {
  last = s;
  knowClasses(s.classes.map((c) => c.name));
  showNumbers(s);
}

// part shows the part of the page that its address names.
function part() {
  const name = location.hash.slice(1);
  const all = [...document.querySelectorAll(".part")];
  const now = all.find((section) => section.id === `part-${name}`) ?? all[0];
  for (const section of all) {
    section.hidden = section !== now;
  }
  for (const link of document.querySelectorAll(".parts a")) {
    `part-${link.hash.slice(1)}` === now.id ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  if (!begun) {
    return;
  }
  if (now.id === "part-history") {
    history();
  } else if (now.id === "part-versions") {
    versions();
  } else if (now.id === "part-numbers" && last !== undefined) {
    show(last); // the chart is as wide as its place
  }
}

const every = 3000;

let due;

// soon fetches further pictures after those that have come.
function soon() {
  if (due === undefined && wanted()) {
    due = setTimeout(() => {
      due = undefined;
      fill();
    }, 500);
  }
}

function listen() {
  const stream = new EventSource("v1/events");
  // A new connection tells the last notices again.
  stream.addEventListener("open", () => delete byId("news").dataset.begun);
  stream.addEventListener("status", (e) => {
    byId("lost").hidden = true;
    show(JSON.parse(e.data));
  });
  for (const kind of ["class", "drift", "divergence", "forgotten", "rollback", "labelled", "unlabelled", "problem"]) {
    stream.addEventListener(kind, (e) => tell(JSON.parse(e.data)));
  }
  for (const kind of ["remembered", "published"]) {
    stream.addEventListener(kind, soon);
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
    try {
      await ask("v1/session", "POST", { token: byId("token").value });
      byId("refused").hidden = true;
      door.hidden = true;
      begin();
    } catch (error) {
      byId("refused").hidden = false;
      byId("refused").textContent = error.message;
    }
  };
}

let begun = false;

async function begin() {
  try {
    show(await ask("v1/status"));
  } catch (error) {
    if (error.status === 401 || error.status === 403) {
      enter();
      return;
    }
    byId("lost").hidden = false;
    setTimeout(begin, every);
    return;
  }
  listen();
  if (!begun) {
    begun = true;
    part();
    mayChange().catch(() => {}); // the form stays hidden
    await fill();
  }
}

if (typeof document !== "undefined") {
  addEventListener("hashchange", part);
  beginLabelling();
  beginRest();
  part();
  begin();
}
