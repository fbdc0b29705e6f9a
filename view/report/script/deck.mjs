// A deck is a pile of heat maps of rows and of their single runs, of which the page shows one; a slider goes through them. page.mjs calls decks, and
// deck.test.mjs tests what knows nothing of a page.
import { keep, make } from "./dom.mjs";
import { read } from "./table.mjs";

// decks turns the galleries below an element that have data into decks.
export function decks(root) {
  root.querySelectorAll(".gallery.deck").forEach((gallery) => new Deck(gallery, JSON.parse(gallery.querySelector("script").textContent)));
}

// shares reads the cells of a heat map, a list for each line: null, or the share as it is printed with one decimal and without, and its step on the
// scale of colours (PackShares in view/chart/pack.go).
export function shares(text) {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return text.split(" ").map((line) =>
    Array.from({ length: line.length / 2 }, (_, i) => {
      const code = 64 * digits.indexOf(line[2 * i]) + digits.indexOf(line[2 * i + 1]);
      return code === 4095 ? null : { percent: (Math.floor((code + 1) / 2) / 10).toFixed(1), whole: Math.floor((code + 10) / 20), step: Math.floor((code + 50) / 100) };
    }),
  );
}

// stops are what the slider goes through: of each map the mean, and then its single runs.
export function stops(maps) {
  return maps.flatMap((map, i) => [{ map: i, run: -1 }, ...(map.Runs || []).map((_, run) => ({ map: i, run }))]);
}

// find is the number of the stop that an address names, 0 if there is none.
export function find(maps, { row, seed }) {
  const all = stops(maps);
  const of = (stop) => (stop.run < 0 ? undefined : String(maps[stop.map].Runs[stop.run].Seed));
  return Math.max(
    0,
    all.findIndex((stop) => maps[stop.map].Name === row && of(stop) === seed),
  );
}

// named is what the address says of a stop; of the first one nothing.
export function named(maps, number) {
  const stop = stops(maps)[number];
  return { row: number === 0 ? "" : maps[stop.map].Name, seed: stop.run < 0 ? "" : String(maps[stop.map].Runs[stop.run].Seed) };
}

class Deck {
  constructor(gallery, data) {
    this.data = data;
    this.stops = stops(data.Maps);
    const figures = gallery.querySelectorAll("figure");
    this.figure = figures[0];
    this.id = this.figure.id;
    figures.forEach((figure) => (figure.hidden = figure !== this.figure));
    for (let next = gallery.nextElementSibling; next?.matches("p.note"); next = next.nextElementSibling) {
      next.hidden = next.matches(".others"); // the deck has them
    }
    gallery.classList.add("single");
    this.title = this.figure.querySelector("h3");
    this.table = this.figure.querySelector("table");
    this.caption = this.figure.querySelector("figcaption");
    this.title.setAttribute("aria-live", "polite");
    this.row = make("select", {}, ...data.Maps.map((map, i) => make("option", { value: String(i) }, map.Name)));
    this.run = make("select", {});
    this.range = make("input", { type: "range", min: "0", max: String(this.stops.length - 1), "aria-label": "row and run" });
    const label = (text, control) => make("label", {}, text + " ", control);
    const controls = make("div", { class: "tools" }, label("Row", this.row), ...(data.Maps.some((map) => map.Runs) ? [label("Run", this.run)] : []), this.range);
    this.title.after(controls);
    if (data.Note) {
      controls.after(make("p", { class: "note" }, data.Note));
    }
    this.row.addEventListener("change", () => this.go(this.stops.findIndex((stop) => stop.map === +this.row.value)));
    this.run.addEventListener("change", () => this.go(this.stops.findIndex((stop) => stop.map === +this.row.value && stop.run === +this.run.value)));
    this.range.addEventListener("input", () => this.go(+this.range.value));
    this.show(find(data.Maps, read(location.search, this.id)));
  }

  go(number) {
    keep(this.id, named(this.data.Maps, number));
    this.show(number);
  }

  show(number) {
    const stop = this.stops[number];
    const map = this.data.Maps[stop.map];
    const run = stop.run < 0 ? null : map.Runs[stop.run];
    this.row.value = String(stop.map);
    this.run.replaceChildren(
      ...[{ Seed: null }, ...(map.Runs || [])].map((one, i) =>
        make("option", { value: String(i - 1) }, one.Seed === null ? (map.Runs ? "mean of all" : "the only run") : "seed " + one.Seed),
      ),
    );
    this.run.value = String(stop.run);
    this.range.value = String(number);
    this.range.setAttribute("aria-valuetext", map.Name + (run ? ", seed " + run.Seed : ""));
    this.title.textContent = map.Title + (run ? ", seed " + run.Seed : "");
    this.fill(shares((run || map).Cells));
    const link = (text, href) => make("a", { href }, text);
    const files = [link("CSV", `tables/${map.ID}.csv`), ...(map.Files ? [" · ", link("SVG", `figures/${map.ID}.svg`), " · ", link("PDF", `figures/${map.ID}.pdf`)] : [])];
    this.caption.replaceChildren(
      this.data.Before + map.Caption + this.data.After + (run ? ` Shown is the run with seed ${run.Seed}; the files have the mean.` : "") + " ",
      make("span", { class: "files" }, ...files),
    );
  }

  // fill puts the cells of a map into the table.
  fill(lines) {
    const { Rows, Cols, RowLabel, ColLabel, Names } = this.data;
    Array.from(this.table.tBodies[0].rows).forEach((tr, i) =>
      Array.from(tr.cells)
        .slice(1)
        .forEach((td, j) => {
          const cell = lines[i]?.[j];
          td.className = cell ? "h" + cell.step : "";
          td.textContent = cell ? cell.whole : "·";
          td.title = cell ? (Names ? Names[i * Cols.length + j] : `${RowLabel} ${Rows[i]}, ${ColLabel} ${Cols[j]}`) + `: ${cell.percent} %` : "";
          if (!cell) {
            td.removeAttribute("class");
          }
        }),
    );
  }
}
