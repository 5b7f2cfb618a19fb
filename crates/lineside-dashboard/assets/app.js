// What all pages do: keys, the filter, and the content that is asked for again while the page is open and seen.

const BASE = "/dashboard";
const main = document.getElementById("main");
const live = document.getElementById("live");

export function say(is_on, text) {
  live.className = `live ${is_on ? "on" : "off"}`;
  live.textContent = text;
}

// Nobody's typing, choice or reading is taken away: the content waits while something in it is in use.
function isInUse() {
  const at = document.activeElement;
  const isField = at && main.contains(at) && at.matches("input, textarea, select, button");
  return isField || !getSelection().isCollapsed && main.contains(getSelection().anchorNode);
}

const keyOf = (element) => element.dataset.key;
let last = "";

// The canvases stay, what is folded stays folded, the focus stays where it is, and lists stay where they were scrolled to.
function put(text) {
  const made = document.createElement("template");
  made.innerHTML = text;
  const opened = new Map([...main.querySelectorAll("details[data-key]")].map((one) => [keyOf(one), one.open]));
  for (const one of made.content.querySelectorAll("details[data-key]")) {
    if (opened.has(keyOf(one))) one.open = opened.get(keyOf(one));
  }
  const scrolled = [...main.querySelectorAll("aside, .scroll, section")].map((one) => [one.scrollTop, one.scrollLeft]);
  const href = document.activeElement?.getAttribute?.("href");
  const isWithin = main.contains(document.activeElement);
  for (const canvas of main.querySelectorAll("canvas")) {
    made.content.getElementById(canvas.id)?.replaceWith(canvas);
  }
  const tip = main.querySelector("#tip");
  if (tip) made.content.getElementById("tip")?.replaceWith(tip);
  main.replaceChildren(made.content);
  [...main.querySelectorAll("aside, .scroll, section")].forEach((one, at) => {
    if (scrolled[at]) [one.scrollTop, one.scrollLeft] = scrolled[at];
  });
  if (isWithin && href) main.querySelector(`[href="${CSS.escape(href)}"]`)?.focus({ preventScroll: true });
  mark();
  document.dispatchEvent(new Event("put"));
}

async function again() {
  if (document.hidden || isInUse()) return;
  try {
    const answer = await fetch(location.href, { headers: { "x-part": "1" } });
    if (answer.status === 401) {
      say(false, "signed out");
      return;
    }
    if (!answer.ok) return;
    const text = await answer.text();
    if (!isInUse() && text !== last) {
      last = text;
      put(text);
    }
    say(true, "live");
  } catch {
    say(false, "no daemon");
  }
}

const every = Number(main.dataset.every);
if (every) {
  say(true, "live");
  const turn = async () => {
    await again();
    setTimeout(turn, every);
  };
  setTimeout(turn, every);
  document.addEventListener("visibilitychange", again);
} else {
  live.textContent = "";
}

// Rows are gone through with the keys.
let row = -1;
const rows = () => [...main.querySelectorAll(".rows tbody tr, .attention li[data-row], .node")];

function mark(isMoved = false) {
  const all = rows();
  all.forEach((one, at) => one.classList.toggle("at", at === row));
  if (isMoved) all[row]?.scrollIntoView({ block: "nearest" });
}

let isGoing = false;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey && event.key === "Enter" && event.target.form) {
    event.target.form.requestSubmit();
    return;
  }
  const isTyping = event.target.matches("input, textarea, select");
  if (event.key === "Escape" && isTyping) event.target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isGoing) {
    isGoing = false;
    const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
    if (link) link.click();
    return;
  }
  const filter = document.getElementById("filter");
  switch (event.key) {
    case "g":
      isGoing = true;
      setTimeout(() => (isGoing = false), 1500);
      break;
    case "/":
      if (filter) {
        event.preventDefault();
        filter.focus();
        filter.select();
      }
      break;
    case "?":
      document.getElementById("help").showModal();
      break;
    case "j":
    case "k":
      row = Math.max(0, Math.min(rows().length - 1, row + (event.key === "j" ? 1 : -1)));
      mark(true);
      break;
    case "Enter":
      if (document.activeElement === document.body || document.activeElement === main) rows()[row]?.querySelector("a")?.click();
      break;
  }
});

// A form is sent once.
document.addEventListener("submit", (event) => {
  const buttons = event.target.querySelectorAll("button");
  setTimeout(() => buttons.forEach((button) => (button.disabled = true)));
});
