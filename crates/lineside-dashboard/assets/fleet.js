// The grid of the fleet: a cell for each agent, by the frames that the daemon sends. A tree of agents stands together.

import { say } from "./app.js";

const canvas = document.getElementById("grid");
const pen = canvas.getContext("2d");
const STATES = ["waiting", "stuck", "blocked", "running", "idle"];
const SIGNS = [[16, "coverage differs"], [2, "loop suspected"], [1, "refused repeatedly"], [4, "hook timed out"], [8, "project not trusted"]];

const agents = new Map();
let only = null;
let order = [];
let layout = { wide: 1, tall: 1, across: 1, down: 1, isNamed: false };
let colours = {};
let isStale = true;
let at = -1;

const tip = document.createElement("p");
tip.className = "tip";
tip.id = "grid-tip";
tip.hidden = true;

function colour() {
  const style = getComputedStyle(document.documentElement);
  colours = Object.fromEntries([...STATES, "accent", "ink", "dim", "line", "soft"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

// Trees one behind the other, in the order in which their roots came; within one, deeper agents later.
function arrange() {
  const fits = (place) => !only || only.has(place);
  order = [...agents.values()].filter((agent) => fits(agent.place));
  order.sort((one, other) => one.root - other.root || one.depth - other.depth || one.place - other.place);
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const most = innerWidth < 720 ? 300 : 388;
  const down = (across, tall) => Math.ceil(order.length / across) * tall;
  // Few agents have their names; of many the cells are as large as there is room for.
  const columns = Math.max(1, Math.floor(width / 168));
  if (down(columns, 28) <= most) {
    const rows = Math.max(5, Math.ceil(order.length / columns));
    layout = { wide: width / columns, tall: 28, across: columns, down: rows, isNamed: true };
  } else {
    let side = 34;
    while (side > 3 && down(Math.floor(width / side), side) > most) side -= side > 12 ? 1 : 0.5;
    const across = Math.max(1, Math.floor(width / side));
    layout = { wide: width / across, tall: side, across, down: Math.ceil(order.length / across), isNamed: false };
  }
  const height = Math.max(140, Math.min(most, layout.down * layout.tall));
  canvas.style.height = `${height}px`;
  if (canvas.width !== width * scale || canvas.height !== height * scale) {
    canvas.width = width * scale;
    canvas.height = height * scale;
  }
  isStale = false;
}

function shape(state, x, y, size) {
  const middle = size / 2;
  pen.fillStyle = pen.strokeStyle = colours[STATES[state]];
  pen.beginPath();
  switch (state) {
    case 0:
      pen.moveTo(x + middle, y);
      pen.lineTo(x + size, y + middle);
      pen.lineTo(x + middle, y + size);
      pen.lineTo(x, y + middle);
      pen.fill();
      break;
    case 1:
      pen.moveTo(x + middle, y);
      pen.lineTo(x + size, y + size);
      pen.lineTo(x, y + size);
      pen.fill();
      break;
    case 2:
      pen.lineWidth = Math.max(1.2, size / 4);
      pen.moveTo(x + 1, y + 1);
      pen.lineTo(x + size - 1, y + size - 1);
      pen.moveTo(x + size - 1, y + 1);
      pen.lineTo(x + 1, y + size - 1);
      pen.stroke();
      break;
    case 3:
      pen.roundRect(x, y, size, size, size / 6);
      pen.fill();
      break;
    default:
      pen.roundRect(x + size * 0.3, y + size * 0.3, size * 0.4, size * 0.4, size / 12);
      pen.fill();
  }
}

// Cells with names are read down the columns, the others along the rows.
function where(place) {
  const { wide, tall, across, down, isNamed } = layout;
  const [column, row] = isNamed ? [Math.floor(place / down), place % down] : [place % across, Math.floor(place / across)];
  return [column * wide, row * tall];
}

function draw() {
  if (isStale) arrange();
  const scale = devicePixelRatio || 1;
  const { wide, tall, isNamed } = layout;
  const gap = tall > 10 ? Math.max(2, tall * 0.16) : 0.8;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  order.forEach((agent, place) => {
    const [x, y] = where(place);
    if (isNamed) {
      named(agent, x, y, place === at);
      return;
    }
    const size = Math.min(tall, wide) - gap;
    shape(agent.state, x, y, size);
    if (agent.signs) {
      const corner = Math.max(3, size * 0.4);
      pen.fillStyle = colours.accent;
      pen.beginPath();
      pen.moveTo(x + size, y);
      pen.lineTo(x + size, y + corner);
      pen.lineTo(x + size - corner, y);
      pen.fill();
    }
    if (place === at) {
      pen.strokeStyle = colours.ink;
      pen.lineWidth = 1.5;
      pen.strokeRect(x - 0.75, y - 0.75, size + 1.5, size + 1.5);
    }
  });
}

// A cell with a name: where the agent is in its tree, and the folder of its project.
function named(agent, x, y, isAt) {
  const { wide, tall } = layout;
  if (isAt) {
    pen.fillStyle = colours.soft;
    pen.beginPath();
    pen.roundRect(x, y + 1, wide - 6, tall - 3, 5);
    pen.fill();
  }
  const indent = 8 + Math.min(agent.depth, 4) * 8;
  shape(agent.state, x + indent, y + 8, 11);
  pen.save();
  pen.beginPath();
  pen.rect(x, y, wide - 14, tall);
  pen.clip();
  pen.textBaseline = "middle";
  pen.font = `${agent.depth ? "" : "600 "}12px system-ui, sans-serif`;
  pen.fillStyle = colours.ink;
  pen.fillText(agent.name, x + indent + 19, y + 14);
  const from = x + indent + 26 + pen.measureText(agent.name).width;
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = colours.dim;
  pen.fillText(agent.on || agent.project || agent.host, from, y + 14);
  pen.restore();
  if (agent.signs) {
    pen.fillStyle = colours.accent;
    pen.beginPath();
    pen.moveTo(x + indent + 13, y + 5);
    pen.lineTo(x + indent + 13, y + 11);
    pen.lineTo(x + indent + 7, y + 5);
    pen.fill();
  }
}

let isAsked = false;
function redraw() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    draw();
  });
}

