// SPDX-License-Identifier: MIT
// The page of tally report --html: events to choose from, a flame graph, a table of functions, and
// the code of one of them. Data is the JSON that profile_page.c wrote into the page. Names of a
// profile are foreign, so they reach the document as text alone.
import flamegraph from "d3-flame-graph";
import { select } from "d3-selection";

const data = JSON.parse(document.getElementById("profile").textContent);
const { columns, functions, objects, sources, threads, tree } = data;
const state = { column: 0, order: { key: 0, falls: true }, chosen: null, filter: "" };
const by = (id) => document.getElementById(id);

// ---- Small things.

function make(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
}

// Integers above 2^53 are texts of the JSON.
const real = (value) => (value === null || value === undefined ? 0 : Number(value));
function number(value) {
    if (value === null || value === undefined) return "-";
    if (typeof value === "string") return value.replace(/\B(?=(\d{3})+$)/g, ",");
    if (Number.isInteger(value)) return value.toLocaleString("en-US");
    return value.toLocaleString("en-US", { maximumSignificantDigits: Math.abs(value) < 1000 ? 3 : 6 });
}
const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(2)} %` : "-");
const total = (column) => real(columns[column].total);

// ---- Light and dark.

const themes = ["auto", "light", "dark"];
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
let theme = "auto";
try { theme = localStorage.getItem("tally-theme") || "auto"; } catch { /* a browser without storage */ }
function paintTheme() {
    const isDark = theme === "dark" || (theme === "auto" && prefersDark.matches);
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    by("theme").textContent = `Theme: ${theme}`;
}
prefersDark.addEventListener("change", paintTheme);
by("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("tally-theme", theme); } catch { /* it lasts as long as the page */ }
    paintTheme();
});

// ---- The flame graph. Counts of a frame are its own and those of all frames above it.

const children = tree ? tree.parent.map(() => []) : [];
const roots = [];
if (tree)
    tree.parent.forEach((parent, i) => (parent < 0 ? roots : children[parent]).push(i));
const frameName = (i) => (tree.function[i] < 0 ? "(smaller calls)" : functions[tree.function[i]].name);

function frames() {
    const measure = columns[state.column].measure;
    // A parent stands before its children, so going backwards meets children first.
    const nodes = tree.parent.map((_, i) => ({ name: frameName(i), context: i, own: real(tree.counts[measure][i]), value: 0, children: [] }));
    for (let i = nodes.length - 1; i >= 0; i--) {
        nodes[i].value = nodes[i].children.reduce((sum, child) => sum + child.value, nodes[i].own);
        if (tree.parent[i] >= 0 && nodes[i].value > 0) nodes[tree.parent[i]].children.push(nodes[i]);
    }
    const of = (thread) => roots.filter((i) => tree.thread[i] === thread).map((i) => nodes[i]).filter((node) => node.value > 0);
    const sum = (list) => list.reduce((all, node) => all + node.value, 0);
    let top = threads.map((name, thread) => ({ name, value: sum(of(thread)), children: of(thread) })).filter((node) => node.value > 0);
    if (top.length === 1) top = top[0].children;
    return { name: data.program, value: sum(top), children: top };
}

function hash(text) {
    let value = 2166136261;
    for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
    return (value >>> 0) / 4294967296;
}
// A hue for each object: warm colors for the program, cooler ones for libraries and the kernel.
const hues = [28, 198, 150, 262, 330, 48, 215, 95];
function color(node) {
    if (node.highlight) return "#c86bff";
    const context = node.data.context;
    if (context === undefined || tree.function[context] < 0) return "#b9bfca";
    const f = functions[tree.function[context]];
    const spread = hash(f.name);
    return `hsl(${hues[f.object % hues.length] + 16 * spread - 8} ${72 + 18 * spread}% ${64 + 12 * hash(f.name + "!")}%)`;
}

function describe(node) {
    const { value, own, context } = node.data;
    const lines = [`${number(value)} ${columns[state.column].name}, ${percent(value, total(state.column))}`];
    if (own !== undefined) lines.push(`${number(own)} of its own, ${percent(own, total(state.column))}`);
    if (context !== undefined && tree.calls[context] !== null) lines.push(tree.calls[context] === 1 ? "entered once" : `entered ${number(tree.calls[context])} times`);
    if (context !== undefined && tree.function[context] >= 0) lines.push(objects[functions[tree.function[context]].object]);
    return lines;
}

const tip = make("div", { className: "tip", hidden: true });
document.body.append(tip);
const tooltip = Object.assign(() => {}, {
    show(event, node) {
        tip.replaceChildren(make("b", { textContent: node.data.name }), ...describe(node).map((line) => make("div", { textContent: line })));
        tip.hidden = false;
        const box = tip.getBoundingClientRect();
        tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, window.innerWidth - box.width - 8))}px`;
        tip.style.top = `${event.clientY + 18 + box.height < window.innerHeight ? event.clientY + 18 : Math.max(8, event.clientY - box.height - 12)}px`;
    },
    hide() { tip.hidden = true; },
});

