"use strict";
// What package browsertest asks of a page. Each check returns a list of faults, in words.
window.ocl = (function () {
  var most = 8; // faults of one kind
  var clip = function (text) { return text.length > 60 ? text.slice(0, 60) + "…" : text; };
  // name says which element it is.
  var name = function (e) {
    var holder = e.closest("[id]"), text = (e.textContent || "").trim().replace(/\s+/g, " ");
    return "<" + e.tagName.toLowerCase() + (e.className && e.className.baseVal === undefined ? " class=" + e.className : "") + ">" +
      (text ? " “" + clip(text) + "”" : "") + (holder ? " in #" + holder.id : "");
  };
  var shown = function (e) {
    if (!e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) { return false; }
    var r = e.getBoundingClientRect();
    return r.width > 1 && r.height > 1;
  };
  var first = function (faults) {
    return faults.length > most ? faults.slice(0, most).concat("and " + (faults.length - most) + " more") : faults;
  };

  var structure = function () {
    var faults = [], ids = {};
    document.querySelectorAll("[id]").forEach(function (e) {
      if (ids[e.id]) { faults.push("two elements have the id " + e.id); }
      ids[e.id] = true;
    });
    document.querySelectorAll("a[href^='#']").forEach(function (a) {
      if (!document.getElementById(decodeURIComponent(a.hash.slice(1)))) { faults.push("a link leads to no " + a.hash); }
    });
    if (document.querySelectorAll("h1").length !== 1) { faults.push("there is not one h1"); }
    if (!document.title || !document.documentElement.lang) { faults.push("the page has no title or no language"); }
    document.querySelectorAll("figure").forEach(function (f) {
      var title = f.querySelector("h2,h3,h4"), caption = f.querySelector("figcaption");
      if (!title || !title.textContent.trim()) { faults.push(name(f) + " has no title"); }
      if (!caption || !caption.textContent.trim()) { faults.push(name(f) + " has no description"); }
    });
    document.querySelectorAll("svg").forEach(function (s) {
      if (s.closest("[aria-hidden=true]")) { return; }
      var words = (s.getAttribute("aria-labelledby") || "").split(/\s+/).map(function (id) { return document.getElementById(id); });
      var said = words.map(function (e) { return e ? e.textContent.trim() : ""; });
      if (s.getAttribute("role") !== "img") { faults.push(name(s) + " has not the role img"); }
      if (said.length < 2 || said.some(function (text) { return !text; })) {
        if (!s.querySelector("title") || !s.querySelector("desc") || !s.querySelector("title").textContent.trim() || !s.querySelector("desc").textContent.trim()) {
          faults.push(name(s) + " has no title and description");
        }
      }
    });
    document.querySelectorAll("img").forEach(function (i) { if (!i.alt) { faults.push(name(i) + " has no alt"); } });
    document.querySelectorAll("button,a[href],input,summary").forEach(function (e) {
      var label = e.closest("label") || e;
      if (!(label.textContent || "").trim() && !e.getAttribute("aria-label")) { faults.push(name(e) + " has no name"); }
    });
    return first(faults);
  };

  // held says whether an element lies in one that scrolls or clips by itself.
  var held = function (e) {
    for (var p = e.parentElement; p && p !== document.body; p = p.parentElement) {
      if (getComputedStyle(p).overflowX !== "visible" && p.tagName.toLowerCase() !== "svg") { return true; }
    }
    return false;
  };
  var overflow = function () {
    var faults = [], wide = window.innerWidth, root = document.documentElement;
    if (root.scrollWidth > wide) { faults.push("the page is " + root.scrollWidth + " pixels wide, in a window of " + wide); }
    document.querySelectorAll("body *").forEach(function (e) {
      if (!shown(e) || held(e)) { return; }
      var r = e.getBoundingClientRect();
      if (r.right > wide + 0.5 || r.left < -0.5) { faults.push(name(e) + " goes from " + Math.round(r.left) + " to " + Math.round(r.right) + " pixels"); }
    });
    return first(faults);
  };

  // Colours as Chromium computes them: rgb(), rgba(), or color(srgb …) with fractions.
  var colour = function (text) {
    var n = (text.match(/-?[\d.]+(e-?\d+)?/g) || []).map(Number);
    if (n.length < 3) { return [0, 0, 0, 0]; }
    var scale = text.indexOf("color(srgb") === 0 ? 255 : 1;
    return [n[0] * scale, n[1] * scale, n[2] * scale, n.length > 3 ? n[3] : 1];
  };
  var over = function (a, b) { return [0, 1, 2].map(function (i) { return a[i] * a[3] + b[i] * (1 - a[3]); }).concat(1); };
  var luminance = function (c) {
    var v = c.slice(0, 3).map(function (x) { x /= 255; return x <= 0.04045 ? x / 12.92 : Math.pow((x + 0.055) / 1.055, 2.4); });
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
  };
  // shapes are the filled shapes of a drawing and where they are, in the order in which they are painted.
  var drawn = new Map();
  var shapes = function (svg) {
    if (!drawn.has(svg)) {
      drawn.set(svg, Array.from(svg.querySelectorAll("rect,path,polygon,circle")).map(function (e) {
        var style = getComputedStyle(e), fill = colour(style.fill);
        fill[3] *= parseFloat(style.fillOpacity) * parseFloat(style.opacity);
        return { element: e, fill: style.fill === "none" ? [0, 0, 0, 0] : fill, box: e.getBoundingClientRect() };
      }).filter(function (s) { return s.fill[3] > 0; }));
    }
    return drawn.get(svg);
  };
  // ground is the colour behind the text of an element.
  var ground = function (e) {
    var layers = [], svg = e.closest("svg");
    for (var p = e; p; p = p.parentElement) { layers.push(colour(getComputedStyle(p).backgroundColor)); }
    layers.reverse();
    if (svg) {
      var r = e.getBoundingClientRect(), x = r.left + r.width / 2, y = r.top + r.height / 2;
      shapes(svg).forEach(function (s) {
        var before = s.element.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING;
        if (before && s.box.left <= x && x <= s.box.right && s.box.top <= y && y <= s.box.bottom) { layers.push(s.fill); }
      });
    }
    return layers.reduce(function (below, c) { return over(c, below); }, [255, 255, 255, 1]);
  };
  var contrast = function () {
    var faults = [];
    document.querySelectorAll("body *").forEach(function (e) {
      var own = Array.from(e.childNodes).some(function (n) { return n.nodeType === 3 && n.data.trim(); });
      if (!own || !shown(e) || /^(script|style|title|desc|option)$/i.test(e.tagName)) { return; }
      var style = getComputedStyle(e), size = parseFloat(style.fontSize);
      if (size < 1) { return; }
      var back = ground(e), ink = over(colour(e.closest("svg") ? style.fill : style.color), back);
      var a = luminance(ink), b = luminance(back), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      var large = size >= 24 || size >= 18.66 && parseInt(style.fontWeight, 10) >= 700;
      if (ratio < (large ? 3 : 4.5)) { faults.push(name(e) + " has a contrast of " + ratio.toFixed(2) + " : 1"); }
    });
    return first(faults);
  };

  // tables are those that have something to sort.
  var tables = function () { return Array.from(document.querySelectorAll("table.sort")).filter(function (t) { return t.tBodies[0].rows.length > 1; }); };
  // heads are the cells of the last line of headings, which has one for each column.
  var heads = function (table) { return table.tHead.rows[table.tHead.rows.length - 1].cells; };
  var button = function (t, c) { return heads(tables()[t])[c].querySelector("button"); };
  var columns = function () {
    var all = [];
    tables().forEach(function (table, t) {
      Array.from(heads(table)).forEach(function (th, c) {
        all.push({ Table: t, Column: c, Name: "“" + th.textContent.trim() + "” of table " + (t + 1), X: 0, Y: 0 });
      });
    });
    return all;
  };
  // shuffle puts the rows of a table into an order that is that of no column, and forgets what it was sorted by.
  var shuffle = function (t) {
    var table = tables()[t], body = table.tBodies[0], rows = Array.from(body.rows);
    rows.forEach(function (_, i) { body.append(rows[i * 7 % rows.length] || rows[i]); });
    rows.forEach(function (tr) { body.append(tr); });
    table.querySelectorAll("th").forEach(function (th) { th.removeAttribute("aria-sort"); });
  };
  // reach scrolls to a button and says where it is; nowhere if something else lies over it.
  var reach = function (t, c) {
    var b = button(t, c);
    if (!b) { throw new Error("column " + c + " of table " + t + " has no button"); }
    b.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    var r = b.getBoundingClientRect(), x = r.left + r.width / 2, y = r.top + r.height / 2;
    var hit = document.elementFromPoint(x, y);
    if (hit !== b && !(hit && b.contains(hit))) { throw new Error("the middle of the button “" + b.textContent + "” is covered by " + (hit ? name(hit) : "nothing")); }
    return { Table: t, Column: c, Name: b.textContent, X: x, Y: y };
  };
  var stops = function () {
    return Array.from(document.querySelectorAll("a[href],button,input,select,summary,[tabindex]")).filter(function (e) {
      return e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ checkVisibilityCSS: true });
    });
  };
  var stopNames = function () { return stops().map(name); };
  // at is the number of the stop that has the focus, and whether one sees that.
  var at = function () {
    var e = document.activeElement, style = getComputedStyle(e);
    return { Stop: stops().indexOf(e), Seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 };
  };
  // mouseOnly are the elements with a pointer that invites to click, which the tabulator does not come to.
  var mouseOnly = function () {
    var all = stops(), faults = [];
    document.querySelectorAll("body *").forEach(function (e) {
      if (getComputedStyle(e).cursor !== "pointer" || getComputedStyle(e.parentElement).cursor === "pointer" || !shown(e)) { return; }
      var label = e.closest("label");
      if (!all.some(function (s) { return s.contains(e) || label && label.contains(s); })) { faults.push(name(e) + " can be clicked, but has no focus"); }
    });
    return first(faults);
  };
  // plain is what cannot be read with scripts off.
  var plain = function () {
    var faults = [], folded = function (e) { return e.parentElement.closest("details:not([open])") !== null; };
    if (document.querySelector("button,.look,.tooling")) { faults.push("scripts are on"); }
    document.querySelectorAll("table").forEach(function (table) {
      if (folded(table)) { return; }
      var rows = Array.from(table.rows), seen = rows.filter(shown).length;
      if (rows.length < 2 || seen < rows.length) { faults.push(seen + " of " + rows.length + " rows are shown of " + name(table)); }
    });
    document.querySelectorAll("figure").forEach(function (figure) {
      if (folded(figure)) { return; }
      var parts = Array.from(figure.querySelectorAll("svg.fig,img,table")).filter(shown);
      var drawn = function (part) { return part.localName !== "svg" || part.querySelector("text") && part.querySelector("path"); };
      if (parts.length === 0 || !parts.every(drawn)) { faults.push(name(figure) + " shows nothing"); }
    });
    if (document.querySelectorAll("table").length === 0) { faults.push("the page has no table"); }
    return first(faults);
  };
  var frames = function () { return new Promise(function (done) { requestAnimationFrame(function () { requestAnimationFrame(done); }); }); };
  // opened is when the page had loaded and was first painted, in milliseconds.
  var opened = function () {
    return frames().then(function () {
      var paint = performance.getEntriesByName("first-contentful-paint")[0];
      return Math.max(performance.getEntriesByType("navigation")[0].loadEventEnd, paint ? paint.startTime : 0);
    });
  };
  // sorting is how long it takes to sort the longest table by its last column, in milliseconds.
  var sorting = function () {
    var longest = 0, all = tables();
    all.forEach(function (table, t) { if (table.tBodies[0].rows.length > all[longest].tBodies[0].rows.length) { longest = t; } });
    all[longest].scrollIntoView({ behavior: "instant" });
    return frames().then(function () {
      var start = performance.now();
      button(longest, heads(all[longest]).length - 1).click();
      return frames().then(function () { return performance.now() - start; });
    });
  };
  // serious are the faults that axe-core finds, but for minor ones. All of the page is drawn meanwhile: where parts of it get their heights as axe-core
  // scrolls to them, it takes things to lie on each other that do not.
  var serious = function () {
    var whole = new CSSStyleSheet();
    whole.replaceSync("*{content-visibility:visible!important}");
    document.adoptedStyleSheets = [whole];
    return window.axe.run(document, { resultTypes: ["violations"] }).then(function (result) {
      document.adoptedStyleSheets = [];
      var faults = [];
      result.violations.forEach(function (v) {
        if (v.impact === "minor") { return; }
        v.nodes.forEach(function (n) { faults.push(v.id + " (" + v.impact + "): " + clip(n.html) + ": " + n.failureSummary.replace(/\s+/g, " ")); });
      });
      return first(faults);
    });
  };
  // triangles holds that a cell says itself with the focus and below the mouse, and that the arrow keys lead on.
  var triangles = function () {
    var faults = [];
    document.querySelectorAll("figure.triangle").forEach(function (figure) {
      var rows = figure.querySelector("tbody").rows, said = figure.querySelector("output");
      var named = function (i) { return rows[i].cells[0].querySelector("span").textContent; };
      var says = function (what, i) {
        if (said.textContent.indexOf(named(i) + " against " + named(0) + ": ") !== 0) { faults.push(what + ", " + figure.id + " says “" + said.textContent + "”"); }
      };
      rows[1].cells[1].focus();
      says("with the focus on the first cell", 1);
      if (rows.length > 2) {
        rows[1].cells[1].dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true, cancelable: true }));
        says("after the key ArrowDown", 2);
      }
      rows[rows.length - 1].cells[1].dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
      says("below the mouse", rows.length - 1);
      rows[1].cells[1].click();
    });
    return first(faults);
  };
  var before = function (t, c) {
    var all = stops(), at = all.indexOf(button(t, c));
    if (at < 1) { throw new Error("the button of column " + c + " of table " + t + " is no stop of the tabulator"); }
    all[at - 1].focus({ preventScroll: true });
  };
  var focused = function (t, c) {
    var b = button(t, c);
    return document.activeElement === b && shown(b) && getComputedStyle(b).outlineStyle !== "none" && parseFloat(getComputedStyle(b).outlineWidth) > 0;
  };
  var sorted = function (t, c, order) {
    var faults = [], table = tables()[t], th = heads(table)[c];
    if (th.getAttribute("aria-sort") !== order) { faults.push("aria-sort is " + th.getAttribute("aria-sort") + ", want " + order); }
    if (table.querySelectorAll("th[aria-sort]").length !== 1) { faults.push("not one column says that it is sorted"); }
    var values = Array.from(table.tBodies[0].rows, function (tr) { var td = tr.cells[c]; return td.dataset.v === undefined ? td.textContent : td.dataset.v; });
    var known = values.filter(function (v) { return v !== ""; });
    if (values.slice(known.length).some(function (v) { return v !== ""; })) { faults.push("a missing value is not at the end"); }
    var numbers = known.every(function (v) { return v.trim() !== "" && isFinite(v); });
    for (var i = 1; i < known.length; i++) {
      var d = numbers ? known[i] - known[i - 1] : known[i].localeCompare(known[i - 1]);
      if (order === "descending" ? d > 0 : d < 0) { faults.push("“" + clip(known[i]) + "” stands behind “" + clip(known[i - 1]) + "”"); }
    }
    return first(faults);
  };
  // filter tries every filter and every switch of a column of each table, and holds that the right rows and columns are shown and that the
  // address says so.
  var toolings = function () { return Array.from(document.querySelectorAll("details.tooling")); };
  var filter = function () {
    var faults = [];
    toolings().forEach(function (box, t) {
      var table = box.nextElementSibling.querySelector("table"), rows = Array.from(table.tBodies[0].rows), id = table.dataset.id;
      var visible = function () { return rows.filter(function (tr) { return !tr.hidden; }).length; };
      var all = visible(), more = box.nextElementSibling.nextElementSibling;
      if (more && more.matches("button.more")) { // a long table shows its first rows
        var few = rows.filter(shown).length;
        more.click();
        if (few >= all || rows.filter(shown).length !== all) { faults.push("“" + clip(more.textContent) + "” of " + id + " shows " + rows.filter(shown).length + " rows after " + few + " of " + all); }
        more.click();
        if (rows.filter(shown).length !== few) { faults.push("a click more does not show the first " + few + " rows of " + id + " alone"); }
      }
      box.open = true;
      if (all !== rows.length) { faults.push(all + " of " + rows.length + " rows of " + id + " are shown at first"); }
      box.querySelectorAll("select").forEach(function (select) {
        var wanted = select.options[select.options.length - 1].value;
        select.value = wanted;
        select.dispatchEvent(new Event("change"));
        var left = visible();
        if (left < 1 || left >= all) { faults.push("filter " + wanted + " of " + id + " shows " + left + " of " + all + " rows"); }
        if (location.search.indexOf(id + ".") < 0) { faults.push("the address does not say the filter " + wanted + " of " + id); }
        select.value = "";
        select.dispatchEvent(new Event("change"));
        if (visible() !== all) { faults.push("without the filter " + wanted + " not all rows of " + id + " are shown"); }
      });
      box.querySelectorAll("fieldset input").forEach(function (input, k) {
        var head = heads(table)[k + 1];
        input.click();
        if (shown(head) || shown(rows[0].cells[k + 1])) { faults.push("column " + (k + 1) + " of " + id + " cannot be hidden"); }
        input.click();
        if (!head.checkVisibility()) { faults.push("column " + (k + 1) + " of " + id + " stays hidden"); }
      });
      box.open = false;
    });
    if (location.search !== "") { faults.push("the address says " + location.search + " where nothing is chosen"); }
    return first(faults);
  };
  // choose filters the first table that can be filtered and says what it shows then, "" if there is no such table.
  var choose = function () {
    var select = document.querySelector("details.tooling select");
    if (!select) { return ""; }
    select.value = select.options[1].value;
    select.dispatchEvent(new Event("change"));
    return chosen();
  };
  var chosen = function () {
    var select = document.querySelector("details.tooling select"), table = select.closest("details").nextElementSibling.querySelector("table");
    return select.value + ": " + Array.from(table.tBodies[0].rows).filter(function (tr) { return !tr.hidden; }).length;
  };
  // look looks into each chart by keyboard: a value must be said within the window, and Escape must close it.
  var look = function () {
    var faults = [];
    Array.from(document.querySelectorAll(".look")).filter(shown).forEach(function (box) {
      var press = function (key) { box.dispatchEvent(new KeyboardEvent("keydown", { key: key, bubbles: true, cancelable: true })); };
      var said = box.querySelector("[role=status]");
      box.scrollIntoView({ block: "center", behavior: "instant" });
      box.focus();
      press("ArrowRight");
      if (!/\d/.test(said.textContent)) { faults.push(name(box) + " says “" + said.textContent + "” where it is looked into"); return; }
      var rings = Array.from(box.querySelectorAll(".cursor circle")).map(function (c) { return getComputedStyle(c).stroke; });
      if (new Set(rings).size !== 2) { faults.push("the ring of " + name(box) + " has the colours " + rings + ", and cannot be seen on every ground"); }
      var r = said.getBoundingClientRect();
      if (r.left < 0 || r.right > window.innerWidth) { faults.push("“" + said.textContent + "” goes from " + r.left + " to " + r.right + " pixels"); }
      press("Escape");
      if (said.textContent !== "") { faults.push("Escape leaves “" + said.textContent + "”"); }
    });
    return first(faults);
  };
  // deck moves the slider of each deck of heat maps to its end and back: title, cells and address must follow.
  var deck = function () {
    var faults = [];
    document.querySelectorAll(".deck input[type=range]").forEach(function (range) {
      var figure = range.closest("figure"), title = figure.querySelector("h3"), at = title.textContent;
      var to = function (value) { range.value = value; range.dispatchEvent(new Event("input")); };
      if (Array.from(figure.parentElement.querySelectorAll("figure")).filter(function (f) { return f.checkVisibility(); }).length > 1) { faults.push(name(figure) + " is not shown alone"); }
      to(range.max);
      if (title.textContent === at) { faults.push("the slider of " + figure.id + " changes nothing"); }
      if (!/\d/.test(figure.querySelector("tbody td").parentElement.parentElement.textContent)) { faults.push("at the end of the slider " + figure.id + " is empty"); }
      if (location.search.indexOf(figure.id + ".row") < 0) { faults.push("the address does not say where the slider of " + figure.id + " is"); }
      to(0);
      if (title.textContent !== at) { faults.push("the slider of " + figure.id + " does not come back"); }
    });
    if (location.search !== "") { faults.push("the address says " + location.search + " where all sliders are at their start"); }
    return first(faults);
  };
  return { deck: deck, look: look, stopNames: stopNames, at: at, mouseOnly: mouseOnly, plain: plain, opened: opened, sorting: sorting, serious: serious, triangles: triangles, filter: filter, choose: choose, chosen: chosen, structure: structure, overflow: overflow, contrast: contrast, columns: columns, shuffle: shuffle, reach: reach, before: before, focused: focused, sorted: sorted };
})();
