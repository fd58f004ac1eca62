"""The script of the page of a plan: search, folding, links that are copied. The page is complete without it."""

from __future__ import annotations

from typing import Final

SCRIPT: Final = """
"use strict";
(() => {
  const find = (selector, within = document) => [...within.querySelectorAll(selector)];
  const clusters = find("main > section").map((section) => ({
    section,
    item: document.querySelector(`nav a[href="#${section.id}"]`)?.closest("li"),
    head: find(":scope > h2, :scope > p", section).map((each) => each.textContent).join(" ").toLowerCase(),
    pools: find("section", section).map((part) => ({
      part,
      row: document.querySelector(`td a[href="#${part.id}"]`)?.closest("tr"),
      text: part.textContent.toLowerCase(),
    })),
  }));
  const search = document.getElementById("search");
  const found = document.getElementById("found");

  function filter() {
    const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let shown = 0;
    for (const cluster of clusters) {
      const named = words.every((word) => cluster.head.includes(word));
      let any = named;
      for (const pool of cluster.pools) {
        const fits = named || words.every((word) => pool.text.includes(word) || cluster.head.includes(word));
        pool.part.hidden = !fits;
        if (pool.row) pool.row.hidden = !fits;
        any ||= fits;
      }
      cluster.section.hidden = !any;
      if (cluster.item) cluster.item.hidden = !any;
      shown += any;
    }
    found.textContent = words.length ? `${shown} of ${clusters.length} entries` : "";
  }

  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target?.scrollIntoView();
  }

  search.addEventListener("input", filter);
  for (const [name, open] of [["fold", false], ["unfold", true]]) {
    document.getElementById(name).addEventListener("click", () => {
      for (const each of find("main details")) each.open = open;
    });
  }
  for (const link of find("a.anchor")) {
    link.addEventListener("click", () => navigator.clipboard?.writeText(link.href).catch(() => {}));
  }
  addEventListener("hashchange", reveal);
  find(".tools").forEach((each) => { each.hidden = false; });
  if (location.hash) reveal();
})();
"""
