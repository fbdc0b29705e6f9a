// What one can do with the charts of a page. page.mjs calls charts, and chart.test.mjs tests what knows nothing of a page.
import { keep, make } from "./dom.mjs";
import { read } from "./table.mjs";

// valued are the marks that have a value to say.
const valued = "path.mk,path.bar,path.ln,path.area";

// charts gives the charts below an element what they can do.
export function charts(root) {
  root.querySelectorAll("figure").forEach(switches);
  root.querySelectorAll(`svg.fig:has(${valued})`).forEach((svg) => new Look(svg)); // a heat map has its values in its cells
  if (root !== document) {
    return; // the document hears already
  }
  document.addEventListener("pointerdown", (event) => {
    if (Look.open && !Look.open.box.contains(event.target)) {
      Look.open.close();
    }
  });
}

// points are those of a line chart, a list for each line: where they are in the drawing, and what is to be said of them. told is what the chart
// says of itself (view/chart/told.go), and area what is between its axes: left, right, top and bottom, and the ends of the y axis where they are not
// those that the chart says.
export function points(told, [left, right, top, bottom, low = +told.y[0], high = +told.y[1]]) {
  const [from, to] = told.x.map(Number);
  const words = (text) => (text ? text.split(" ") : []);
  const list = told.p ? (text) => unpack(text || "") : words;
  return told.s.map((line) => {
    const at = line.x ? words(line.x).map(Number) : null;
    const half = list(line.h);
    const seeds = words(line.i);
    const runs = (line.v || []).map(list);
    const all = list(line.y).flatMap((y, i) => {
      if (y === "-") {
        return [];
      }
      const x = at ? at[i] : from + i;
      const value = (told.yl ? told.yl + ": " : "") + y + (half[i] && half[i] !== "-" ? " ± " + half[i] : "");
      const text = [
        line.n,
        `${told.xl}: ${x}`,
        value,
        seedLine(
          seeds,
          runs.map((run) => run[i]),
        ),
      ];
      return [
        {
          x: to > from ? left + ((x - from) / (to - from)) * (right - left) : (left + right) / 2,
          y: bottom - ((y - low) / (high - low)) * (bottom - top),
          text: text.filter((part) => part !== "").join("\n"),
        },
      ];
    });
    return { group: line.g || line.n, points: all };
  });
}

// unpack reads values with one decimal that are written as two characters each (pack in view/chart/told.go); "-" is none.
export function unpack(text) {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return Array.from({ length: text.length / 2 }, (_, i) => {
    const code = 64 * digits.indexOf(text[2 * i]) + digits.indexOf(text[2 * i + 1]);
    return code === 4095 ? "-" : ((code - 1024) / 10).toFixed(1);
  });
}

// seedLine says what each run behind a mean measured. Without values there is one run, or there are too many values for the page.
export function seedLine(seeds, values) {
  const known = seeds.map((seed, i) => [seed, values[i]]).filter((pair) => pair[1] !== undefined && pair[1] !== "-");
  if (known.length > 1) {
    const [first, last] = [known[0][0], known.at(-1)[0]];
    const whole = known.length > 3 && known.every((pair, i) => +pair[0] === +first + i);
    return `seeds ${whole ? first + " to " + last : known.map((pair) => pair[0]).join(", ")}: ${known.map((pair) => pair[1]).join(", ")}`;
  }
  return seeds.length === 1 ? "1 run, seed " + seeds[0] : known.length === 1 ? "1 run, seed " + known[0][0] : seeds.length === 0 ? "" : `${seeds.length} runs`;
}

// every point of all lines with its place: [line, point].
const every = (lines) => lines.flatMap((line, i) => line.points.map((point, k) => ({ at: [i, k], x: point.x, y: point.y })));

// nearest is the place of the point that is nearest to (x, y), at most so far away; null if there is none.
export function nearest(lines, x, y, reach = Infinity) {
  let best = null;
  let least = reach;
  for (const point of every(lines)) {
    const distance = Math.hypot(point.x - x, point.y - y);
    if (distance <= least) {
      [best, least] = [point.at, distance];
    }
  }
  return best;
}