function take(frame) {
  if (frame.all) agents.clear();
  for (const place of frame.gone) agents.delete(place);
  for (const [place, root, depth, session, name, host, project, machine] of frame.new) {
    const on = machine && `on ${machine}`;
    agents.set(place, { place, root: root ?? place, depth, session, name, host, project, on, state: 4, signs: 0 });
  }
  for (const [place, state, signs] of frame.at) {
    const agent = agents.get(place);
    if (agent) [agent.state, agent.signs] = [state, signs];
  }
  if (frame.only) only = new Set(frame.only);
  isStale ||= frame.all || frame.new.length > 0 || frame.gone.length > 0 || Boolean(frame.only);
  const tell = (name, number) => {
    const tile = document.querySelector(`[data-count="${name}"]`);
    if (tile) tile.textContent = number.toLocaleString("en").replaceAll(",", "\u202f");
  };
  STATES.forEach((name, state) => tell(name, frame.states[state]));
  tell("agents", frame.states.reduce((sum, count) => sum + count, 0));
  redraw();
}

let lost = 0;
let heard = 0;
const source = new EventSource(`/dashboard/events${location.search}`);
source.addEventListener("frame", (event) => {
  const frame = JSON.parse(event.data);
  take(frame);
  // What came while this page did not read is in one frame; what the daemon itself has lost is said.
  const missed = frame.lost - lost;
  if (!frame.all && missed > 0) say(true, `lost ${missed}`);
  else say(true, "live");
  [lost, heard] = [frame.lost, frame.heard];
});
source.onerror = () => say(false, "away");

// The agent under the pointer or the cursor.
function place(event) {
  const box = canvas.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / layout.wide);
  const row = Math.floor((event.clientY - box.top) / layout.tall);
  if (column < 0 || row < 0 || column >= layout.across || row >= layout.down) return -1;
  return layout.isNamed ? column * layout.down + row : row * layout.across + column;
}

function point(to) {
  at = to >= 0 && to < order.length ? to : -1;
  const agent = order[at];
  tip.hidden = !agent;
  if (agent) {
    if (!tip.isConnected) canvas.parentElement.append(tip);
    const signs = SIGNS.filter(([bit]) => agent.signs & bit).map(([, text]) => text);
    tip.textContent = [agent.name, agent.host, agent.project, agent.on, STATES[agent.state], ...signs].filter(Boolean).join(" · ");
    const [x, y] = where(at);
    const isRight = x > canvas.clientWidth / 2;
    tip.style.left = isRight ? "auto" : `${x + 12}px`;
    tip.style.right = isRight ? `${canvas.clientWidth - x}px` : "auto";
    tip.style.top = `${y + layout.tall + 14}px`;
  }
  redraw();
}

const open = (agent) => agent && (location.href = `/dashboard/sessions/${encodeURIComponent(agent.session)}`);
canvas.addEventListener("pointermove", (event) => point(place(event)));
canvas.addEventListener("pointerleave", () => point(-1));
canvas.addEventListener("click", (event) => open(order[place(event)]));
canvas.addEventListener("keydown", (event) => {
  const [right, below] = layout.isNamed ? [layout.down, 1] : [1, layout.across];
  const steps = { ArrowRight: right, ArrowLeft: -right, ArrowDown: below, ArrowUp: -below };
  if (event.key in steps) {
    event.preventDefault();
    point(Math.max(0, Math.min(order.length - 1, at + steps[event.key])));
  } else if (event.key === "Enter") open(order[at]);
});

function anew() {
  colour();
  isStale = true;
  redraw();
}

let seen = 0;
new ResizeObserver(() => {
  if (canvas.clientWidth === seen) return;
  seen = canvas.clientWidth;
  anew();
}).observe(canvas);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", anew);
document.addEventListener("put", () => tip.hidden || canvas.parentElement.append(tip));
anew();
