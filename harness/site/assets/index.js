// The list of runs: filters, and the choice of two runs to show side by side. tables.js sorts it.
"use strict";

const table = document.getElementById("runs");
const rows = [...table.tBodies[0].rows];
const form = document.getElementById("filters");

function filter() {
  const { plan, state, users, text } = form.elements;
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of rows) {
    const content = row.textContent.toLowerCase();
    const isShown = (!plan.value || row.dataset.plan === plan.value)
      && (!state.value || row.dataset.state === state.value)
      && (!users.value || row.dataset.users === users.value)
      && words.every((word) => content.includes(word));
    row.hidden = !isShown;
    count += isShown ? 1 : 0;
  }
  document.getElementById("shown").textContent = `${count} of ${rows.length} shown`;
}

let chosen = [];
const choice = document.getElementById("choice");

function choose(box) {
  chosen = chosen.filter((id) => id !== box.value);
  if (box.checked) chosen = [...chosen, box.value].slice(-2);
  for (const other of table.querySelectorAll(".choose input")) other.checked = chosen.includes(other.value);
  const inTime = rows.map((row) => row.querySelector(".choose input:checked")).filter(Boolean)
    .sort((one, other) => (one.dataset.started < other.dataset.started ? -1 : 1)).map((other) => other.value);
  choice.hidden = chosen.length === 0;
  choice.querySelector("span").textContent = chosen.length === 1 ? `${chosen[0]} and …?` : inTime.join(" and ");
  const link = choice.querySelector("a");
  link.hidden = chosen.length < 2;
  link.href = `compare.html#${inTime.map(encodeURIComponent).join("&")}`;
}

for (const cell of table.querySelectorAll(".choose")) cell.hidden = false;
for (const box of table.querySelectorAll(".choose input")) box.addEventListener("change", () => choose(box));
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", (event) => {
  event.preventDefault(); // the browser empties the fields after this listener, too late for the filter
  for (const field of form.elements) if (field.name) field.value = "";
  filter();
});
addEventListener("pageshow", filter); // a browser that goes back fills the fields in again