let chart = null;
function why() {
    const column = columns[state.column];
    if (!tree) return ["This profile has no call graph. Record one with ", make("code", { textContent: "tally record -g" }), "."];
    if (!column.adds) return [`${column.name} is a ratio and does not add up over calls. Choose an event that is counted.`];
    return [`${column.name} was not counted by call. Record it with `, make("code", { textContent: `tally record -g -e ${column.name}` }), "."];
}
function drawFlame() {
    const place = by("flame");
    place.replaceChildren();
    place.classList.remove("scrolls");
    chart = null;
    const has = columns[state.column].measure !== null;
    by("flame-tools").hidden = !has;
    by("flame-info").textContent = has ? "Click a frame to zoom into it and see its code." : "";
    if (!has) {
        place.append(make("div", { className: "none" }, ...why()));
        return;
    }
    chart = flamegraph().width(place.clientWidth - 2 * 14.4).cellHeight(20).minFrameSize(0.3).selfValue(false).inverted(by("icicle").checked)
        .transitionDuration(window.matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 250)
        .sort((a, b) => b.value - a.value || (a.data.name < b.data.name ? -1 : 1)).tooltip(tooltip).setColorMapper(color)
        .setDetailsHandler(() => {})
        .onClick((node) => {
            by("flame-info").textContent = `${node.data.name}: ${describe(node).join(", ")}`;
            if (node.data.context !== undefined && tree.function[node.data.context] >= 0) choose(tree.function[node.data.context], false);
        })
        .setSearchHandler((_, sum) => {
            by("flame-info").textContent = `${number(sum)} ${columns[state.column].name} in matching frames and below, ${percent(sum, total(state.column))}`;
        });
    select(place).datum(frames()).call(chart);
    const root = select(place).datum();
    place.classList.add("scrolls");
    // The chart leaves room for a title.
    if (by("icicle").checked) place.querySelector("svg").setAttribute("height", 20 * (1 + root.height));
    else place.scrollTop = place.scrollHeight;
    search();
}
function search() {
    if (!chart) return;
    const text = by("search").value.trim().toLowerCase();
    if (!text) chart.clear();
    else {
        chart.setSearchMatch((node) => node.data.name.toLowerCase().includes(text));
        chart.search(text);
    }
}
by("search").addEventListener("input", search);
by("zoom-out").addEventListener("click", () => chart && chart.resetZoom());
by("icicle").addEventListener("change", drawFlame);

// ---- The table of functions.

const keyOf = {
    name: (f) => f.name.toLowerCase(),
    dso: (f) => objects[f.object].toLowerCase(),
    all: (f) => real(f.all && f.all[columns[state.column].measure]),
};
const valueOf = (f, key) => (typeof key === "number" ? real(f.values[key]) : keyOf[key](f));
const hasAll = () => tree && columns[state.column].measure !== null;

function heading(key, text, title) {
    const isOrder = state.order.key === key;
    const cell = make("th", { title: title || "", scope: "col", className: typeof key === "string" && key !== "all" ? "left" : "" },
        make("button", { textContent: text, onclick: () => { orderBy(key); } }));
    if (isOrder) cell.ariaSort = state.order.falls ? "descending" : "ascending";
    return cell;
}
function orderBy(key) {
    state.order = { key, falls: state.order.key === key ? !state.order.falls : typeof key === "number" || key === "all" };
    drawTable();
}

