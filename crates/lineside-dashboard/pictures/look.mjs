// Looks at the pages of a dashboard in a browser: takes a picture of each, has axe look for what keeps people out, and
// says how soon the pages are there. Started by `cargo xtask pictures`, which gives what it needs as JSON:
//
//   {"browser": path, "program": path, "golden": folder, "taken": folder, "scenes": [{"agents": n, "events": n,
//    "rate": n, "pages": [{"name", "path", "dark", "width", "height"}]}]}
//
// Prints a JSON line for each picture, `{"picture", "differs", "axe": [...]}`, and for each figure, `{"figure", "value"}`.

import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

import axe from "axe-core";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";
import puppeteer from "puppeteer-core";

const order = JSON.parse(await text(process.stdin));
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

/** A daemon with so many agents, which stand still after so many events. */
class Fleet {
  constructor(agents, rate, events) {
    const numbers = [agents, rate, events].filter((number) => number !== undefined);
    this.child = spawn(order.program, numbers.map(String), { stdio: ["pipe", "pipe", "inherit"] });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }
  async line() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error("the daemon has ended");
    return value;
  }
  async end() {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.stdin.end();
    await ended;
  }
}

/** How many pixels of two pictures are not alike, as a part of all; 1 where they are not of one size. */
function differs(golden, taken) {
  const [one, other] = [golden, taken].map((bytes) => PNG.sync.read(bytes));
  if (one.width !== other.width || one.height !== other.height) return 1;
  const unlike = pixelmatch(one.data, other.data, null, one.width, one.height, { threshold: 0.15 });
  return unlike / (one.width * one.height);
}

/** A picture as it is kept: of few colours, and as short as PNG has it. */
function small(bytes) {
  const picture = PNG.sync.read(bytes);
  picture.data.forEach((part, at) => (picture.data[at] = at % 4 === 3 ? part : Math.round(part / 17) * 17));
  return PNG.sync.write(picture, { colorType: 2, deflateLevel: 9, filterType: -1 });
}

async function axed(page) {
  await page.evaluate(axe.source);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const grave = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return grave.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}

/** Opens a page of the dashboard, which has to be there. */
async function open(page, url, path) {
  const answer = await page.goto(new URL(path ? `/dashboard/${path}` : "/dashboard", url), { waitUntil: "domcontentloaded" });
  if (!answer.ok()) throw new Error(`${path}: ${answer.status()}`);
}

/** Waits until the page has painted what it was sent last. */
async function settled(page) {
  await page.waitForFunction(() => document.getElementById("live").textContent !== "" || !document.getElementById("grid"));
  await page.evaluate(() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 500)));
}

/** Sends a form of a page as a person does, and waits for what comes of it. */
async function sends(page, button) {
  const [answer] = await Promise.all([page.waitForNavigation({ waitUntil: "domcontentloaded" }), page.click(button)]);
  if (!answer.ok()) throw new Error(`${button}: ${answer.status()}`);
}

/** A person answers the first question, and tries an event out. */
async function forms(page, url) {
  await open(page, url, "approvals");
  const waiting = () => page.$$eval("form button[value='deny once']", (all) => all.length);
  const before = await waiting();
  if (before === 0) throw new Error("no question waits");
  await sends(page, "form button[value='deny once']");
  if ((await waiting()) !== before - 1) throw new Error("the question that was answered waits still");
  await open(page, url, "lab");
  await sends(page, "form[method='post'] button");
}

async function pictures(browser, scene) {
  const fleet = new Fleet(scene.agents, scene.rate, scene.events);
  const page = await browser.newPage();
  try {
    const url = new URL(await fleet.line());
    await page.goto(url, { waitUntil: "domcontentloaded" });
    await fleet.line();
    for (const { name, path, dark, width, height } of scene.pages) {
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
      await page.setViewport({ width, height, deviceScaleFactor: 1 });
      await open(page, url, path);
      await settled(page);
      const taken = small(Buffer.from(await page.screenshot({ type: "png" })));
      writeFileSync(join(order.taken, `${name}.png`), taken);
      const golden = join(order.golden, `${name}.png`);
      const unlike = existsSync(golden) ? differs(readFileSync(golden), taken) : null;
      say({ picture: name, differs: unlike, axe: await axed(page) });
    }
    await forms(page, url);
  } finally {
    await page.close();
    await fleet.end();
  }
}

/** How soon a page shows what it has, in milliseconds, and how it answers while agents are at work. */
async function figures(browser) {
  const fleet = new Fleet(2000, 2000);
  try {
    const url = new URL(await fleet.line());
    const first = await browser.newPage();
    await first.goto(url, { waitUntil: "domcontentloaded" });
    await first.close();
    for (const [name, path] of [["fleet", ""], ["lineage", "lineage"]]) {
      const times = [];
      for (let turn = 0; turn < 5; turn += 1) {
        const page = await browser.newPage();
        await page.setViewport({ width: 1280, height: 800 });
        await open(page, url, path);
        await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
        times.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
        await page.close();
      }
      say({ figure: `dashboard/${name}_first_paint`, value: times.sort((a, b) => a - b)[2] });
    }
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 800 });
    await open(page, url, "");
    await page.evaluate(() => {
      window.delays = [];
      addEventListener("keydown", (event) => {
        const pressed = event.timeStamp;
        requestAnimationFrame(() => setTimeout(() => window.delays.push(performance.now() - pressed)));
      });
      window.updates = 0;
      const isCount = ({ target }) => target.dataset?.count === "agents";
      new MutationObserver((all) => (window.updates += all.filter(isCount).length)).observe(document.body, {
        childList: true, subtree: true,
      });
    });
    const begun = Date.now();
    for (let press = 0; press < 100; press += 1) {
      await page.keyboard.press("ArrowRight");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { delays, updates } = await page.evaluate(() => ({ delays: window.delays, updates: window.updates }));
    delays.sort((a, b) => a - b);
    say({ figure: "dashboard/input_delay_p95", value: delays[Math.floor(delays.length * 0.95)] });
    say({ figure: "dashboard/updates_a_second", value: updates / ((Date.now() - begun) / 1000) });
    await page.close();
  } finally {
    await fleet.end();
  }
}

const browser = await puppeteer.launch({
  executablePath: order.browser,
  args: ["--no-sandbox", "--hide-scrollbars", "--font-render-hinting=none", "--disable-lcd-text"],
});
try {
  for (const scene of order.scenes) await pictures(browser, scene);
  await figures(browser);
} finally {
  await browser.close();
}
