"use strict";
(() => {
    // Each text in the data comes from outside. It reaches the page as a text node only: see `el` and `visible`.

    /* The columns of a row. The last three are added here. */
    const [TIME, ID, VERDICT, EVENT, AGENT, TOOL, TOOK, SUBJECT, BY, WHY, HOOKS, DENIED, SHADOW, BLOCK, PLACE, FAILED] = Array(16).keys();
    /* The values of one hook in a row: name, status, cause, microseconds, fuel, bytes, and whether it failed. */
    const WIDTH = 7;

    const PAGE = 50;
    const VERDICTS = ["blocked", "asked", "changed", "allowed", "passed"];
    const LABELS = {
        blocked: "Blocked", asked: "Asked", changed: "Changed", allowed: "Allowed", passed: "Passed",
        failed: "A hook failed", shadow: "Shadow mode: would have acted",
    };
    const CAUSES = {
        not_found: "its file is gone", spawn: "it could not be started", exit: "it exited with an error",
        signal: "a signal ended it", timeout: "it took longer than its limit", fuel: "it used up its fuel",
        memory: "it needed more memory than its limit", trap: "it trapped", output_limit: "it wrote too much",
        malformed_output: "its answer could not be read", denied: "it lacks a permission",
        untrusted: "you have not trusted it", incompatible: "it is not a hook, or needs another version",
        compiling: "it was being compiled", internal: "hookbox failed",
    };

    // ── Text and elements

    /* The characters that hookbox escapes everywhere: they hide or reorder text. */
    const ODD = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
    const NAMED = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };
    const escaped = (c) => NAMED[c] ?? `\\u{${c.codePointAt(0).toString(16)}}`;
    const plain = (text) => String(text).replace(ODD, escaped);

    /** Returns an element. Attributes are set by name, `on` has the listeners, and children are nodes or texts. */
    function el(tag, attributes, ...children) {
        const node = tag === "svg" || tag.startsWith("svg:")
            ? document.createElementNS("http://www.w3.org/2000/svg", tag.replace("svg:", ""))
            : document.createElement(tag);
        for (const [name, value] of Object.entries(attributes ?? {})) {
            if (name === "on") for (const [type, listener] of Object.entries(value)) node.addEventListener(type, listener);
            else if (value === true) node.setAttribute(name, "");
            else if (value !== false && value != null) node.setAttribute(name, value);
        }
        node.append(...children.flat(3).filter((it) => it != null && it !== false).map((it) => (it instanceof Node ? it : String(it))));
        return node;
    }

    /** Returns text from outside as nodes: characters that hide or reorder text are escaped, and marked. */
    function visible(text, keepsLines) {
        const parts = [];
        let from = 0;
        text = String(text ?? "");
        for (const match of text.matchAll(ODD)) {
            if (keepsLines && (match[0] === "\n" || match[0] === "\t")) continue;
            parts.push(text.slice(from, match.index), el("span", { class: "odd" }, escaped(match[0])));
            from = match.index + match[0].length;
        }
        parts.push(text.slice(from));
        return parts.filter((it) => it !== "");
    }
    const data = (text, tag = "span") => el(tag, { class: "data" }, visible(text));
    /** Returns a sentence in which the parts between backticks are code. */
    const sentence = (text) => el("span", { class: "data" }, String(text).split("`").map((part, at, all) =>
        at % 2 === 1 && at < all.length - 1 ? el("code", null, visible(part)) : visible(at % 2 === 1 ? "`" + part : part)));

    const numbers = new Intl.NumberFormat("en");
    const n = (it) => numbers.format(it);
    const many = (count, one, more = one + "s") => `${n(count)} ${count === 1 ? one : more}`;
    const tenth = (it) => (it < 10 ? it.toFixed(1).replace(/\.0$/, "") : n(Math.round(it)));
    const span = (us) => (us < 1e3 ? `${n(us)} µs` : us < 1e6 ? `${tenth(us / 1e3)} ms` : `${tenth(us / 1e6)} s`);
    const bytes = (it) => (it < 1 << 20 ? `${tenth(it / 1024)} KiB` : `${tenth(it / (1 << 20))} MiB`);
    const large = (it) => (it < 1e4 ? n(it) : it < 1e6 ? `${tenth(it / 1e3)} k` : `${tenth(it / 1e6)} M`);
    const format = (options) => new Intl.DateTimeFormat("en-GB", options);
    const dayFormat = format({ day: "numeric", month: "short", year: "numeric" });
    const shortDay = format({ day: "numeric", month: "short" });
    const clock = format({ hour: "2-digit", minute: "2-digit" });
    const whole = format({ weekday: "short", day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" });
    const minute = (ms) => `${shortDay.format(ms)}, ${clock.format(ms)}`;
    const two = (it) => String(it).padStart(2, "0");
    /** Returns the day of a time, in the time zone of the reader. */
    const dayOf = (ms) => {
        const it = new Date(ms);
        return `${it.getFullYear()}-${two(it.getMonth() + 1)}-${two(it.getDate())}`;
    };
    const midnight = (day) => new Date(`${day}T00:00:00`).getTime();
    const time = (ms, text) => el("time", { datetime: new Date(ms).toISOString() }, text);
    const badge = (tone, text = LABELS[tone] ?? tone) => el("span", { class: "badge", "data-tone": tone }, plain(text));
    const tally = (map, key, by = 1) => map.set(key, (map.get(key) ?? 0) + by);
    const biggest = (map) => [...map].sort((a, b) => b[1] - a[1]);
    const byId = (id) => document.getElementById(id);

    // ── The data

    const words = [];
    const rows = [];
    const blocks = [];
    for (const script of document.querySelectorAll("script.rows")) {
        const block = JSON.parse(script.textContent);
        for (const word of block.words) words.push(word);
        block.rows.forEach((row, at) => {
            row.push(blocks.length, at);
            rows.push(row);
        });
        blocks.push(script.nextElementSibling);
        script.remove();
    }
    rows.sort((a, b) => b[TIME] - a[TIME]);
    const summary = JSON.parse(byId("summary-data").textContent);
    const word = (number) => words[number] ?? "";

    /** Returns the records of a block, one line of JSON each. */
    async function unpack(block) {
        const packed = atob(blocks[block].textContent);
        const raw = new Uint8Array(packed.length);
        // `Uint8Array.from` takes longer than all the rest.
        for (let at = 0; at < packed.length; at += 1) raw[at] = packed.charCodeAt(at);
        return new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
    }
    let opened = { block: -1, text: null };
    async function recordOf(row) {
        if (opened.block !== row[BLOCK]) opened = { block: row[BLOCK], text: unpack(row[BLOCK]) };
        return JSON.parse((await opened.text).split("\n")[row[PLACE]]);
    }

    /** Calls `each` for every hook of an event. */
    function hooksOf(row, each) {
        const all = row[HOOKS];
        for (let at = 0; at < all.length; at += WIDTH) {
            each({ name: all[at], status: word(all[at + 1]), cause: word(all[at + 2]), took: all[at + 3], fuel: all[at + 4], memory: all[at + 5], hasFailed: all[at + 6] });
        }
    }

    const total = { blocked: 0, asked: 0, changed: 0, allowed: 0, passed: 0, failed: 0, shadow: 0 };
    const hooks = new Map();
    const failures = new Map();
    const denials = new Map();
    const days = new Map();
    const agents = new Map();
    const tools = new Map();
    const hookOf = (name) => {
        if (!hooks.has(name)) hooks.set(name, { runs: 0, blocked: 0, asked: 0, changed: 0, failed: 0, shadow: 0, took: [], fuel: [], memory: 0 });
        return hooks.get(name);
    };
    for (const row of rows) {
        total[row[VERDICT]] += 1;
        tally(days, dayOf(row[TIME]));
        if (row[AGENT]) tally(agents, row[AGENT]);
        if (row[TOOL]) tally(tools, row[TOOL]);
        let failed = false;
        hooksOf(row, ({ name, status, cause, took, fuel, memory, hasFailed }) => {
            const hook = hookOf(name);
            if (status !== "skipped" && status !== "untrusted") {
                hook.runs += 1;
                hook.took.push(took);
                if (fuel) hook.fuel.push(fuel);
                hook.memory = Math.max(hook.memory, memory);
            }
            if (status in hook && status !== "failed") hook[status] += 1;
            if (hasFailed) {
                hook.failed += 1;
                failed = true;
                const key = `${cause}\n${name}`;
                const failure = failures.get(key) ?? { cause, name, times: 0, last: row };
                failure.times += 1;
                failures.set(key, failure);
            }
        });
        row.push(failed);
        if (failed) total.failed += 1;
        if (row[SHADOW].length) total.shadow += 1;
        for (const [name] of row[SHADOW]) hookOf(name).shadow += 1;
        for (const [name, right, fix] of row[DENIED]) {
            const key = `${name}\n${right}`;
            const denial = denials.get(key) ?? { name, right, fix, times: 0 };
            denial.times += 1;
            denials.set(key, denial);
        }
    }
    const quantile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
    const sorted = (list) => Float64Array.from(list).sort();

    // ── Parts of the page

    const contents = byId("contents");
    function section(id, title, name, ...children) {
        const heading = el("h2", { id: `${id}-title` }, title);
        const node = el("section", { id, "aria-labelledby": heading.id }, heading, ...children);
        byId("main").append(node);
        contents.append(el("li", null, el("a", { href: `#${id}` }, name)));
        return node;
    }
    const note = (...text) => el("p", { class: "note" }, ...text);
    const button = (text, click, attributes) => el("button", { type: "button", class: "button", ...attributes, on: { click } }, text);

    /** Returns a table that scrolls by itself if the page is too narrow. A column is `[title, is a number]`. */
    function table(caption, columns, lines) {
        const head = el("tr", null, columns.map(([title, isNumber]) => el("th", { scope: "col", class: isNumber && "n" }, title)));
        const body = lines.map((cells) => el("tr", null, cells.map((cell, at) => {
            const isNumber = columns[at][1];
            if (at === 0) return el("th", { scope: "row" }, cell);
            if (isNumber && cell?.tone) return el("td", { class: "n", "data-tone": cell.count ? cell.tone : null }, count(cell.count));
            return el("td", { class: isNumber && "n" }, cell);
        })));
        const node = el("table", null, el("caption", { class: "hidden" }, caption), el("thead", null, head), el("tbody", null, body));
        return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, node);
    }
    const count = (it) => (it ? n(it) : el("span", { class: "zero" }, "0"));
    const toned = (tone, count) => ({ tone, count });

    /** Returns a list that shows its first entries, and the rest at the press of a button. */
    function longList(all, shown, what, draw) {
        const holder = el("div", null, draw(all.slice(0, shown)));
        if (all.length > shown) {
            const more = button(`Show all ${n(all.length)} ${what}`, () => {
                holder.replaceChildren(draw(all));
                holder.firstElementChild.setAttribute("tabindex", "-1");
                holder.firstElementChild.focus();
            }, { class: "button more" });
            holder.append(more);
        }
        return holder;
    }

    /** Returns groups with their numbers, reasons, samples, and a button that shows their events. */
    const groupList = (tone, groups, what) => longList(groups, 8, what, (some) => el("ol", { class: "groups" }, some.map((group) =>
        el("li", { "data-tone": group.tone ?? tone },
            el("p", { class: "times" }, n(group.times), el("small", null, "×")),
            el("div", null,
                el("p", { class: "why" }, group.why ? sentence(group.why) : "No reason was given."),
                el("p", { class: "meta" }, group.meta),
                group.sample && el("code", { class: "sample data" }, visible(group.sample)),
                group.after && el("p", { class: "meta" }, group.after)),
            group.show && button(["Show", el("span", { class: "hidden" }, ` the events: ${plain(group.why)}`)], group.show)))));

    /** Groups events by hook and reason. */
    function grouped(pick) {
        const groups = new Map();
        for (const row of rows) {
            for (const [name, why, what] of pick(row)) {
                const key = `${name}\n${what}\n${why}`;
                const group = groups.get(key) ?? { name, why, what, times: 0, last: row };
                group.times += 1;
                groups.set(key, group);
            }
        }
        return [...groups.values()].sort((a, b) => b.times - a.times);
    }
    const lastTime = (group) => [group.times > 1 ? "last on " : "on ", time(group.last[TIME], minute(group.last[TIME]))];

    // ── The first screen

    const hasEvents = rows.length > 0;
    const tried = summary.backtest;
    const triedTotal = tried?.verdicts ?? {};
    const triedCalls = ["pass", "block", "ask", "modify"].reduce((sum, it) => sum + (triedTotal[it] ?? 0), 0);

    function head() {
        const [first, last] = [rows.at(-1), rows[0]];
        const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
        if (hasEvents) {
            const [from, to] = [dayFormat.format(first[TIME]), dayFormat.format(last[TIME])];
            byId("period").append(from === to ? from : `${from} – ${to}`, ` · ${many(rows.length, "event")}`);
        }
        byId("made").append("Made by hookbox ", plain(summary.version), " on ", time(summary.made, whole.format(summary.made)),
            `. Times are in ${zone}. This file needs no network.`,
            summary.unread ? ` ${many(summary.unread, "line")} of the journal could not be read.` : "");
        const lead = byId("lead");
        if (!hasEvents) {
            byId("headline").textContent = triedCalls ? `${many(triedTotal.block ?? 0, "past call")} would have been blocked` : "The journal has no events";
            if (triedCalls) lead.append(`The hooks were tried on ${many(triedCalls, "call")} of past sessions.`);
            else lead.append("hookbox records events if ", el("code", null, "enabled = true"), " is below ", el("code", null, "[journal]"), " in ", el("code", null, "~/.hookbox/hookbox.toml"), ".");
            return;
        }
        const areCalls = rows.every((row) => row[VERDICT] !== "blocked" || row[TOOL]);
        const thing = areCalls ? "call" : "event";
        byId("headline").textContent = total.blocked
            ? `${many(total.blocked, thing)} ${total.blocked === 1 ? "was" : "were"} blocked` : "Nothing was blocked";
        const by = new Map();
        for (const row of rows) if (row[VERDICT] === "blocked") tally(by, row[BY]);
        const who = biggest(by).slice(0, 3);
        if (who.length) {
            const parts = who.map(([name, times], at) => [at === 0 ? "" : at === who.length - 1 && by.size <= 3 ? " and " : ", ", el("strong", null, data(word(name) || "hookbox")), who.length > 1 ? ` (${n(times)})` : ""]);
            lead.append("By ", ...parts.flat(), by.size > 3 ? ` and ${many(by.size - 3, "other hook")}` : "", ". ");
        }
        const took = sorted(rows.map((row) => row[TOOK]));
        lead.append(`Half of all events took less than ${span(quantile(took, 0.5))}, and 95 % less than ${span(quantile(took, 0.95))}.`);
        const tile = (tone, count, label, isAlways) => (isAlways || count > 0) && el("li", null,
            el("button", { type: "button", class: count ? "tile" : "tile none", "data-tone": tone, on: { click: () => showEvents({ verdict: tone }) } },
                el("b", null, n(count)), el("span", null, label)));
        byId("tiles").append(...[
            tile("blocked", total.blocked, "blocked", true),
            tile("asked", total.asked, "asked about", true),
            tile("changed", total.changed, "changed", true),
            tile("allowed", total.allowed, "allowed"),
            tile("failed", total.failed, "with a failure", true),
            tile("shadow", total.shadow, "in shadow mode"),
        ].filter(Boolean));
    }

    function blockedAndAsked() {
        for (const [verdict, title, name] of [["blocked", "What was blocked, and why", "Blocked"], ["asked", "What was asked", "Asked"]]) {
            const groups = grouped((row) => (row[VERDICT] === verdict ? [[row[BY], row[WHY], ""]] : []));
            for (const group of groups) {
                group.meta = [data(word(group.name) || "hookbox"), " · ", lastTime(group), group.last[AGENT] ? [" · ", data(word(group.last[AGENT]))] : ""];
                group.sample = group.last[SUBJECT];
                group.show = () => showEvents({ verdict, hook: group.name, why: group.why });
            }
            if (groups.length) section(verdict, title, name, groupList(verdict, groups, "reasons"));
        }
    }

    // ── Charts

    /** Returns the buckets of a chart: hours of one or two days, days of a quarter, or weeks. */
    function bucketsOf(map) {
        const keys = [...map.keys()].sort();
        if (!keys.length) return [];
        const [first, last] = [midnight(keys[0]), midnight(keys.at(-1))];
        const buckets = [];
        const isWeekly = last - first > 95 * 864e5;
        for (let at = new Date(first); at.getTime() <= last && buckets.length < 520; at.setDate(at.getDate() + (isWeekly ? 7 : 1))) {
            const bucket = { label: (isWeekly ? "week of " : "") + dayFormat.format(at), tick: shortDay.format(at), day: isWeekly ? null : dayOf(at), values: {} };
            for (let part = 0, day = new Date(at); part < (isWeekly ? 7 : 1); part += 1, day.setDate(day.getDate() + 1)) {
                for (const [key, value] of Object.entries(map.get(dayOf(day)) ?? {})) bucket.values[key] = (bucket.values[key] ?? 0) + value;
            }
            buckets.push(bucket);
        }
        return buckets;
    }
    function hours() {
        const first = new Date(rows.at(-1)[TIME]);
        first.setMinutes(0, 0, 0);
        const buckets = [];
        for (let at = first.getTime(); at <= rows[0][TIME]; at += 36e5) {
            buckets.push({ label: `${minute(at)} – ${clock.format(at + 36e5)}`, tick: clock.format(at), day: dayOf(at), values: {} });
        }
        for (const row of rows) count1(buckets[Math.floor((row[TIME] - first.getTime()) / 36e5)]?.values, row);
        return buckets;
    }
    function count1(values, row) {
        if (!values) return;
        values.all = (values.all ?? 0) + 1;
        values[row[VERDICT]] = (values[row[VERDICT]] ?? 0) + 1;
        if (row[FAILED]) values.failed = (values.failed ?? 0) + 1;
    }

    const nice = (top) => {
        const power = 10 ** Math.floor(Math.log10(Math.max(top, 1)));
        return Math.max([1, 2, 4, 5, 10].map((it) => it * power).find((it) => it >= top), 2);
    };

    /** Returns a chart of decisions above a chart of all events, and the same as a table. */
    function chart(buckets, tones, allLabel, open) {
        const used = tones.filter(([tone]) => buckets.some((it) => it.values[tone]));
        const sum = (bucket) => used.reduce((sum, [tone]) => sum + (bucket.values[tone] ?? 0), 0);
        const [top, topAll] = [nice(Math.max(...buckets.map(sum))), Math.max(1, ...buckets.map((it) => it.values.all ?? 0))];
        const figure = el("figure", { class: "chart" });
        const keys = el("p", { class: "keys" }, used.map(([tone, label]) => el("span", { class: "key", "data-tone": tone }, label)), el("span", { class: "key" }, allLabel));
        const most = buckets.reduce((a, b) => (sum(b) > sum(a) ? b : a));
        const alternative = `${many(buckets.reduce((all, it) => all + sum(it), 0), "decision")} in ${many(buckets.length, "bar")}. The most, ${n(sum(most))}, on ${most.label}. A table follows.`;
        const holder = el("div");
        const draw = (width) => {
            const [left, high, gap, low] = [String(n(top)).length * 8 + 8, 150, 22, 34];
            const svg = el("svg", { viewBox: `0 0 ${width} ${high + gap + low + 24}`, role: "img", "aria-label": alternative });
            for (const part of [0, 0.5, 1]) {
                const y = 8 + (high - 8) * (1 - part);
                svg.append(el("svg:line", { class: "rule", x1: left, x2: width, y1: y, y2: y }), el("svg:text", { x: left - 8, y: y + 4, "text-anchor": "end" }, n(top * part)));
            }
            const step = (width - left) / buckets.length;
            const bar = Math.max(1, Math.min(30, step - Math.max(1, step * 0.28)));
            const every = Math.ceil(64 / step);
            buckets.forEach((bucket, at) => {
                const x = left + step * at + (step - bar) / 2;
                const canOpen = open && bucket.day && bucket.values.all;
                const title = [`${bucket.label}: ${many(bucket.values.all ?? 0, "event")}`, ...used.filter(([tone]) => bucket.values[tone]).map(([tone, label]) => `${n(bucket.values[tone])} ${label}`)].join(", ");
                const group = el("svg:g", canOpen ? { on: { click: () => open(bucket.day) } } : null, el("svg:title", null, title));
                let y = high;
                for (const [tone] of used) {
                    const height = ((bucket.values[tone] ?? 0) / top) * (high - 8);
                    if (!height) continue;
                    y -= height;
                    group.append(el("svg:rect", { class: "bar", "data-tone": tone, x, y, width: bar, height: Math.max(height - 1, 1), rx: Math.min(2, height / 2) }));
                }
                const height = Math.max(((bucket.values.all ?? 0) / topAll) * low, bucket.values.all ? 1 : 0);
                group.append(el("svg:rect", { class: "all", x, y: high + gap + low - height, width: bar, height, rx: Math.min(2, height / 2) }),
                    el("svg:rect", { class: canOpen ? "hit open" : "hit", x: left + step * at, y: 0, width: step, height: high + gap + low }));
                svg.append(group);
                const isRoomy = left + step * at + 48 < width || buckets.length === 1;
                if (at % every === 0 && isRoomy) svg.append(el("svg:text", { x: step > 60 ? x + bar / 2 : x, y: high + gap + low + 18, "text-anchor": step > 60 ? "middle" : "start" }, bucket.tick));
            });
            svg.append(el("svg:line", { class: "rule", x1: left, x2: width, y1: high + gap + low, y2: high + gap + low }));
            holder.replaceChildren(svg);
        };
        let drawn = 0;
        new ResizeObserver(([entry]) => {
            const width = Math.round(entry.contentRect.width);
            if (width > 40 && width !== drawn) draw((drawn = width));
        }).observe(holder);
        const lines = [...buckets].reverse().filter((it) => it.values.all).map((bucket) => [
            open && bucket.day ? el("button", { type: "button", class: "link", on: { click: () => open(bucket.day) } }, bucket.label) : bucket.label,
            n(bucket.values.all), ...used.map(([tone]) => toned(tone, bucket.values[tone] ?? 0))]);
        const details = el("details", null, el("summary", null, "Show as a table"));
        details.addEventListener("toggle", () => {
            if (details.open && !details.querySelector("table")) details.append(table("The chart as a table", [["Time"], [allLabel, true], ...used.map(([, label]) => [label, true])], lines));
        });
        figure.append(keys, holder, details);
        return figure;
    }

    function overTime() {
        const isShort = rows[0][TIME] - rows.at(-1)[TIME] <= 36 * 36e5;
        const byDay = new Map();
        if (!isShort) {
            for (const row of rows) {
                const day = dayOf(row[TIME]);
                if (!byDay.has(day)) byDay.set(day, {});
                count1(byDay.get(day), row);
            }
        }
        const tones = [["blocked", "blocked"], ["asked", "asked about"], ["changed", "changed"], ["allowed", "allowed"]];
        section("time", "Over time", "Time", chart(isShort ? hours() : bucketsOf(byDay), tones, "all events", (day) => showEvents({ day })));
    }

    // ── Hooks, failures, rights, shadow mode, changes

    const filterButton = (name, more) => el("button", { type: "button", class: "link data", on: { click: () => showEvents({ hook: name, ...more }) } }, visible(word(name)));

    function ofHooks() {
        const all = [...hooks].sort(([, a], [, b]) => b.blocked - a.blocked || b.runs - a.runs);
        if (!all.length) return;
        const hasShadow = total.shadow > 0;
        const columns = [["Hook"], ["Runs", true], ["Blocked", true], ["Asked", true], ["Changed", true], ["Failed", true], ...(hasShadow ? [["In shadow", true]] : []),
            ["p50", true], ["p95", true], ["p99", true], ["Fuel", true], ["Memory", true]];
        const line = ([name, it]) => {
            const [took, fuel] = [sorted(it.took), sorted(it.fuel)];
            return [filterButton(name), n(it.runs), toned("blocked", it.blocked), toned("asked", it.asked), toned("changed", it.changed), toned("failed", it.failed),
                ...(hasShadow ? [toned("shadow", it.shadow)] : []),
                ...[0.5, 0.95, 0.99].map((part) => (took.length ? span(quantile(took, part)) : "–")), fuel.length ? large(quantile(fuel, 0.5)) : "–", it.memory ? bytes(it.memory) : "–"];
        };
        section("hooks", "Hooks: decisions and cost", "Hooks",
            note("p50, p95 and p99: half, 95 % and 99 % of its runs took no longer. Fuel is the median of a component’s runs, and memory the peak."),
            longList(all, 15, "hooks", (some) => table("Hooks, their decisions, latency, fuel and memory", columns, some.map(line))));
    }

    function ofFailures() {
        const all = [...failures.values()].sort((a, b) => b.times - a.times);
        if (!all.length) return;
        section("failures", "Failures by cause", "Failures", longList(all, 15, "failures", (some) => table("Failures of hooks, by cause", [["Cause"], ["Hook"], ["Times", true], ["Last"]],
            some.map((it) => [[el("code", null, plain(it.cause || "unknown")), el("span", { class: "meta" }, CAUSES[it.cause] ? ` ${CAUSES[it.cause]}` : "")],
                filterButton(it.name, { verdict: "failed" }), toned("failed", it.times), time(it.last[TIME], minute(it.last[TIME]))]))));
    }

    function ofRights() {
        const had = new Map(summary.hooks.map(([name, kind, tier, , trusted, rights]) => [name, { kind: word(kind), tier: word(tier), trusted, rights: rights.map(word) }]));
        const lacked = new Map();
        for (const it of denials.values()) lacked.set(it.name, [...(lacked.get(it.name) ?? []), it]);
        const names = [...new Set([...lacked.keys(), ...had.keys()])].filter((name) => lacked.has(name) || had.get(name)?.rights.length || had.get(name)?.trusted === false);
        if (!names.length) return;
        section("rights", "Rights", "Rights", note("A component has the rights that you granted. A right that it used without a grant was denied."),
            longList(names, 15, "hooks", (some) => table("Rights of hooks", [["Hook"], ["Kind"], ["Granted"], ["Denied"]], some.map((name) => {
                const it = had.get(name);
                return [filterButton(name), it ? [plain(it.kind), el("span", { class: "meta" }, ` ${plain(it.tier)}${it.trusted ? "" : ", not trusted"}`)] : "",
                    it?.rights.length ? el("ul", { class: "list" }, it.rights.map((right) => el("li", null, el("code", { class: "data" }, visible(right))))) : el("span", { class: "zero" }, "none"),
                    lacked.has(name) ? el("ul", { class: "list" }, lacked.get(name).map((it) => el("li", null,
                        badge("failed", `${n(it.times)}×`), " ", el("code", { class: "data" }, visible(word(it.right))), it.fix ? [el("br"), el("span", { class: "meta" }, "to grant: "), el("code", { class: "data meta" }, visible(it.fix))] : ""))) : el("span", { class: "zero" }, "none")];
            }))));
    }

    function ofShadow() {
        const groups = grouped((row) => row[SHADOW].map(([name, would, why]) => [name, why, would]));
        if (!groups.length) return;
        for (const group of groups) {
            group.meta = [badge("shadow", `would have ${word(group.what)}`), " ", data(word(group.name)), " · ", lastTime(group)];
            group.sample = group.last[SUBJECT];
            group.show = () => showEvents({ verdict: "shadow", hook: group.name });
        }
        section("shadow", "In shadow mode", "Shadow mode", note("These hooks were asked, and their answers were not acted on."), groupList("shadow", groups, "reasons"));
    }

    async function ofChanges() {
        const all = rows.filter((row) => row[VERDICT] === "changed");
        if (!all.length) return;
        const list = el("ol", { class: "steps" });
        section("changes", "What was changed", "Changes", list, button(`Show all ${n(all.length)} changed events`, () => showEvents({ verdict: "changed" }), { class: "button more" }));
        for (const row of all.slice(0, 3)) {
            const entry = el("li");
            list.append(entry);
            const record = await recordOf(row);
            entry.append(el("p", { class: "meta" }, badge("changed"), " ", data(word(row[BY])), " · ", time(row[TIME], minute(row[TIME])), row[TOOL] ? [" · ", data(word(row[TOOL]))] : ""),
                ...changesOf(record).slice(0, 4).flatMap((it) => differences(it)),
                el("p", null, el("button", { type: "button", class: "link", on: { click: () => openRecord(row) } }, "Open the record", el("span", { class: "hidden" }, ` of ${plain(row[SUBJECT])}`))));
        }
    }
    const changesOf = (record) => (record.report?.hooks ?? []).flatMap((hook) => (Array.isArray(hook.changes) ? hook.changes : []));

    // ── The backtest

    function ofBacktest() {
        if (!tried) return;
        const node = section("backtest", "Tried on the past", "Backtest");
        const parts = ["block", "ask", "modify"].map((key) => n(triedTotal[key] ?? 0));
        node.append(note(`Of ${many(triedCalls, "call")} in past sessions, ${parts[0]} would have been blocked, ${parts[1]} asked about, and ${parts[2]} changed.`));
        const byDay = new Map(Object.entries(tried.days ?? {}).filter(([day]) => /^\d{4}-\d\d-\d\d$/.test(day)).map(([day, it]) =>
            [day, { all: it.pass + it.block + it.ask + it.modify, blocked: it.block, asked: it.ask, changed: it.modify }]));
        if (byDay.size) node.append(chart(bucketsOf(byDay), [["blocked", "blocked"], ["asked", "asked about"], ["changed", "changed"]], "all calls"));
        const named = Object.entries(tried.hooks ?? {});
        node.append(table("Hooks of the backtest", [["Hook"], ["Calls", true], ["Blocked", true], ["Asked", true], ["Changed", true], ["Failed", true], ["Mean", true], ["Longest", true], ["Fuel", true]],
            named.map(([name, it]) => [data(name), n(it.calls), toned("blocked", it.block), toned("asked", it.ask), toned("changed", it.modify), toned("failed", it.failed),
                span(Math.round(it.duration_us / Math.max(it.calls, 1))), span(it.longest_us), it.fuel ? large(Math.round(it.fuel / Math.max(it.calls, 1))) : "–"])));
        const tones = { block: "blocked", ask: "asked", modify: "changed" };
        for (const [name, it] of named) {
            if (!it.commands?.length) continue;
            const groups = it.commands.map((group) => ({
                tone: tones[group.answer], times: group.count, why: group.reason, sample: group.command,
                meta: [badge(tones[group.answer], tones[group.answer] ? `would have ${tones[group.answer]}` : group.answer), " ", data(group.tool), group.team && [" in ", data(group.team)]],
                after: group.next && ["next: ", data(group.next.tool), " ", el("code", { class: "data" }, visible(group.next.command))],
            }));
            node.append(el("h3", { class: "more" }, data(name)), groupList("blocked", groups, "commands"));
        }
        const sources = Object.entries(tried.sources ?? {});
        if (sources.length) {
            node.append(table("Sources of the backtest", [["Source"], ["Files", true], ["Calls", true], ["Shell calls", true], ["Not read", true]],
                sources.map(([name, it]) => [data(name), n(it.files), n(it.calls), n(it.shell_calls), n(it.not_read)])));
        }
        const byTool = Object.entries(tried.tools ?? {}).sort(([, a], [, b]) => b.block + b.ask + b.modify - a.block - a.ask - a.modify);
        if (byTool.length) {
            node.append(longList(byTool, 10, "tools", (some) => table("Tools of the backtest", [["Tool"], ["Passed", true], ["Blocked", true], ["Asked", true], ["Changed", true]],
                some.map(([name, it]) => [data(name), n(it.pass), toned("blocked", it.block), toned("asked", it.ask), toned("changed", it.modify)]))));
        }
        if (tried.agent_hooks?.length) {
            node.append(table("The agents’ own hooks", [["Hook of the agent"], ["Runs", true], ["Failed", true], ["A run", true], ["Command"]],
                tried.agent_hooks.slice(0, 100).map((it) => [data(it.name), n(it.runs), toned("failed", it.failed), `${n(Math.round(it.total_ms / Math.max(it.runs, 1)))} ms`, el("code", { class: "data" }, visible(it.command))])));
        }
    }

    // ── The list of events

    const filter = {};
    let shown = rows;
    let page = 0;
    let fields, status, body, pages, chips;

    function ofEvents() {
        const choice = (name, label, options) => {
            const select = el("select", { id: `by-${name}`, name }, el("option", { value: "" }, "all"), options.map(([value, text]) => el("option", { value }, plain(text))));
            return [select, el("div", null, el("label", { for: select.id }, label), select)];
        };
        const named = (map) => biggest(map).slice(0, 1000).map(([key, times]) => [key, `${word(key)} (${n(times)})`]);
        const verdicts = [...VERDICTS, "failed", "shadow"].filter((it) => total[it]).map((it) => [it, `${LABELS[it]} (${n(total[it])})`]);
        const search = el("input", { type: "search", id: "by-text", name: "text", autocomplete: "off", spellcheck: "false" });
        const choices = {
            verdict: choice("verdict", "Verdict", verdicts),
            hook: choice("hook", "Hook", named(new Map([...hooks].map(([name, it]) => [name, it.runs])))),
            tool: choice("tool", "Tool", named(tools)),
            agent: choice("agent", "Agent", named(agents)),
            day: choice("day", "Day", [...days].sort().reverse().slice(0, 1000).map(([day, times]) => [day, `${dayFormat.format(midnight(day))} (${n(times)})`])),
        };
        fields = { text: search, ...Object.fromEntries(Object.entries(choices).map(([name, [select]]) => [name, select])) };
        let wait = 0;
        search.addEventListener("input", () => {
            clearTimeout(wait);
            wait = setTimeout(() => change({ text: search.value }), 200);
        });
        for (const [name, [select]] of Object.entries(choices)) select.addEventListener("change", () => change({ [name]: select.value }));
        const form = el("form", { class: "filter", role: "search", "aria-label": "Events", on: { submit: (event) => { event.preventDefault(); clearTimeout(wait); change({ text: search.value }); } } },
            el("div", { class: "text" }, el("label", { for: search.id }, "Search in the whole records"), search),
            button("Clear", () => showEvents({})), Object.values(choices).map(([, node]) => node));
        status = el("p", { role: "status", "aria-live": "polite" });
        chips = el("span");
        body = el("tbody");
        const column = (name, title) => el("th", { scope: "col", class: name }, title);
        const list = el("table", { class: "events" }, el("caption", { class: "hidden" }, "Events, the newest first"),
            el("thead", null, el("tr", null, column("when", "Time"), column("verdict", "Verdict"), column("tool", "Tool"), column("what", "Call or event"), column("by", "Hook"), column("took n", "Took"))), body);
        pages = el("nav", { class: "pages", "aria-label": "Pages of events" });
        section("events", "Events", "Events", form, el("div", { class: "status" }, status, chips), el("div", { class: "scroll" }, list), pages);
        draw();
    }

    /** Sets the filter, and goes to the list. */
    function showEvents(to) {
        for (const name of Object.keys(filter)) delete filter[name];
        change(to);
        byId("events").scrollIntoView();
        byId("events-title").setAttribute("tabindex", "-1");
        byId("events-title").focus({ preventScroll: true });
    }

    let turn = 0;
    async function change(to) {
        Object.assign(filter, to);
        // A reason belongs to the hook and the verdict with which it came.
        if (!("why" in to)) delete filter.why;
        for (const [name, field] of Object.entries(fields)) if (field !== document.activeElement || name !== "text") field.value = filter[name] ?? "";
        const mine = (turn += 1);
        const found = filter.text?.trim() ? await search(filter.text.trim(), () => mine === turn) : null;
        if (mine !== turn) return;
        const [hook, tool, agent] = [filter.hook, filter.tool, filter.agent].map((it) => (it === undefined || it === "" ? null : Number(it)));
        shown = rows.filter((row) => {
            if (filter.verdict === "failed" ? !row[FAILED] : filter.verdict === "shadow" ? !row[SHADOW].length : filter.verdict && row[VERDICT] !== filter.verdict) return false;
            if (tool !== null && row[TOOL] !== tool) return false;
            if (agent !== null && row[AGENT] !== agent) return false;
            if (filter.day && dayOf(row[TIME]) !== filter.day) return false;
            if (filter.why !== undefined && (row[WHY] !== filter.why || row[BY] !== hook)) return false;
            if (hook !== null && !isBy(row, hook)) return false;
            return !found || found.get(row[BLOCK])?.has(row[PLACE]);
        });
        page = 0;
        draw();
    }

    /** Returns true if a hook ran in this event; with a verdict, if the verdict is of this hook. */
    function isBy(row, hook) {
        if (filter.verdict === "shadow") return row[SHADOW].some(([name]) => name === hook);
        let is = false;
        hooksOf(row, ({ name, status }) => {
            is ||= name === hook && (!filter.verdict || filter.verdict === "passed" || status === filter.verdict || row[BY] === hook);
        });
        return is || (row[BY] === hook && hook !== 0);
    }

    /* The blocks that are unpacked at the same time. */
    const BATCH = 8;
    let searched = { text: null, found: null };
    /** Finds a text in the values of all records; the names of their fields do not count. */
    async function search(text, isWanted) {
        if (searched.text === text) return searched.found;
        const wanted = new RegExp(JSON.stringify(text).slice(1, -1).replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "i");
        const found = new Map();
        const find = (text, block) => {
            // Most blocks have no such text, so their lines need no look.
            if (!wanted.test(text)) return;
            const places = new Set();
            text.split("\n").forEach((line, at) => {
                if (wanted.test(line) && wanted.test(line.replace(/"(?:[^"\\]|\\.)*":/g, ""))) places.add(at);
            });
            if (places.size) found.set(block, places);
        };
        for (let block = 0; block < blocks.length; block += BATCH) {
            if (block > 4 * BATCH) status.textContent = `Searching … ${Math.round((block / blocks.length) * 100)} %`;
            const batch = [...blocks.keys()].slice(block, block + BATCH);
            (await Promise.all(batch.map(unpack))).forEach((text, at) => find(text, batch[at]));
            if (!isWanted()) return null;
        }
        searched = { text, found };
        return found;
    }

    function draw() {
        const last = Math.max(0, Math.ceil(shown.length / PAGE) - 1);
        page = Math.min(page, last);
        status.textContent = shown.length === rows.length ? many(rows.length, "event") : `${n(shown.length)} of ${many(rows.length, "event")}`;
        chips.replaceChildren(...(filter.why === undefined ? [] : [button(["Reason: ", plain(filter.why), " ✕", el("span", { class: "hidden" }, " remove this filter")], () => change({}), { title: plain(filter.why) })]));
        const lines = shown.slice(page * PAGE, (page + 1) * PAGE).map((row) => {
            const cell = (name, ...children) => el("td", { class: name }, ...children);
            return el("tr", { class: "line" },
                cell("when", time(row[TIME], minute(row[TIME]))),
                cell("verdict", badge(row[VERDICT]), row[FAILED] && row[VERDICT] !== "blocked" ? [" ", badge("failed", "failure")] : "", row[SHADOW].length ? [" ", badge("shadow", "shadow")] : ""),
                cell("tool", data(word(row[TOOL]) || word(row[EVENT]))),
                cell("what", el("button", { type: "button", class: "link mono data", on: { click: () => openRecord(row) } }, visible(row[SUBJECT] || word(row[EVENT]))),
                    row[WHY] && el("div", { class: "reason" }, sentence(row[WHY])),
                    el("div", { class: "small" }, time(row[TIME], minute(row[TIME])), " · ", data(word(row[TOOL]) || word(row[EVENT])), row[BY] ? [" · ", data(word(row[BY]))] : "")),
                cell("by", data(word(row[BY]))),
                cell("took n", span(row[TOOK])));
        });
        body.replaceChildren(...(lines.length ? lines : [el("tr", null, el("td", { class: "empty", colspan: "6" }, "No event matches."))]));
        const to = (text, target, label) => button(text, () => {
            page = target;
            draw();
            pages.querySelector(`[data-place="${label}"]:not(:disabled)`)?.focus();
            byId("events").scrollIntoView();
        }, { disabled: target < 0 || target > last || target === page, "data-place": label, "aria-label": `${label} page` });
        pages.replaceChildren(...(last === 0 ? [] : [to("« Newest", 0, "Newest"), to("‹ Newer", page - 1, "Newer"), el("span", null, `Page ${n(page + 1)} of ${n(last + 1)}`), to("Older ›", page + 1, "Older"), to("Oldest »", last, "Oldest")]));
    }

    // ── A record

    const MAX_SHOWN = 4000;
    /** Returns a block of text; the rest of a long text comes at the press of a button. */
    function blockOf(text, ...more) {
        text = typeof text === "string" ? text : JSON.stringify(text, null, 2) ?? "";
        const pre = el("pre", { class: "data" }, visible(text.slice(0, MAX_SHOWN), true));
        if (text.length <= MAX_SHOWN) return pre;
        const rest = button(`Show all ${n(text.length)} characters`, () => {
            pre.replaceChildren(...visible(text, true));
            rest.remove();
        }, { class: "button more" });
        return el("div", null, pre, rest, ...more);
    }
    const isObject = (it) => it !== null && typeof it === "object" && !Array.isArray(it);

    /** Returns the differences of a change, one for each field that differs. */
    function differences({ what, before, after }) {
        const fields = isObject(before) && isObject(after)
            ? [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key])).map((key) => [`${what}.${key}`, before[key], after[key]])
            : [[what, before, after]];
        const asText = (it) => (it == null ? "" : typeof it === "string" ? it : JSON.stringify(it, null, 2));
        return fields.slice(0, 50).flatMap(([name, from, to]) => [el("p", { class: "place" }, el("code", { class: "data" }, visible(name))), difference(asText(from), asText(to))]);
    }

    const MAX_LINES = 600;
    function difference(before, after) {
        const [a, b] = [before, after].map((it) => (it === "" ? [] : it.split("\n").slice(0, MAX_LINES)));
        const lines = [];
        const line = (name, sign, spoken, children) => el("p", { class: name }, el("span", { class: "sign", "aria-hidden": "true" }, sign), el("span", { class: "data" }, spoken && el("span", { class: "hidden" }, spoken), children));
        const removed = (text) => line("before", "−", "before: ", el("del", null, text));
        const added = (text) => line("after", "+", "after: ", el("ins", null, text));
        const steps = compare(a, b);
        for (let at = 0; at < steps.length; at += 1) {
            if (steps[at][0] === "same") {
                let end = at;
                while (end < steps.length && steps[end][0] === "same") end += 1;
                const [lead, trail] = [at === 0 ? 0 : 2, end === steps.length ? 0 : 2];
                for (let it = at; it < end; it += 1) {
                    if (it < at + lead || it >= end - trail || end - at <= 6) lines.push(line("same", "", "", visible(steps[it][1])));
                    else if (it === at + lead) lines.push(line("same", "⋯", "", `${many(end - at - lead - trail, "line")} unchanged`));
                }
                at = end - 1;
                continue;
            }
            let end = at;
            while (end < steps.length && steps[end][0] !== "same") end += 1;
            const [from, to] = ["before", "after"].map((side) => steps.slice(at, end).filter(([it]) => it === side).map(([, text]) => text));
            const pairs = from.length === to.length ? from.map((text, it) => marked(text, to[it])) : null;
            lines.push(...from.map((text, it) => removed(pairs ? pairs[it][0] : visible(text))), ...to.map((text, it) => added(pairs ? pairs[it][1] : visible(text))));
            at = end - 1;
        }
        const isCut = [before, after].some((it) => it.split("\n").length > MAX_LINES);
        if (isCut) lines.push(line("same", "⋯", "", `only the first ${n(MAX_LINES)} lines are compared`));
        return el("div", { class: "diff" }, lines);
    }

    /** Compares two lists of lines, by their longest common part. */
    function compare(a, b) {
        const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
        for (let i = a.length - 1; i >= 0; i -= 1) {
            for (let j = b.length - 1; j >= 0; j -= 1) longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
        }
        const steps = [];
        let [i, j] = [0, 0];
        while (i < a.length || j < b.length) {
            if (i < a.length && j < b.length && a[i] === b[j]) {
                steps.push(["same", a[i]]);
                i += 1;
                j += 1;
            } else if (j >= b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1])) steps.push(["before", a[i++]]);
            else steps.push(["after", b[j++]]);
        }
        return steps;
    }

    /** Returns two lines as nodes, with the part that differs marked. */
    function marked(before, after) {
        const [a, b] = [before, after].map((it) => it.match(/\s+|[\p{L}\p{N}_]+|./gsu) ?? []);
        let start = 0;
        while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
        let end = 0;
        while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
        return [a, b].map((it) => {
            const [lead, middle, trail] = [it.slice(0, start), it.slice(start, it.length - end), it.slice(it.length - end)].map((part) => visible(part.join("")));
            return [lead, middle.length ? el("mark", null, middle) : "", trail];
        });
    }

    const dialog = byId("record");
    dialog.addEventListener("click", (event) => {
        if (event.target === dialog) dialog.close();
    });
    dialog.addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));

    async function openRecord(row) {
        const record = await recordOf(row);
        const at = shown.indexOf(row);
        const go = (text, to, label) => button(text, async () => {
            await openRecord(shown[to]);
            dialog.querySelector(`[data-place="${label}"]:not(:disabled)`)?.focus();
        }, { disabled: at < 0 || !shown[to], "data-place": label });
        const bar = el("div", { class: "bar-of-record" }, go("‹ Newer", at - 1, "newer"), go("Older ›", at + 1, "older"), button("Close", () => dialog.close(), { class: "button close" }));
        dialog.replaceChildren(bar, el("div", { class: "record" }, recordParts(row, record)));
        if (!dialog.open) {
            dialog.showModal();
            dialog.querySelector(".close").focus();
        }
        dialog.scrollTop = 0;
        if (/^[a-z0-9]{1,32}$/.test(row[ID])) history.replaceState(null, "", `#${row[ID]}`);
    }

    function recordParts(row, record) {
        const event = isObject(record.event) ? record.event : {};
        const fact = (name, value) => (value === undefined || value === null || value === "" ? [] : [el("dt", null, name), el("dd", null, value instanceof Node ? value : data(value))]);
        const part = (title, ...children) => children.flat().length > 0 && el("section", null, el("h3", null, title), ...children);
        const context = ["event", "conv_id", "cwd", "invoked_by", "recipe_name", "tool_name", "tool_input", "tool_output", "tool_user_id"];
        const rest = Object.fromEntries(Object.entries(event).filter(([key]) => !context.includes(key)));
        const input = event.tool_input;
        const isOneText = isObject(input) && Object.keys(input).length === 1 && typeof Object.values(input)[0] === "string";
        const hooks = Array.isArray(record.report?.hooks) ? record.report.hooks : [];
        const changed = hooks.filter((hook) => Array.isArray(hook.changes) && hook.changes.length);
        return [
            el("p", null, badge(row[VERDICT]), row[FAILED] ? [" ", badge("failed")] : "", row[SHADOW].length ? [" ", badge("shadow", "shadow mode")] : ""),
            el("h2", { id: "record-title" }, data(word(row[TOOL]) ? `${word(row[TOOL])}: ${word(row[EVENT])}` : word(row[EVENT]))),
            row[WHY] && el("p", { class: "why" }, sentence(row[WHY])),
            el("dl", { class: "facts" },
                fact("Time", time(row[TIME], whole.format(row[TIME]))), fact("By", word(row[BY])), fact("Agent", record.agent), fact("Directory", record.cwd ?? event.cwd),
                fact("Conversation", record.conversation ?? event.conv_id), fact("Invoked by", event.invoked_by), fact("Took", span(row[TOOK])),
                fact("Record", el("code", { class: "data" }, visible(row[ID]))),
                fact("Note", [record.redacted && "secrets were removed before it was recorded", record.cut && "parts were too long, and left out"].filter(Boolean).join("; "))),
            part("Input", input === undefined ? [] : blockOf(isOneText ? Object.values(input)[0] : input)),
            part("Output", event.tool_output === undefined ? [] : blockOf(event.tool_output)),
            part("Data", Object.keys(rest).length ? blockOf(rest) : []),
            part("Before and after", changed.map((hook) => [el("p", { class: "place" }, "by ", data(hook.name)), ...hook.changes.slice(0, 50).flatMap(differences)])),
            part("Hooks, in the order in which they ran", hooks.length ? el("ol", { class: "steps" }, hooks.slice(0, 200).map(step)) : el("p", { class: "note" }, "No hook was asked.")),
            part("Verdict", blockOf(record.verdict ?? {})),
            part("Run it again", blockOf(`hookbox log show ${row[ID]}\nhookbox replay ${row[ID]}`)),
            el("section", null, el("h3", null, "The whole record"), wholeRecord(record)),
        ].filter(Boolean);
    }

    function wholeRecord(record) {
        const details = el("details", { class: "more" }, el("summary", null, "Show as JSON"));
        details.addEventListener("toggle", () => {
            if (details.open && !details.querySelector("pre")) details.append(blockOf(record));
        });
        return details;
    }

    function step(hook) {
        const status = String(hook.status ?? "");
        const tone = { blocked: "blocked", asked: "asked", changed: "changed", allowed: "allowed", failed: "failed", untrusted: "failed" }[status] ?? "passed";
        const cost = [hook.duration_us != null && status !== "skipped" && span(hook.duration_us), hook.fuel && `${large(hook.fuel)} fuel`, hook.memory_peak_bytes && bytes(hook.memory_peak_bytes)].filter(Boolean);
        const denied = Array.isArray(hook.denied) ? hook.denied : [];
        return el("li", null,
            el("div", { class: "step" }, badge(tone, status), hook.would && badge("shadow", `would have ${hook.would}`), el("h4", null, data(hook.name)), el("span", { class: "cost" }, cost.join(" · "))),
            el("p", { class: "meta" }, plain([hook.kind, hook.tier, hook.trusted === false && "not trusted"].filter(Boolean).join(" · ")),
                hook.rights?.length ? [" · rights: ", data(hook.rights.join(", "))] : ""),
            hook.cause && el("p", null, el("code", null, plain(hook.cause)), CAUSES[hook.cause] ? `: ${CAUSES[hook.cause]}` : ""),
            hook.message && el("p", null, sentence(hook.message)),
            hook.limit && el("p", null, "limit: ", data(`${hook.limit.of} ${hook.limit.limit}${hook.limit.used == null ? "" : `, used ${hook.limit.used}`}`)),
            denied.map((it) => el("p", null, badge("failed", "denied"), " ", el("code", { class: "data" }, visible(it.right)), it.fix ? [" to grant: ", el("code", { class: "data" }, visible(it.fix))] : "")),
            hook.seen && el("details", null, el("summary", null, "The event as this hook saw it"), blockOf(hook.seen)),
            hook.settings && Object.keys(hook.settings).length > 0 && el("details", null, el("summary", null, "Its settings"), blockOf(hook.settings)),
            hook.log && el("details", null, el("summary", null, "Its log"), blockOf(hook.log)));
    }

    // ── All of it

    head();
    if (hasEvents) {
        blockedAndAsked();
        overTime();
        ofHooks();
        ofFailures();
        ofShadow();
        ofChanges();
        ofRights();
    }
    ofBacktest();
    if (hasEvents) ofEvents();
    const linked = location.hash.length > 1 && rows.find((row) => row[ID] === location.hash.slice(1));
    if (linked) openRecord(linked);
})();
