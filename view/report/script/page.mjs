// Extras only: without JavaScript everything is still on the page.
import { charts } from "./chart.mjs";
import { decks } from "./deck.mjs";
import { keep, make } from "./dom.mjs";
import { compare, csv, latex, markdown, matches, read } from "./table.mjs";
import { triangle } from "./triangle.mjs";

// facets are what rows can be filtered by, with their names.
const facets = { method: "Method", trick: "Trick", memory: "Memory", data: "Data" };

// most is how many rows a long table shows at first. To lay out hundreds of rows takes longer than to sort them.
const most = 50;

// long is how many rows a table must have to be long.
const long = 2 * most;

// Table is a table that can be sorted, filtered, narrowed and copied.
class Table {
  constructor(table) {
    this.table = table;
    this.id = table.dataset.id;
    this.body = table.tBodies[0];
    this.rows = Array.from(this.body.rows);
    // Of several lines of headings the last one has a heading for each column.
    this.heads = Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);
    this.names = this.heads.map((th) => th.textContent);
    this.keys = this.heads.map((th) => th.dataset.n || th.textContent); // in the address; names may occur twice
    this.state = read(location.search, this.id);
    this.heads.forEach((th, column) => this.sortable(th, column));
    if (this.rows.length > 1) {
      this.tools();
    }
    if (this.rows.length > long) {
      this.more = make("button", { class: "more", type: "button" });
      this.more.addEventListener("click", () => this.set("rows", this.state.rows === "all" ? "" : "all"));
      (table.closest(".scroll") || table).after(this.more);
    }
    this.apply();
  }

  // sortable makes a heading a button.
  sortable(th, column) {
    const button = make("button", { title: "sort by " + this.names[column] }, this.names[column]);
    th.textContent = "";
    th.append(button);
    button.addEventListener("click", () => {
      const down = th.getAttribute("aria-sort") === "ascending";
      this.set("sort", (down ? "-" : "") + this.keys[column]);
    });
  }

  // set changes a part of the state; "" is the part as it was at first.
  set(name, value) {
    this.state[name] = value;
    keep(this.id, this.state);
    this.apply();
  }

  hidden() {
    return (this.state.hide || "").split("|").filter((name) => name !== "");
  }

  // apply shows the table in its state.
  apply() {
    const { sort = "", rows = "", hide: _, ...filters } = this.state;
    const down = sort.startsWith("-");
    const by = this.keys.indexOf(down ? sort.slice(1) : sort);
    this.table.querySelectorAll("th[aria-sort]").forEach((th) => th.removeAttribute("aria-sort"));
    if (by >= 0) {
      this.heads[by].setAttribute("aria-sort", down ? "descending" : "ascending");
      // The rows are sorted as they stand, so that equal ones keep the order of the last time.
      const keyed = Array.from(this.body.rows, (row) => [value(row.cells[by]), row]);
      keyed.sort((a, b) => compare(a[0], b[0], down));
      this.body.append(...keyed.map((pair) => pair[1]));
    }
    // Only what changes is touched: on a page of hundreds of runs the rest takes longer than the sorting.
    const all = Object.values(filters).every((wanted) => wanted === "");
    let shown = 0;
    for (const row of Array.from(this.body.rows)) {
      const hide = !all && !matches(row.dataset, row.textContent, filters);
      if (row.hidden !== hide) {
        row.hidden = hide;
      }
      shown += hide ? 0 : 1;
      const beyond = this.more !== undefined && shown > most && rows !== "all";
      if (row.classList.contains("beyond") !== beyond) {
        row.classList.toggle("beyond", beyond);
      }
    }
    if (this.more) {
      this.more.hidden = shown <= most;
      this.more.textContent = rows === "all" ? `Show the first ${most} rows` : `Show all ${shown} rows`;
    }
    const hidden = this.hidden();
    this.keys.forEach((key, column) => {
      const hide = hidden.includes(key);
      if (this.heads[column].hidden !== hide) {
        this.heads[column].hidden = hide;
        this.rows.forEach((row) => (row.cells[column].hidden = hide));
      }
    });
    if (this.said) {
      this.said.textContent = shown < this.rows.length ? `${shown} of ${this.rows.length} rows` : "";
    }
  }

  // tools puts the filters, the columns and the copies above the table, behind one line.
  tools() {
    const box = make("div", { class: "tools" });
    for (const [facet, title] of Object.entries(facets)) {
      const values = new Set(this.rows.map((row) => row.dataset[facet]).filter((text) => text !== undefined));
      if (values.size > 1) {
        const select = make("select", {}, make("option", { value: "" }, "all"), ...Array.from(values, (text) => make("option", { value: text }, text)));
        select.value = values.has(this.state[facet]) ? this.state[facet] : "";
        select.addEventListener("change", () => this.set(facet, select.value));
        box.append(make("label", {}, title + " ", select));
      }
    }
    const words = make("input", { type: "search", size: "12", value: this.state.text || "" });
    words.addEventListener("input", () => this.set("text", words.value));
    box.append(make("label", {}, "Words ", words));
    if (!this.table.tHead.querySelector("[colspan]")) {
      box.append(this.columns());
    }
    const formats = {
      Markdown: () => markdown(this.lines((cell) => cell.textContent.trim())),
      CSV: () => csv(this.lines(value, (column) => this.keys[column])),
      LaTeX: () =>
        latex(
          this.lines((cell) => cell.textContent.trim()),
          this.visible().map((column) => this.heads[column].classList.contains("n")),
        ),
    };
    const copies = make("span", { class: "copies" }, "Copy as ");
    const done = make("span", { role: "status" });
    for (const [name, text] of Object.entries(formats)) {
      const button = make("button", { type: "button" }, name);
      button.addEventListener("click", async () => (done.textContent = (await copy(text())) ? "copied" : "not copied: the browser does not allow it"));
      copies.append(button, " ");
    }
    box.append(make("div", {}, copies, done));
    this.said = make("span", { class: "said", role: "status" });
    const open = Object.keys(this.state).some((name) => name !== "sort" && name !== "rows");
    const all = make("details", { class: "tooling", open }, make("summary", {}, "Filter, columns, copy ", this.said), box);
    const scroll = this.table.closest(".scroll") || this.table;
    scroll.before(all);
  }

  // columns are the switches of the columns.
  columns() {
    const set = make("fieldset", {}, make("legend", {}, "Columns"));
    this.names.forEach((name, column) => {
      if (column === 0) {
        return; // without it nobody knows what a row is
      }
      const input = make("input", { type: "checkbox", checked: !this.hidden().includes(this.keys[column]) });
      input.addEventListener("change", () => {
        const others = this.hidden().filter((other) => other !== this.keys[column]);
        this.set("hide", (input.checked ? others : [...others, this.keys[column]]).join("|"));
      });
      set.append(make("label", {}, input, name), " ");
    });
    return set;
  }

  visible() {
    return this.names.map((_, column) => column).filter((column) => !this.heads[column].hidden);
  }

  // lines are the cells that are shown, below their heads.
  lines(text, head = (column) => this.names[column]) {
    const columns = this.visible();
    const rows = Array.from(this.body.rows).filter((row) => !row.hidden);
    return [columns.map(head), ...rows.map((row) => columns.map((column) => text(row.cells[column])))];
  }
}

// value is what a cell is sorted by and copied as for machines.
const value = (cell) => ("v" in cell.dataset ? cell.dataset.v : cell.textContent.trim());

// copy puts a text into the clipboard and reports whether it did.
const copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { value: text });
    document.body.append(area);
    area.select();
    const ok = document.execCommand("copy");
    area.remove();
    return ok;
  }
};

// dress gives the tables and charts below an element what they can do. A page that changes calls it for each new part.
export function dress(root) {
  root.querySelectorAll("table.sort").forEach((table) => {
    if (table.tBodies[0].rows.length > 1) {
      new Table(table);
    }
  });
  root.querySelectorAll("figure.triangle").forEach(triangle);
  charts(root);
  decks(root);
}

dress(document);
