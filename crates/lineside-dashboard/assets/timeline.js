// The timeline of a tree of agents: a lane for each, zoomed by wheel, keys and two fingers; it follows what happens.

const canvas = document.getElementById("timeline");
const tip = document.getElementById("tip");
const pen = canvas.getContext("2d");
const LANE = 34;
const HEAD = 22;
const NAME = 132;
const [HOOKS, TOOL, WORK] = [0, 1, 2];

let data = { now: 0, lanes: [], bars: [] };
let fetched = 0;
let view = null;
let follows = true;
let colours = {};
let under = null;
let dragged = null;

function colour() {
  const style = getComputedStyle(document.documentElement);
  const names = ["accent", "running", "blocked", "waiting", "stuck", "ink", "dim", "line", "panel", "soft"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

const now = () => data.now + (performance.now() - fetched);

function whole() {
  const begins = data.bars.reduce((first, bar) => Math.min(first, bar[2]), Infinity);
  const isOpen = data.bars.some((bar) => bar[3] === null);
  const ends = isOpen ? now() : data.bars.reduce((last, bar) => Math.max(last, bar[3] ?? bar[2]), 0);
  if (!data.bars.length) return { from: now() - 60000, to: now() };
  const room = Math.max(20, (ends - begins) * 0.03);
  return { from: begins - room, to: ends + room };
}

const width = () => canvas.clientWidth - NAME;
const x = (time) => NAME + ((time - view.from) / (view.to - view.from)) * width();
const time = (x) => view.from + ((x - NAME) / width()) * (view.to - view.from);

function step(span) {
  const rough = span / Math.max(2, width() / 110);
  const unit = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((of) => of * unit).find((of) => of >= rough);
}

function label(at, by) {
  const text = new Date(at).toISOString();
  if (by >= 60000) return text.slice(11, 16);
  return by >= 1000 ? text.slice(11, 19) : text.slice(14, 23);
}

function tint(bar) {
  const [, kind, , , , verdict] = bar;
  if (verdict === "block" || verdict === "stop") return colours.blocked;
  if (verdict === "ask") return colours.waiting;
  return [colours.accent, colours.running, colours.stuck][kind];
}

function draw() {
  const scale = devicePixelRatio || 1;
  const height = Math.max(120, HEAD + data.lanes.length * LANE + 8);
  canvas.style.height = `${Math.min(height, 640)}px`;
  const [across, down] = [canvas.clientWidth * scale, canvas.clientHeight * scale];
  if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const by = step(view.to - view.from);
  for (let at = Math.ceil(view.from / by) * by; at < view.to; at += by) {
    pen.fillStyle = colours.line;
    pen.fillRect(Math.round(x(at)), HEAD, 1, canvas.clientHeight);
    pen.fillStyle = colours.dim;
    pen.fillText(label(at, by), x(at) + 4, HEAD / 2);
  }
  pen.save();
  pen.beginPath();
  pen.rect(NAME, HEAD, width(), canvas.clientHeight);
  pen.clip();
  for (const bar of data.bars) bars(bar);
  pen.restore();
  data.lanes.forEach(([, name, depth], lane) => {
    const y = HEAD + lane * LANE;
    pen.fillStyle = colours.line;
    pen.fillRect(0, y, canvas.clientWidth, 1);
    pen.fillStyle = colours.panel;
    pen.fillRect(0, y + 1, NAME, LANE - 1);
    pen.fillStyle = colours.ink;
    pen.fillText(`${"  ".repeat(depth)}${depth ? "└ " : ""}${name}`.slice(0, 22), 12, y + LANE / 2);
  });
  pen.fillStyle = colours.line;
  pen.fillRect(NAME, 0, 1, canvas.clientHeight);
}

function box(bar) {
  const [lane, kind, begin, end] = bar;
  const left = x(begin);
  const right = Math.max(left + (kind === HOOKS ? 2 : 1), x(end ?? now()));
  const y = HEAD + lane * LANE;
  const [top, tall] = kind === TOOL ? [y + 9, 12] : kind === HOOKS ? [y + 6, 18] : [y + 25, 4];
  return { left, right, top, tall };
}

// Hooks without an end are those whose question waits.
const waits = (bar) => bar[1] === HOOKS && bar[3] === null;

function bars(bar) {
  const { left, right, top, tall } = box(bar);
  if (right < NAME || left > canvas.clientWidth) return;
  const isPending = bar[3] === null;
  pen.fillStyle = pen.strokeStyle = tint(bar);
  if (isPending) {
    pen.setLineDash([4, 3]);
    pen.strokeRect(left + 0.5, top + 0.5, right - left - 1, tall - 1);
    pen.setLineDash([]);
  } else {
    pen.globalAlpha = bar[1] === TOOL ? 0.42 : 1;
    pen.beginPath();
    pen.roundRect(left, top, right - left, tall, Math.min(2, (right - left) / 2));
    pen.fill();
    pen.globalAlpha = 1;
  }
  if ((bar[1] === TOOL || waits(bar)) && right - left > 60) {
    pen.save();
    pen.beginPath();
    pen.rect(left, top, right - left - 4, tall);
    pen.clip();
    pen.fillStyle = colours.ink;
    pen.fillText(bar[4], Math.max(left, NAME) + 6, top + tall / 2 + 0.5);
    pen.restore();
  }
  if (bar === under) {
    pen.strokeStyle = colours.ink;
    pen.strokeRect(left - 0.5, top - 0.5, right - left + 1, tall + 1);
  }
}

let isAsked = false;
function redraw() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    if (follows || !view) view = whole();
    draw();
    if (follows && data.bars.some((bar) => bar[3] === null)) setTimeout(redraw, 100);
  });
}

