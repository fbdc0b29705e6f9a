"use strict";
// Extras only: without JavaScript everything is still on the page.
document.querySelectorAll("table.sort").forEach(function (table) {
  var body = table.tBodies[0];
  if (body.rows.length < 2) { return; }
  table.classList.add("sorts"); // a narrow screen then shows the head as a list of buttons
  // Of several lines of headings the last one has a heading for each column.
  Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells).forEach(function (th, k) {
    var button = document.createElement("button");
    button.textContent = th.textContent;
    button.title = "sort by " + th.textContent;
    th.textContent = "";
    th.append(button);
    button.addEventListener("click", function () {
      var down = th.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("th").forEach(function (o) { o.removeAttribute("aria-sort"); });
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      var value = function (tr) { var cell = tr.cells[k]; return "v" in cell.dataset ? cell.dataset.v : cell.textContent; };
      Array.from(body.rows).sort(function (a, b) {
        var x = value(a), y = value(b), c;
        if (x === "" || y === "") { return (x === "") - (y === ""); }
        c = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
        return down ? -c : c;
      }).forEach(function (tr) { body.append(tr); });
    });
  });
});
// Hide a method's line in the line charts.
document.querySelectorAll("figure").forEach(function (figure) {
  var lines = figure.querySelectorAll("g[data-s]");
  var names = Array.from(new Set(Array.from(lines, function (e) { return e.dataset.s; })));
  if (names.length < 2) { return; }
  var box = function (name) {
    var label = document.createElement("label"), input = document.createElement("input");
    input.type = "checkbox";
    input.checked = true;
    input.addEventListener("change", function () {
      lines.forEach(function (e) { if (e.dataset.s === name) { e.classList.toggle("hide", !input.checked); } });
    });
    label.append(input);
    return label;
  };
  figure.querySelectorAll(".toggles").forEach(function (div) {
    names.forEach(function (name) { var label = box(name); label.append(name); div.append(label); });
  });
  figure.querySelectorAll(".legend li").forEach(function (li) {
    var label = box(li.dataset.s);
    label.append.apply(label, Array.from(li.childNodes));
    li.append(label);
  });
});
