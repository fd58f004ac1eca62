"""The script of the page of the fleet: rows of pools, filter, order. It makes elements and texts, never markup."""

from __future__ import annotations

from typing import Final

SCRIPT: Final = r"""
"use strict";
(() => {
  const FIRST = 100, MORE = 500, CLUSTERS = 25;
  const byId = (id) => document.getElementById(id);
  const {columns, texts, rows} = JSON.parse(byId("data").textContent);
  const collator = new Intl.Collator("en", {numeric: true});
  const keys = new Map(columns.map((column, at) => [column.key, at]));

  // A cell is the number of a text, or [text, order, share, kind, filter].
  const part = (cell, at) => cell === null ? null : Array.isArray(cell) ? cell[at] ?? null : at ? null : cell;
  const text = (number) => number === null ? "" : texts[number];
  const pools = rows.map(([cluster, cells, details]) => ({cluster, cells, details, words: null}));
  const words = (pool) => pool.words ??=
    [...pool.cells.map((cell) => text(part(cell, 0))), ...pool.details.map(text)].join("\n").toLowerCase();
  const value = (cell) => text(part(cell, 4) ?? part(cell, 0)).toLowerCase();

  function element(name, properties = {}, ...inside) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...inside);
    return made;
  }

  // --- rows ---

  const SVG = "http://www.w3.org/2000/svg";
  function shape(name, attributes, ...inside) {
    const made = document.createElementNS(SVG, name);
    for (const [key, each] of Object.entries(attributes)) made.setAttribute(key, each);
    made.append(...inside);
    return made;
  }
  function bar(share, kind) {
    return shape("svg", {class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true"},
      shape("rect", {class: "track", width: 100, height: 8}),
      shape("rect", {class: `fill ${kind}`, width: (Math.min(share, 1) * 100).toFixed(2), height: 8}));
  }

  function shownCell(pool, cell, key) {
    const content = text(part(cell, 0)), share = part(cell, 2), kind = text(part(cell, 3));
    if (key === "pool") {
      const button = element("button", {type: "button", className: "pool", textContent: content});
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => toggle(pool, button));
      return element("td", {}, button);
    }
    if (key === "cluster") {
      const link = element("a", {textContent: content, href: `#q=${encodeURIComponent(`cluster=${quoted(content)}`)}`});
      return element("td", {}, link);
    }
    if (share !== null) return element("td", {}, element("span", {className: "size"}, bar(share, kind), content));
    return element("td", {className: key === "state" ? "" : kind},
      key === "state" ? element("span", {className: `state ${kind}`, textContent: content}) : content);
  }

  function toggle(pool, button) {
    const row = button.closest("tr"), open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) { row.nextElementSibling.remove(); return; }
    const list = element("ul", {}, ...pool.details.map((each) => element("li", {textContent: text(each)})));
    row.after(element("tr", {className: "more"}, element("td", {colSpan: columns.length}, list)));
  }

  const row = (pool) => element("tr", {}, ...pool.cells.map((cell, at) => shownCell(pool, cell, columns[at].key)));

  // --- filter ---

  const quoted = (name) => name.includes(" ") ? `"${name}"` : name;
  function terms(query) {
    return [...query.toLowerCase().matchAll(/([a-z]+)=(?:"([^"]*)"|(\S+))|(\S+)/g)].map((found) => {
      const at = keys.get(found[1]), wanted = found[2] ?? found[3];
      return at === undefined ? (pool) => words(pool).includes(found[0]) : (pool) => value(pool.cells[at]) === wanted;
    });
  }

  // --- order ---

  function compared(one, other) {
    if (typeof one === "number" && typeof other === "number") return one - other;
    return collator.compare(String(one), String(other));
  }
  function ordered(list, order, down) {
    const present = list.filter((each) => order(each) !== null), absent = list.filter((each) => order(each) === null);
    present.sort((one, other) => compared(order(one), order(other)) * (down ? -1 : 1));
    return [...present, ...absent];
  }
  function sortable(head, sort) {
    const button = element("button", {type: "button", textContent: head.textContent});
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const each of head.parentElement.children) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(down);
    });
  }

  // --- the two tables ---

  const body = element("tbody"), heads = element("tr");
  const table = element("table", {}, element("thead", {}, heads), body);
  let inOrder = pools, shown = pools, count = 0;
  columns.forEach((column, at) => {
    const head = element("th", {scope: "col", textContent: column.title});
    heads.append(head);
    sortable(head, (down) => {
      const order = ({cells}) => cells[at] === null ? null : part(cells[at], 1) ?? text(part(cells[at], 0));
      inOrder = ordered(pools, order, down);
      filter();
    });
  });

  function grow(number) {
    const before = count;
    count = Math.min(shown.length, count + number);
    body.append(...shown.slice(before, count).map(row));
    const rest = shown.length - count;
    byId("more").hidden = !rest;
    byId("some").textContent = `Show ${Math.min(MORE, rest)} more`;
    byId("all").hidden = rest <= MORE;
  }

  const clusterTable = byId("cluster-table"), clusters = [...clusterTable.tBodies[0].rows];
  [...clusterTable.tHead.rows[0].cells].forEach((head, at) => sortable(head, (down) => {
    const order = ({cells}) => {
      const {textContent, dataset: {sort}} = cells[at];
      return sort === undefined ? textContent : Number(sort);
    };
    clusterTable.tBodies[0].append(...ordered(clusters, order, down));
    showClusters();
  }));

  const every = new Set(clusters.map((each) => Number(each.dataset.cluster)));
  let left = every, most = CLUSTERS;
  function showClusters() {
    let number = 0;
    for (const each of clusterTable.tBodies[0].rows) {
      each.hidden = !left.has(Number(each.dataset.cluster)) || ++number > most;
    }
    byId("all-clusters").parentElement.hidden = left.size <= most;
    byId("all-clusters").textContent = `Show all ${left.size} clusters`;
  }
  byId("all-clusters").addEventListener("click", () => { most = Infinity; showClusters(); });

  const search = byId("search"), many = (number) => number.toLocaleString("en");
  function filter() {
    const wanted = terms(search.value);
    shown = wanted.length ? inOrder.filter((pool) => wanted.every((fits) => fits(pool))) : inOrder;
    count = 0;
    body.replaceChildren();
    grow(FIRST);
    left = wanted.length ? new Set(shown.map((pool) => pool.cluster)) : every;
    showClusters();
    const counted = (some, all, noun) => `${wanted.length ? `${many(some)} of ` : ""}${many(all)} ${noun}`;
    byId("found").textContent =
      `${counted(shown.length, pools.length, "pools")}, ${counted(left.size, clusters.length, "clusters")}`;
  }
  function fromAddress() {
    if (!location.hash.startsWith("#q=")) return;
    search.value = decodeURIComponent(location.hash.slice(3));
    filter();
  }

  search.addEventListener("input", () => {
    const page = location.href.split("#")[0];
    history.replaceState(null, "", search.value ? `#q=${encodeURIComponent(search.value)}` : page);
    filter();
  });
  byId("clear").addEventListener("click", () => {
    search.value = "";
    search.dispatchEvent(new Event("input"));
    search.focus();
  });
  byId("some").addEventListener("click", () => grow(MORE));
  byId("all").addEventListener("click", () => grow(Infinity));
  addEventListener("hashchange", () => {
    fromAddress();
    if (location.hash.startsWith("#q=")) byId("pools").scrollIntoView();
  });
  for (const id of ["tools", "pool-table"]) byId(id).hidden = false;
  byId("pool-table").append(table);
  filter();
  fromAddress();
})();
"""
