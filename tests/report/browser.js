// Opens a report in Chromium, uses it as a reader would, and fails at the first thing that is wrong:
// node browser.js CHROMIUM NODE_MODULES REPORT
//
// The report has the records of `tests/src/report_page.rs`.
"use strict";
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");

const [chromium, modules, report] = process.argv.slice(2);
const load = createRequire(path.join(modules, "..", "any.js"));
const puppeteer = load("puppeteer-core");
const axe = fs.readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");
const address = pathToFileURL(report).href;

const WIDTHS = { desktop: [1280, 900], phone: [360, 740] };
const SCHEMES = ["light", "dark"];
/** The longest wait for the browser, in milliseconds: a busy machine gets its time. */
const PATIENCE = 300_000;

/** Opens the page. Whatever it asks of the network, every dialog, and every error is kept in `wrong`. */
async function open(browser, { scheme = "light", width = "desktop" } = {}) {
    const page = await browser.newPage();
    const wrong = [];
    page.on("dialog", async (it) => {
        wrong.push(`a dialog: ${it.message()}`);
        await it.dismiss();
    });
    page.on("pageerror", (it) => wrong.push(`an error: ${it.message}`));
    page.on("console", (it) => wrong.push(`the console: ${it.text()}`));
    page.on("request", (it) => it.url().split("#")[0] !== address && wrong.push(`a request: ${it.url()}`));
    const [across, high] = WIDTHS[width];
    page.setDefaultTimeout(PATIENCE);
    await page.setViewport({ width: across, height: high });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }, { name: "prefers-reduced-motion", value: "reduce" }]);
    await page.goto(address);
    await page.waitForSelector(".events tbody tr");
    return { page, wrong };
}

const status = (page) => page.$eval("[role=status]", (it) => it.textContent);
const until = (page, text) => page.waitForFunction((text) => document.querySelector("[role=status]").textContent === text, {}, text);

/** Presses Tab until the focused element matches. */
async function tabTo(page, selector) {
    for (let presses = 0; presses < 200; presses += 1) {
        await page.keyboard.press("Tab");
        if (await page.evaluate((it) => document.activeElement.matches(it), selector)) return;
    }
    assert.fail(`no key leads to ${selector}`);
}