function follow(does) {
  follows = does;
  document.querySelector('[data-zoom="live"]')?.setAttribute("aria-pressed", String(does));
}

function zoom(by, around = NAME + width() / 2) {
  const middle = time(around);
  follow(false);
  const span = Math.min(Math.max((view.to - view.from) * by, 0.5), 30 * 86400000);
  const share = (around - NAME) / width();
  view = { from: middle - span * share, to: middle + span * (1 - share) };
  redraw();
}

function pan(pixels) {
  follow(false);
  const by = (pixels / width()) * (view.to - view.from);
  view = { from: view.from + by, to: view.to + by };
  redraw();
}

function find(event) {
  const area = canvas.getBoundingClientRect();
  const [px, py] = [event.clientX - area.left, event.clientY - area.top];
  const hit = (bar) => {
    const { left, right, top, tall } = box(bar);
    return px >= left - 2 && px <= right + 2 && py >= top - 2 && py <= top + tall + 2;
  };
  const all = px > NAME && view ? data.bars.filter(hit) : [];
  return [all.find((bar) => bar[1] === HOOKS) ?? all[0] ?? null, px, py];
}

function took(ms) {
  return ms < 1 ? `${(ms * 1000).toFixed(0)} µs` : ms < 1000 ? `${ms.toFixed(1)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX || event.deltaY);
  else zoom(Math.exp(event.deltaY * 0.0015), event.clientX - canvas.getBoundingClientRect().left);
}, { passive: false });
canvas.addEventListener("pointerdown", (event) => {
  dragged = { x: event.clientX, moved: 0 };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (dragged) {
    const by = dragged.x - event.clientX;
    dragged = { x: event.clientX, moved: dragged.moved + Math.abs(by) };
    if (dragged.moved > 3) pan(by);
    return;
  }
  const [bar, px, py] = find(event);
  under = bar;
  tip.hidden = !bar;
  canvas.style.cursor = bar ? "pointer" : "grab";
  if (bar) {
    const what = ["interceptors", "tool", "background work"][bar[1]];
    const long = bar[3] === null ? "pending" : took(bar[3] - bar[2]);
    tip.textContent = `${bar[4]} · ${waits(bar) ? "waits for a person" : `${what} ${long}`} · ${bar[5]}`;
    tip.style.left = `${Math.min(px + 12, canvas.clientWidth - 240)}px`;
    tip.style.top = `${py + 16}px`;
  }
  redraw();
});
canvas.addEventListener("pointerup", (event) => {
  const isClick = dragged && dragged.moved <= 3;
  dragged = null;
  const [bar] = find(event);
  if (isClick && bar) location.href = `/dashboard/${waits(bar) ? "approvals" : `decisions/${encodeURIComponent(bar[6])}`}`;
});
canvas.addEventListener("pointerleave", () => {
  under = null;
  tip.hidden = true;
});

function act(what) {
  if (what === "in") zoom(0.6);
  if (what === "out") zoom(1 / 0.6);
  if (what === "all") {
    view = whole();
    follow(false);
    redraw();
  }
  if (what === "live") {
    follow(!follows);
    redraw();
  }
}

document.addEventListener("click", (event) => {
  const what = event.target.closest?.("[data-zoom]")?.dataset.zoom;
  if (what) {
    act(what);
    event.target.blur();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea") || event.ctrlKey || event.metaKey) return;
  const acts = { "+": "in", "=": "in", "-": "out", "0": "all" };
  if (event.key in acts) act(acts[event.key]);
  if (document.activeElement === canvas && event.key === "ArrowLeft") pan(-80);
  if (document.activeElement === canvas && event.key === "ArrowRight") pan(80);
});

async function load() {
  if (!document.hidden) {
    try {
      const answer = await fetch(canvas.dataset.source);
      if (answer.ok) {
        data = await answer.json();
        fetched = performance.now();
        redraw();
      }
    } catch {
      // The page says that the daemon is away.
    }
  }
  setTimeout(load, 1000);
}

function anew() {
  colour();
  redraw();
}

new ResizeObserver(anew).observe(canvas);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", anew);
document.addEventListener("put", () => follow(follows));
colour();
load();
