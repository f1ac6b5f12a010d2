// Images that open large: click one, or press Enter on it. The buttons zoom; Escape closes.
"use strict";

function enlarge(image) {
  const dialog = document.createElement("dialog");
  const copy = image.cloneNode();
  const frame = document.createElement("div");
  const bar = document.createElement("div");
  let width = 100; // % of the frame
  const zoom = (factor) => {
    width = Math.min(800, Math.max(100, width * factor));
    copy.style.width = `${width}%`;
  };
  const tools = [["+", "zoom in", () => zoom(1.5)], ["−", "zoom out", () => zoom(1 / 1.5)], ["✕", "close", () => dialog.close()]];
  for (const [sign, what, act] of tools) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = sign;
    button.setAttribute("aria-label", what);
    button.addEventListener("click", act);
    bar.append(button);
  }
  dialog.className = "large";
  frame.className = "frame";
  bar.className = "tools";
  frame.append(copy);
  dialog.append(bar, frame);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

for (const image of document.querySelectorAll("article img:not(.still)")) {
  image.tabIndex = 0;
  image.title = "click to enlarge";
  image.addEventListener("click", () => enlarge(image));
  image.addEventListener("keydown", (event) => {
    if (event.key === "Enter") enlarge(image);
  });
}