// move is the place that a key leads to from a place, null for the start. Left and right follow a line, up and down go to the line that is next there.
// Of lines of one point each, left and right go to the next point, and with one line so do up and down.
export function move(lines, at, key) {
  const filled = lines.map((_, i) => i).filter((i) => lines[i].points.length > 0);
  if (filled.length === 0) {
    return null;
  }
  if (at === null || !lines[at[0]].points[at[1]]) {
    return [filled[0], 0];
  }
  const [line, k] = at;
  const here = lines[line].points[k];
  const same = ([i, j]) => i === line && j === k;
  // step goes from here to the next of some places in an order of numbers, or stays at the end.
  const step = (places, order, by) => {
    const sorted = places.toSorted((a, b) => order(a) - order(b) || a[0] - b[0] || a[1] - b[1]);
    return sorted[sorted.findIndex(same) + by] || at;
  };
  const point = ([i, j]) => lines[i].points[j];
  const places = every(lines).map((one) => one.at);
  const row = lines[line].points.map((_, j) => [line, j]);
  switch (key) {
    case "Home":
      return [line, 0];
    case "End":
      return [line, row.length - 1];
    case "ArrowLeft":
    case "ArrowRight":
      return step(row.length > 1 ? row : places, (place) => point(place).x, key === "ArrowLeft" ? -1 : 1);
    case "ArrowUp":
    case "ArrowDown": {
      const beside = filled.map((i) => {
        const gaps = lines[i].points.map((other) => Math.abs(other.x - here.x));
        return i === line ? at : [i, gaps.indexOf(Math.min(...gaps))];
      });
      return step(filled.length > 1 ? beside : places, (place) => point(place).y, key === "ArrowUp" ? -1 : 1);
    }
  }
  return at;
}

// tip is what a mark says where the mouse is over it. It is taken off the mark, or the browser would show it too.
const tip = (mark) => {
  const title = mark.querySelector("title");
  if (title) {
    tips.set(mark, title.textContent);
    title.remove();
  }
  return tips.get(mark);
};
const tips = new Map();

// box is what a mark fills. Of an area, which others cover, it is the point where its values are said.
const box = (mark) => {
  if (mark.dataset.at) {
    const [x, y] = mark.dataset.at.split(" ").map(Number);
    return { x, y, width: 0, height: 0 };
  }
  return mark.getBBox();
};

const help = "Arrow keys move from point to point. Escape closes.";

// reach is how far from a point the mouse may be, in pixels of the drawing.
const reach = 40;

// Look is a chart that can be looked into: by mouse, finger and keyboard it says the values of its points.
class Look {
  static open = null;