const MAX_ROWS = 500;
function drawTable() {
    const { key, falls } = state.order;
    const wanted = state.filter.toLowerCase();
    const rows = functions.map((f, i) => i).filter((i) => functions[i].values)
        .filter((i) => !wanted || functions[i].name.toLowerCase().includes(wanted) || objects[functions[i].object].toLowerCase().includes(wanted));
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    rows.sort((a, b) => (falls ? -1 : 1) * compare(valueOf(functions[a], key), valueOf(functions[b], key)) || a - b);
    const head = make("tr", {}, make("th", { scope: "col", textContent: "share" }), heading("name", "function"),
        ...columns.map((column, i) => heading(i, column.name, column.meaning)),
        hasAll() ? heading("all", "with callees", `${columns[state.column].name} of the function and all that it called`) : null, heading("dso", "object"));
    const bodies = rows.slice(0, MAX_ROWS).map((i) => {
        const f = functions[i];
        const part = real(f.values[state.column]) / (total(state.column) || 1);
        const share = make("td", { className: "bar", textContent: columns[state.column].adds ? percent(real(f.values[state.column]), total(state.column)) : "" });
        if (columns[state.column].adds) share.style.setProperty("--share", `${100 * part}%`);
        const row = make("tr", { tabIndex: 0, ariaSelected: String(state.chosen === i), onclick: () => choose(i, true) }, share,
            make("td", { className: "name", textContent: f.name, title: f.name }),
            ...f.values.map((value, c) => make("td", { className: c === state.column ? "chosen" : "", textContent: number(value) })),
            hasAll() ? make("td", { textContent: f.all ? number(f.all[columns[state.column].measure]) : "-" }) : null,
            make("td", { className: "dso", textContent: objects[f.object] }));
        row.dataset.function = i;
        row.addEventListener("keydown", (event) => {
            if (event.key === "Enter") choose(i, true);
            const next = event.key === "ArrowDown" ? row.nextElementSibling : event.key === "ArrowUp" ? row.previousElementSibling : null;
            if (next) {
                event.preventDefault();
                next.focus();
            }
        });
        return row;
    });
    by("functions").replaceChildren(make("thead", {}, head), make("tbody", {}, ...bodies));
    by("functions-hint").textContent = rows.length > MAX_ROWS ? `${MAX_ROWS} of ${number(rows.length)} functions; the filter finds the others` : `${number(rows.length)} functions`;
}
by("filter").addEventListener("input", (event) => {
    state.filter = event.target.value.trim();
    drawTable();
});

// ---- The code of a function.

// Callers and callees by calls, from the contexts of the flame graph.
function neighbors(chosen) {
    const callers = new Map(), callees = new Map();
    if (!tree) return [];
    const add = (map, f, n) => { if (f >= 0) map.set(f, (map.get(f) || 0) + n); };
    tree.function.forEach((f, i) => {
        const parent = tree.parent[i] < 0 ? -1 : tree.function[tree.parent[i]];
        if (f === chosen) add(callers, parent, real(tree.calls[i]));
        if (parent === chosen) add(callees, f, real(tree.calls[i]));
    });
    return [["Called by", callers], ["Calls", callees]].filter(([, map]) => map.size > 0).map(([title, map]) => {
        const list = [...map].sort((a, b) => b[1] - a[1]);
        const items = list.slice(0, 8).flatMap(([f, n], i) => [i ? ", " : "", make("button", { textContent: functions[f].name, title: functions[f].name, onclick: () => choose(f, true) }), ` ${number(n)}×`]);
        return make("div", {}, make("span", { className: "hint", textContent: `${title} ` }), ...items, list.length > 8 ? ` and ${list.length - 8} more` : "");
    });
}

