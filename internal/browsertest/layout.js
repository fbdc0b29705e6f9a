"use strict";
// Where the parts of a page are.
window.layout = (function () {
  var shown = function (e) {
    if (!e.checkVisibility({ checkVisibilityCSS: true })) { return false; }
    var r = e.getBoundingClientRect();
    return r.width > 0 && r.height > 0;
  };
  var clip = function (text) { return text.length > 60 ? text.slice(0, 60) + "…" : text; };
  // settle makes Chromium lay out also what has not been scrolled to, and in fonts if they are given: a file in base64 for each
  // weight.
  var settle = function (fonts) {
    var sheet = document.createElement("style");
    sheet.textContent = "*{content-visibility:visible!important}" + (fonts ? "*{font-family:settled!important}" : "");
    document.head.append(sheet);
    var faces = Object.keys(fonts || {}).map(function (weight) {
      var face = new FontFace("settled", "url(data:font/ttf;base64," + fonts[weight] + ")", { weight: weight });
      document.fonts.add(face);
      return face.load();
    });
    return Promise.all(faces).then(function () { return document.fonts.ready; }).then(function () { return true; });
  };
  var ranking = function () { return Array.from(document.querySelectorAll(".first .ranking svg.fig")).find(shown); };
  var tiles = function () { return Array.from(document.querySelectorAll(".first .tiles")).find(shown); };

  // parts are the elements that matter, in the order of the page, with their names.
  var parts = function () {
    var all = [], add = function (name, e) { if (e && shown(e)) { all.push({ name: name, e: e }); } };
    document.querySelectorAll(".first").forEach(function (first) {
      add("headline of " + first.id, first.querySelector("h1,h2"));
      first.querySelectorAll(".tiles>div").forEach(function (e, i) { add("figure " + (i + 1) + " of " + first.id, e); });
      add("ranked chart of " + first.id, Array.from(first.querySelectorAll(".ranking svg.fig")).find(shown));
      add("curve of " + first.id, Array.from(first.querySelectorAll("figure:not(.ranking) svg.fig,figure:not(.ranking) .multiples")).find(shown));
    });
    document.querySelectorAll("main>section:not(.first)").forEach(function (section) {
      add("heading of " + section.id, section.querySelector("h2"));
      section.querySelectorAll("table").forEach(function (table) {
        var id = table.dataset.id || (table.closest("[id]") || {}).id;
        add("table " + id, table.closest(".scroll"));
      });
    });
    return all;
  };
  // boxes are lines of a name and four rounded numbers in CSS pixels: from the left edge of the page, from the lower edge of the part before, width, and
  // height. So a part that grows is one fault, and not one of each part below.
  var boxes = function () {
    var below = 0;
    return parts().map(function (p) {
      var r = p.e.getBoundingClientRect(), top = r.top + scrollY;
      var line = [p.name].concat([r.left + scrollX, top - below, r.width, r.height].map(Math.round)).join(" ");
      below = top + r.height;
      return line;
    });
  };

  // lines is how many lines a text has.
  var lines = function (e) {
    var range = document.createRange(), tops = [];
    range.selectNodeContents(e);
    Array.from(range.getClientRects()).forEach(function (r) { if (r.width > 0 && !tops.some(function (t) { return Math.abs(t - r.top) < r.height / 2; })) { tops.push(r.top); } });
    return tops.length;
  };
  // glance is what the first screen does not show.
  var glance = function () {
    var faults = [], head = document.querySelector(".first h1,.first h2"), high = innerHeight;
    scrollTo({ top: 0, behavior: "instant" });
    if (!head || lines(head) !== 1) { faults.push("the headline “" + (head ? head.textContent : "") + "” has " + (head ? lines(head) : 0) + " lines"); }
    [["ranked chart", ranking()], ["three figures", tiles()]].forEach(function (part) {
      var r = part[1] && part[1].getBoundingClientRect();
      if (!r || r.top < 0 || r.bottom > high) { faults.push("the " + part[0] + " end" + (part[0] === "ranked chart" ? "s" : "") + " at " + (r ? Math.round(r.bottom) : "no place") + ", the first screen at " + high); }
    });
    return faults;
  };
  // overlaps are the labels of charts that lie on others. What a font has above and below its letters may.
  var overlaps = function () {
    var faults = [];
    Array.from(document.querySelectorAll("svg.fig")).filter(shown).forEach(function (svg) {
      var texts = Array.from(svg.querySelectorAll("text")).filter(shown).map(function (e) {
        var r = e.getBoundingClientRect(), dx = Math.min(1, r.width / 4), dy = r.height / 5;
        return { text: e.textContent, left: r.left + dx, right: r.right - dx, top: r.top + dy, bottom: r.bottom - dy };
      });
      texts.forEach(function (a, i) {
        texts.slice(i + 1).forEach(function (b) {
          if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) {
            faults.push("“" + clip(a.text) + "” lies on “" + clip(b.text) + "” in #" + (svg.closest("[id]:not(svg)") || {}).id);
          }
        });
      });
    });
    return faults.slice(0, 8);
  };
  return { settle: settle, boxes: boxes, glance: glance, overlaps: overlaps };
})();