  constructor(svg) {
    this.svg = svg;
    this.at = null;
    this.lines = null;
    const words = (svg.getAttribute("aria-labelledby") || "").split(" ");
    this.said = make("div", { class: "readout", role: "status" });
    this.box = make("div", {
      class: "look " + svg.getAttribute("class").replace("fig ", ""),
      role: "application",
      "aria-roledescription": "chart",
      "aria-labelledby": words[0],
      "aria-describedby": words[1] || "",
    });
    this.box.tabIndex = 0;
    svg.replaceWith(this.box);
    this.box.append(svg, this.said);
    this.box.addEventListener("pointermove", (event) => this.point(event));
    this.box.addEventListener("pointerdown", (event) => this.point(event));
    this.box.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.close());
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("focus", () => this.box.matches(":focus-visible") && this.say(help));
    this.box.addEventListener("blur", () => this.close());
  }

  // visible are the lines that no switch has hidden. They are read where the chart is looked into for the first time: a page may have many.
  visible() {
    this.lines ??= this.read();
    const hidden = new Set(Array.from(this.svg.querySelectorAll("g.hide"), (group) => group.dataset.s));
    return this.lines.map((line) => (hidden.has(line.group) ? { ...line, points: [] } : line));
  }

  read() {
    const marks = (svg) => Array.from(svg.querySelectorAll(valued));
    const own = marks(this.svg);
    if (this.svg.querySelector(".area")) {
      own.reverse(); // the uppermost area is drawn first
    }
    const texts = own.map(tip);
    // Of a chart that is drawn twice, the wide drawing says the values.
    const wide = this.svg.classList.contains("narrow") ? this.box.parentElement.querySelector("svg.wide") : null;
    if (this.svg.dataset.f) {
      const told = this.svg.querySelector("metadata") || this.box.parentElement.querySelector("metadata");
      return points(JSON.parse(told.textContent), this.svg.dataset.f.split(" ").map(Number));
    }
    const others = wide ? marks(wide).map(tip) : [];
    const lines = new Map();
    this.paths = new Map();
    for (const [i, path] of own.entries()) {
      const text = texts[i] || others[i];
      if (!text) {
        continue;
      }
      const group = path.closest("g[data-s]")?.dataset.s || "";
      if (!lines.has(group)) {
        lines.set(group, { group, points: [] });
      }
      const { x, y, width, height } = box(path);
      const line = lines.get(group);
      this.paths.set(path, [Array.from(lines.keys()).indexOf(group), line.points.length]);
      line.points.push({ x: x + width / 2, y: path.classList.contains("ln") ? y : y + height / 2, text: text.startsWith(group) || group === "" ? text : group + "\n" + text });
    }
    return Array.from(lines.values());
  }

  // scale is the size on the screen of a pixel of the drawing.
  scale() {
    return this.svg.getBoundingClientRect().width / this.svg.viewBox.baseVal.width;
  }

  point(event) {
    const lines = this.visible();
    const frame = this.svg.getBoundingClientRect();
    const scale = this.scale();
    const under = this.paths?.get(event.target);
    this.show(under || nearest(lines, (event.clientX - frame.left) / scale, (event.clientY - frame.top) / scale, reach));
  }

  key(event) {
    if (event.key === "Escape") {
      this.close();
    } else if (/^(Arrow|Home$|End$)/.test(event.key)) {
      event.preventDefault();
      this.show(move(this.visible(), this.at, event.key));
    }
  }

  // show says the point at a place, or nothing.
  show(at) {
    if (at === null) {
      this.close();
      return;
    }
    const line = this.lines[at[0]];
    const point = line.points[at[1]];
    const scale = this.scale();
    const [width, height] = [this.svg.clientWidth || this.svg.getBoundingClientRect().width, this.svg.getBoundingClientRect().height];
    const [x, y] = [point.x * scale, point.y * scale];
    this.say(point.text);
    this.at = at;
    const style = this.said.style;
    style.left = x < width / 2 ? x + 12 + "px" : "auto";
    style.right = x < width / 2 ? "auto" : this.box.clientWidth - x + 12 + "px";
    style.top = y < height / 2 ? y + 8 + "px" : "auto";
    style.bottom = y < height / 2 ? "auto" : this.box.clientHeight - y + 8 + "px";
    style.maxWidth = `min(${Math.max(x, width - x) - 16}px, 22rem)`;
    this.svg.querySelector(".cursor")?.remove();
    this.svg.append(this.ring(point));
    if (this.svg.dataset.f) {
      this.svg.querySelectorAll("g[data-s]").forEach((group) => group.classList.toggle("dim", group.dataset.s !== line.group));
    }
  }

  // ring is a ring around a point in two colours, so that it is seen on every area.
  ring(point) {
    const part = (name, attributes, ...inside) => {
      const element = document.createElementNS(this.svg.namespaceURI, name);
      Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
      element.append(...inside);
      return element;
    };
    const circle = () => part("circle", { cx: point.x, cy: point.y, r: 7 });
    return part("g", { class: "cursor" }, circle(), circle());
  }

  say(text) {
    if (Look.open !== this) {
      Look.open?.close();
      Look.open = this;
    }
    if (this.said.textContent !== text) {
      this.said.textContent = text;
    }
  }

  close() {
    this.at = null;
    this.said.textContent = "";
    this.said.removeAttribute("style");
    this.svg.querySelector(".cursor")?.remove();
    this.svg.querySelectorAll(".dim").forEach((group) => group.classList.remove("dim"));
    if (Look.open === this) {
      Look.open = null;
    }
  }
}

// off are the names of a list that are in the text of an address.
export const off = (names, text = "") => new Set(text.split("|").filter((name) => names.includes(name)));

// listed is the text of an address that names what is off, in the order of names.
export const listed = (names, hidden) => names.filter((name) => hidden.has(name)).join("|");

// switches hide lines of a chart.
function switches(figure) {
  const lines = figure.querySelectorAll("g[data-s]");
  const names = Array.from(new Set(Array.from(lines, (line) => line.dataset.s)));
  const places = figure.querySelectorAll(".toggles,.legend li");
  if (names.length < 2 || places.length === 0) {
    return;
  }
  const hidden = off(names, read(location.search, figure.id).hide);
  const inputs = [];
  const show = () => {
    lines.forEach((line) => line.classList.toggle("hide", hidden.has(line.dataset.s)));
    inputs.forEach((input) => (input.checked = !hidden.has(input.name)));
  };
  const box = (name) => {
    const input = make("input", { type: "checkbox", name });
    input.addEventListener("change", () => {
      hidden[input.checked ? "delete" : "add"](name);
      keep(figure.id, { ...read(location.search, figure.id), hide: listed(names, hidden) });
      show();
    });
    inputs.push(input);
    return make("label", {}, input);
  };
  places.forEach((place) => {
    if (place.matches("li")) {
      const label = box(place.dataset.s);
      label.append(...place.childNodes);
      place.append(label);
      return;
    }
    names.forEach((name) => {
      const label = box(name);
      label.append(name);
      place.append(label);
    });
  });
  show();
}