function drawCode() {
    const f = functions[state.chosen];
    by("code-title").textContent = f ? f.name : "Code";
    by("code-hint").textContent = f && f.values ? columns.map((column, i) => `${number(f.values[i])} ${column.name}`).join(", ") : "";
    by("calls").replaceChildren(...(f ? neighbors(state.chosen) : []));
    const place = by("code");
    if (!f || !f.code) {
        const text = !f ? "Choose a function." : "The page has no code of this function; it holds that of the hottest ones. tally annotate prints it.";
        place.replaceChildren(make("div", { className: "none", style: "padding-left:.9rem", textContent: text }));
        return;
    }
    const N = data.instruction;
    const own = real(f.values && f.values[state.column]);
    const addresses = new Map(f.code.map((insn, i) => [insn[N.address], i]));
    const targets = new Set(f.code.map((insn) => insn[N.target]).filter((target) => addresses.has(target)));
    const body = make("tbody");
    const blanks = () => columns.map(() => make("td"));
    let last = "", hottest = null, most = 0;
    f.code.forEach((insn, i) => {
        const source = sources[insn[N.source]], line = insn[N.line];
        const here = source ? `${insn[N.source]}:${line}:${insn[N.inlined]}` : "";
        if (source && here !== last) {
            const text = make("td", { className: "text" }, make("span", { className: "place", textContent: `${source.name}:${line}  ` }), source.lines[line] || "");
            if (insn[N.inlined]) text.append(make("span", { className: "place", textContent: `  inlined: ${insn[N.inlined]}` }));
            body.append(make("tr", { className: "source" }, ...blanks(), text));
        }
        last = here;
        const values = insn.slice(N.values), value = real(values[state.column]);
        const text = make("td", { className: "text" }, make("span", { className: "address", textContent: `${insn[N.address]}  ` }));
        const target = insn[N.target];
        const at = target ? insn[N.text].lastIndexOf(target) : -1;
        if (at >= 0 && addresses.has(target)) {
            const link = make("a", { href: "#", textContent: target, onclick: (event) => { event.preventDefault(); reveal(body.children, target); } });
            text.append(insn[N.text].slice(0, at), link, insn[N.text].slice(at + target.length));
        } else {
            text.append(insn[N.text]);
        }
        if (insn[N.causes]) text.append(make("span", { className: "causes", textContent: `   ${insn[N.causes]}` }));
        const adds = columns[state.column].adds;
        const row = make("tr", { className: (adds && own > 0 && value >= 0.1 * own ? "hot" : "") + (targets.has(insn[N.address]) ? " is-target" : "") },
            ...values.map((v, c) => {
                const cell = make("td", { textContent: v ? number(v) : "" });
                if (c === state.column && adds && own > 0 && value > 0) {
                    cell.className = "bar";
                    cell.style.setProperty("--share", `${(100 * value) / own}%`);
                }
                return cell;
            }), text);
        row.dataset.address = insn[N.address];
        if (value > most) [hottest, most] = [row, value];
        body.append(row);
    });
    const head = make("tr", {}, ...columns.map((column) => make("th", { textContent: column.name, title: column.meaning, scope: "col" })), make("th", { className: "text", textContent: "source and instructions", scope: "col" }));
    place.replaceChildren(make("table", {}, make("thead", {}, head), body));
    place.scrollTop = hottest ? Math.max(0, hottest.offsetTop - 160) : 0;
}
function reveal(rows, address) {
    for (const row of rows) {
        row.classList.toggle("flash", row.dataset.address === address);
        if (row.dataset.address === address) row.scrollIntoView({ block: "center", behavior: "smooth" });
    }
}

function choose(i, fromTable) {
    state.chosen = i;
    for (const row of by("functions").querySelectorAll("tbody tr")) row.ariaSelected = String(Number(row.dataset.function) === i);
    const row = by("functions").querySelector(`tr[data-function="${i}"]`);
    if (row && !fromTable) {
        const box = by("functions").parentElement; // the page itself stays where it is
        box.scrollTop = Math.max(0, row.offsetTop - box.clientHeight / 2);
    }
    drawCode();
}

// ---- Events, and the whole.

function chooseColumn(i) {
    state.column = i;
    state.order = { key: i, falls: true };
    for (const [k, card] of [...by("events").children].entries()) card.ariaPressed = String(k === i);
    drawTable();
    drawFlame();
    drawCode();
}

// The program's arguments, as a shell would read them.
function command() {
    let words = [];
    try { words = JSON.parse(data.argv); } catch { /* a profile of something else */ }
    return Array.isArray(words) ? words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${String(word).replaceAll("'", "'\\''")}'`)).join(" ") : "";
}

document.title = `${data.program} on ${data.machine}: tally`;
by("program").textContent = data.program;
by("about").textContent = `on ${data.machine}${command() ? `: ${command()}` : ""}`;
by("events").append(...columns.map((column, i) => make("button", { className: "event", title: column.meaning, onclick: () => chooseColumn(i) },
    make("b", { textContent: number(column.total) }), make("span", { textContent: column.name }))));
if (data.is_shortened) by("flame-note").textContent = "Small calls are drawn together as (smaller calls).";
paintTheme();
const hottest = functions.reduce((best, f, i) => (f.values && (best < 0 || real(f.values[0]) > real(functions[best].values[0])) ? i : best), -1);
state.chosen = hottest < 0 ? null : hottest;
chooseColumn(0);
let width = window.innerWidth;
window.addEventListener("resize", () => {
    if (window.innerWidth !== width) drawFlame();
    width = window.innerWidth;
});
