// Tables that sort: a click on the title of a column sorts its rows. TOTAL, and a row that says how many are left out, stay last.
"use strict";

// The text of a cell without the marks of footnotes.
function ownText(cell) {
  return [...cell.childNodes].filter((node) => node.nodeName !== "SUP").map((node) => node.textContent).join("").trim();
}

function sortKey(cell, isNumber) {
  const text = cell.dataset.value ?? ownText(cell);
  if (!isNumber) return text;
  const number = Number.parseFloat(text.replace(/,/g, "").replace("−", "-"));
  return Number.isNaN(number) ? "" : number;
}

// Columns with data-kind can be sorted, and every column of a table whose columns have none.
function sortable(table) {
  if (!table.tHead || !table.tBodies.length) return; // a table without rows
  const rows = [...table.tBodies[0].rows];
  const last = rows.filter((row) => ownText(row.cells[0]) === "TOTAL" || row.cells[0].colSpan > 1);
  const others = rows.filter((row) => !last.includes(row));
  const heads = [...table.tHead.rows[0].cells];
  if (others.length < 2 || others.some((row) => row.cells.length !== heads.length)) return;

  function sortBy(head, column, isNumber) {
    const isRising = head.getAttribute("aria-sort") === "descending" || (!head.ariaSort && !isNumber);
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", isRising ? "ascending" : "descending");
    const keyed = others.map((row) => [sortKey(row.cells[column], isNumber), row]);
    keyed.sort(([one], [other]) => {
      if (one === other) return 0;
      if (one === "" || other === "") return one === "" ? 1 : -1; // unknown values are last in either order
      return (one < other ? -1 : 1) * (isRising ? 1 : -1);
    });
    table.tBodies[0].append(...keyed.map(([, row]) => row), ...last);
  }

  const isChosen = heads.some((head) => head.dataset.kind);
  heads.forEach((head, column) => {
    if (!ownText(head) || (isChosen && !head.dataset.kind)) return;
    const isNumber = (head.dataset.kind ?? (head.classList.contains("figure") ? "number" : "text")) === "number";
    const button = document.createElement("button");
    button.type = "button";
    button.append(...[...head.childNodes].filter((node) => node.nodeName !== "SUP"));
    button.addEventListener("click", () => sortBy(head, column, isNumber));
    head.prepend(button);
  });
}

for (const table of document.querySelectorAll("article table, table.runs")) sortable(table);
