// What `ocl watch` adds to the script of a report: the page follows the runs. It stands behind page.mjs in one module and uses its dress.
/* global dress */

// keyOf names a part of the page, so that it is found again on the next page.
export const keyOf = (id, tag, place) => (id !== "" ? "#" + id : tag + " " + place);

// moves are the steps by which the children of an element become others: those that go, and where the others are put, each before one that stays (or
// null for the end). What is in both lists is not touched.
export function moves(now, wanted) {
  const stay = new Set(wanted);
  const rest = now.filter((part) => stay.has(part));
  const puts = [];
  for (const part of wanted) {
    if (part === rest[0]) {
      rest.shift();
    } else {
      const at = rest.indexOf(part);
      if (at >= 0) {
        rest.splice(at, 1);
      }
      puts.push([part, rest[0] ?? null]);
    }
  }
  return { gone: now.filter((part) => !stay.has(part)), puts };
}

// Latest calls work with the newest of the values that it is given, one call after the other.
export class Latest {
  constructor(work) {
    this.work = work;
    this.waiting = [];
    this.busy = false;
  }

  async give(value) {
    this.waiting = [value];
    if (this.busy) {
      return;
    }
    this.busy = true;
    while (this.waiting.length > 0) {
      await this.work(this.waiting.pop());
    }
    this.busy = false;
  }
}

// remember keeps what a person has done to a part of the page, and returns a function that does it to another one.
function remember(part) {
  const able = "a,button,input,select,summary,[tabindex]";
  const opened = Array.from(part.querySelectorAll("details"), (details) => details.open);
  const scrolled = Array.from(part.querySelectorAll(".scroll"), (box) => [box.scrollLeft, box.scrollTop]);
  const focus = part.contains(document.activeElement) ? Array.from(part.querySelectorAll(able)).indexOf(document.activeElement) : -1;
  return (fresh) => {
    fresh.querySelectorAll("details").forEach((details, i) => (details.open = opened[i] ?? details.open));
    fresh.querySelectorAll(".scroll").forEach((box, i) => box.scrollTo({ left: scrolled[i]?.[0], top: scrolled[i]?.[1], behavior: "instant" }));
    fresh.querySelectorAll(able)[focus]?.focus({ preventScroll: true });
  };
}

// Following replaces the parts of the page that have changed. What has not changed stays, and so do the scroll position, what is open and the focus;
// filters and order are in the address.
class Following {
  constructor() {
    this.sent = new Map(); // what the server sent, by key
    this.number = -1;
    this.strip = document.getElementById("live");
    this.outer().forEach((part, place) => (part.dataset.key = keyOf(part.id, part.tagName, place)));
    this.inner().forEach((part, place) => (part.dataset.key = keyOf(part.id, part.tagName, place)));
  }

  outer(page = document) {
    return Array.from(page.querySelectorAll("body > svg.defs, body > header, body > footer"));
  }

  inner(page = document) {
    return Array.from(page.querySelectorAll("body > main > *"));
  }

  // show shows what the server has told. A page that cannot be loaded is tried again with the next news.
  async show(news) {
    this.strip.innerHTML = news.strip;
    if (news.page !== this.number) {
      const answer = await fetch(location.pathname);
      if (!answer.ok) {
        return;
      }
      this.renew(new DOMParser().parseFromString(await answer.text(), "text/html"));
      this.number = news.page;
    }
    document.title = news.title;
  }

  renew(page) {
    const old = new Map([...this.outer(), ...this.inner()].map((part) => [part.dataset.key, part]));
    const sent = new Map();
    const anchor = this.inner().find((part) => part.getBoundingClientRect().bottom > 0);
    const top = anchor?.getBoundingClientRect().top;
    const fresh = [];
    const pick = (part, place) => {
      const key = keyOf(part.id, part.tagName, place);
      const was = old.get(key);
      sent.set(key, part.outerHTML);
      if (was !== undefined && this.sent.get(key) === part.outerHTML) {
        return was;
      }
      const now = document.adoptNode(part);
      now.dataset.key = key;
      fresh.push([now, was === undefined ? () => {} : remember(was)]);
      return now;
    };
    const style = page.querySelector("head > style").textContent;
    if (document.querySelector("head > style").textContent !== style) {
      document.querySelector("head > style").textContent = style;
    }
    const outer = this.outer();
    this.outer(page)
      .map(pick)
      .forEach((part, place) => part !== outer[place] && outer[place].replaceWith(part));
    const wanted = this.inner(page).map(pick);
    const { gone, puts } = moves(this.inner(), wanted);
    const main = document.querySelector("main");
    puts.forEach(([part, before]) => main.insertBefore(part, before));
    gone.forEach((part) => part.remove());
    fresh.forEach(([part, again]) => {
      dress(part);
      again(part);
    });
    const now = anchor && this.inner().find((part) => part.dataset.key === anchor.dataset.key);
    if (now && scrollY > 0) {
      scrollBy({ top: now.getBoundingClientRect().top - top, behavior: "instant" });
    }
    this.sent = sent;
  }

  // lost says that the server does not answer.
  lost() {
    if (!this.strip.querySelector(".lost")) {
      this.strip.insertAdjacentHTML("beforeend", '<p class="lost">The program that watches has ended. The page goes on when it is started again at this address.</p>');
    }
  }
}

// patient is how many failures in a row a stream may have before the page asks by itself, every so many milliseconds.
const mostFailures = 3;
const askEvery = 3000;

// follow listens to the server's events, and asks by itself where that fails.
function follow() {
  const page = new Following();
  const latest = new Latest((news) => page.show(news).catch(() => {}));
  let over = false;
  const take = async (text) => {
    const news = JSON.parse(text);
    over = news.over;
    await latest.give(news);
  };
  const ask = async () => {
    try {
      const answer = await fetch("state");
      await take(await answer.text());
    } catch {
      page.lost();
    }
    if (!over) {
      setTimeout(ask, askEvery);
    }
  };
  const source = new EventSource("events");
  let failures = 0;
  source.onmessage = async (event) => {
    failures = 0;
    await take(event.data);
    if (over) {
      source.close();
    }
  };
  source.onerror = () => {
    failures++;
    if (!over && (source.readyState === EventSource.CLOSED || failures >= mostFailures)) {
      source.close();
      ask();
    }
  };
}

if (typeof document !== "undefined") {
  follow();
}
