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

async function axed(page) {
  await page.evaluate(axe.source);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const grave = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return grave.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}

/** Waits until the page has painted what it was sent last. */
async function settled(page) {
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
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
      await page.goto(new URL(`/dashboard/${path}`, url), { waitUntil: "domcontentloaded" });
      await settled(page);
      const taken = await page.screenshot({ type: "png" });
      writeFileSync(join(order.taken, `${name}.png`), taken);
      const golden = join(order.golden, `${name}.png`);
      const unlike = existsSync(golden) ? differs(readFileSync(golden), Buffer.from(taken)) : null;
      say({ picture: name, differs: unlike, axe: await axed(page) });
    }
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
        await page.goto(new URL(`/dashboard/${path}`, url), { waitUntil: "domcontentloaded" });
        await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
        times.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
        await page.close();
      }
      say({ figure: `dashboard/${name}_first_paint`, value: times.sort((a, b) => a - b)[2] });
    }
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 800 });
    await page.goto(new URL("/dashboard/", url), { waitUntil: "domcontentloaded" });
    await page.evaluate(() => {
      window.delays = [];
      addEventListener("keydown", (event) => {
        const pressed = event.timeStamp;
        requestAnimationFrame(() => setTimeout(() => window.delays.push(performance.now() - pressed)));
      });
      window.frames = 0;
      const isCount = ({ target }) => target.dataset?.count === "agents";
      new MutationObserver((all) => (window.frames += all.filter(isCount).length)).observe(document.body, {
        childList: true, subtree: true,
      });
    });
    const begun = Date.now();
    for (let press = 0; press < 100; press += 1) {
      await page.keyboard.press("ArrowRight");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { delays, frames } = await page.evaluate(() => ({ delays: window.delays, frames: window.frames }));
    delays.sort((a, b) => a - b);
    say({ figure: "dashboard/input_delay_p95", value: delays[Math.floor(delays.length * 0.95)] });
    say({ figure: "dashboard/updates_a_second", value: frames / ((Date.now() - begun) / 1000) });
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