const tests = {
    async "the first screen tells what was blocked, by which hook, and why"(browser) {
        const { page, wrong } = await open(browser);
        const text = await page.$eval("main", (it) => it.innerText);
        for (const part of ["6 calls were blocked", "git.wasm", "overwrites the branch at the remote", "git push --force"]) {
            assert.ok(text.includes(part), `${part}: ${text.slice(0, 500)}`);
        }
        assert.deepStrictEqual(wrong, []);
    },

    async "filters and the search leave the events that match"(browser) {
        const { page, wrong } = await open(browser);
        assert.strictEqual(await status(page), "127 events");
        await page.select("#by-verdict", "asked");
        await until(page, "1 of 127 events");
        await page.select("#by-verdict", "");
        await page.select("#by-agent", await page.$eval("#by-agent", (it) => [...it.options].find((it) => it.text.startsWith("codex")).value));
        await until(page, "1 of 127 events");
        await page.$$eval(".filter .button", ([clear]) => clear.click());
        await until(page, "127 events");
        // This text is in a tool's output, and so only in a whole record.
        await page.type("#by-text", "NEEDLE in the");
        await until(page, "1 of 127 events");
        // The name of a field is not text of a record.
        await page.$eval("#by-text", (it) => (it.value = ""));
        await page.type("#by-text", "memory_peak_bytes");
        await until(page, "0 of 127 events");
        assert.match(await page.$eval(".events tbody", (it) => it.innerText), /No event matches/);
        assert.deepStrictEqual(wrong, []);
    },

    async "long lists have pages"(browser) {
        const { page } = await open(browser);
        const rows = () => page.$$eval(".events tbody tr", (it) => it.length);
        assert.strictEqual(await rows(), 50);
        await page.click("[data-place=Oldest]");
        assert.strictEqual(await rows(), 27);
        assert.match(await page.$eval(".pages", (it) => it.innerText), /Page 3 of 3/);
    },

    async "a record opens, shows each change, and closes by keyboard"(browser) {
        const { page, wrong } = await open(browser);
        await page.select("#by-verdict", "changed");
        await until(page, "1 of 127 events");
        await page.focus("#by-verdict");
        await tabTo(page, ".events .link");
        await page.keyboard.press("Enter");
        await page.waitForSelector("dialog[open]");
        assert.ok(await page.evaluate(() => document.querySelector("dialog").contains(document.activeElement)));
        const text = await page.$eval("dialog", (it) => it.innerText);
        for (const part of ["rm -r build", "trash build", "trash.wasm", "hookbox log show changed001"]) assert.ok(text.includes(part), `${part}: ${text}`);
        assert.deepStrictEqual(await page.$$eval("dialog mark", (it) => it.map((it) => it.textContent)), ["rm -r", "trash"]);
        await tabTo(page, "dialog .record details:last-child summary");
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => document.querySelector("dialog details[open] pre")?.textContent.includes('"prev"'));
        await page.keyboard.press("Escape");
        await page.waitForSelector("dialog:not([open])");
        assert.ok(await page.evaluate(() => document.activeElement.matches(".events .link")), "the focus is where it was");
        assert.deepStrictEqual(wrong, []);
    },

    async "hostile text is shown, and does not run"(browser) {
        for (const width of Object.keys(WIDTHS)) {
            const { page, wrong } = await open(browser, { width });
            await page.type("#by-text", "hostile00");
            await page.waitForFunction(() => document.querySelector("[role=status]").textContent.startsWith("4 of"));
            const links = await page.$$(".events .link");
            assert.strictEqual(links.length, 4);
            for (const link of links) {
                await link.evaluate((it) => it.click());
                await page.waitForSelector("dialog[open]");
                await page.$$eval("dialog details", (all) => all.forEach((it) => (it.open = true)));
                await page.waitForFunction(() => document.querySelector("dialog details:last-child pre"));
                await page.$eval("dialog .close", (it) => it.click());
            }
            assert.strictEqual(await page.evaluate(() => globalThis.ran), undefined);
            assert.strictEqual(await page.$$eval("img, iframe, object, a[href^=javascript], script[src]", (it) => it.length), 0);
            const text = await page.$eval(".events", (it) => it.textContent);
            assert.ok(text.includes("</script><img src=x onerror="), text);
            assert.ok(text.includes("\\u{202e}") && text.includes("\\u{1b}[2J") && text.includes("\\u{200b}"), text);
            assert.ok(!/[\u0000-\u001f\u202a-\u202e\u200b]/u.test(text.replace(/\s/g, "")), "a character that hides text");
            assert.deepStrictEqual(wrong, []);
        }
    },

    async "a script and a style that are not the page's own are refused"(browser) {
        const { page } = await open(browser);
        await page.evaluate(() => {
            const script = document.createElement("script");
            try {
                script.textContent = "globalThis.ran = true";
            } catch {
                script.append("globalThis.ran = true");
            }
            document.body.append(script);
            const style = document.createElement("style");
            style.textContent = "body { width: 1px }";
            document.body.append(style);
        });
        assert.strictEqual(await page.evaluate(() => globalThis.ran), undefined);
        assert.ok(await page.evaluate(() => document.body.offsetWidth > 1));
        await assert.rejects(page.evaluate(() => (document.body.innerHTML = "<p>")), /TrustedHTML/);
    },

    async "axe finds nothing serious in either color scheme, on a desktop and on a phone"(browser) {
        for (const scheme of SCHEMES) {
            for (const width of Object.keys(WIDTHS)) {
                const { page } = await open(browser, { scheme, width });
                await page.$$eval("details", (all) => all.forEach((it) => (it.open = true)));
                const check = async (where) => {
                    const { violations } = await page.evaluate((axe) => {
                        if (!globalThis.axe) (0, eval)(axe);
                        return globalThis.axe.run(document, { resultTypes: ["violations"] });
                    }, axe);
                    const bad = violations.filter((it) => ["serious", "critical"].includes(it.impact));
                    const shown = bad.map((it) => `${it.id}: ${it.nodes.slice(0, 5).map((node) => `${node.target} ${node.failureSummary}`).join("\n")}`);
                    assert.deepStrictEqual(shown, [], `${scheme}, ${width}, ${where}`);
                };
                const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.querySelector("dialog").scrollWidth <= innerWidth);
                assert.ok(await fits(), "the page scrolls sideways");
                await check("the page");
                await page.select("#by-verdict", "blocked");
                await page.$$eval(".events .link", (all) => all.at(-1).click());
                await page.waitForSelector("dialog[open]");
                await page.$$eval("dialog details", (all) => all.forEach((it) => (it.open = true)));
                assert.ok(await fits(), "the record scrolls sideways");
                await check("a record");
                await page.close();
            }
        }
    },
};

(async () => {
    // Below another user's sandbox, and as root, Chromium has none of its own.
    const browser = await puppeteer.launch({ executablePath: chromium, timeout: PATIENCE, protocolTimeout: 2 * PATIENCE, args: ["--no-sandbox", "--disable-dev-shm-usage"], env: { ...process.env, TZ: "UTC" } });
    try {
        for (const [name, run] of Object.entries(tests)) {
            try {
                await run(browser);
            } catch (error) {
                error.message = `${name}: ${error.message}`;
                throw error;
            }
        }
        console.log(`passed: ${Object.keys(tests).length}`);
    } finally {
        await browser.close();
    }
})().catch((error) => {
    console.error(error.stack);
    process.exitCode = 1;
});
