"use strict";

const SHOWN_SECONDS = 300;
const SHOWN_ALERTS = 24;
const byId = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");

let token = sessionStorage.getItem("motiflux-token") || "";
let names = { sinks: [], monitors: [] };
const rates = new Map();
const latencies = [];
const pictures = new Map();

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(path, { ...options, headers });
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, said.error || `${answer.status} ${answer.statusText}`);
}

// Text only: ids and names come from strangers.
function element(tag, text = "", properties = {}) {
  const made = Object.assign(document.createElement(tag), properties);
  if (text !== "") made.textContent = text;
  return made;
}

const grouped = (number) => (number === null || number === undefined ? "-" : number.toLocaleString("en").replaceAll(",", " "));
const inShort = (time) => time.replace("T", " ").replace(/(\.\d{3})\d*/, "$1").replace("Z", "");

function inMs(seconds) {
  if (seconds === null) return "-";
  const [value, unit] = seconds < 1 ? [seconds * 1000, "ms"] : [seconds, "s"];
  return `${value < 100 ? value.toPrecision(3) : Math.round(value)} ${unit}`;
}

function inBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  for (; bytes >= 1024 && at + 1 < units.length; at += 1) bytes /= 1024;
  return `${bytes.toFixed(at ? 1 : 0)} ${units[at]}`;
}

async function picture(path) {
  if (!pictures.has(path)) {
    if (pictures.size > 200) {
      const [oldest, made] = pictures.entries().next().value;
      pictures.delete(oldest);
      made.then(URL.revokeObjectURL, () => {});
    }
    const made = ask(path).then((answer) => answer.blob()).then((blob) => URL.createObjectURL(blob));
    pictures.set(path, made);
    made.catch(() => pictures.delete(path));
  }
  return pictures.get(path);
}

function showPicture(image, path) {
  picture(path).then((url) => { image.src = url; }, () => image.remove());
}

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    seen.unobserve(entry.target);
    showPicture(entry.target, entry.target.dataset.path);
  }
});

// Plots.

function layout() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  const axis = { gridcolor: color("--line"), zerolinecolor: color("--line"), automargin: true };
  return {
    margin: { l: 44, r: 12, t: 6, b: 28 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: color("--quiet"), size: 12 },
    colorway: [color("--one"), color("--two")],
    legend: { orientation: "h", x: 0, y: 1.18 },
    xaxis: { ...axis, type: "date" },
    yaxis: { ...axis, rangemode: "tozero" },
    showlegend: true,
  };
}

function drawPlots() {
  const options = { displayModeBar: false, responsive: true };
  const seconds = [...rates.keys()].sort((a, b) => a - b);
  const times = seconds.map((second) => new Date(second * 1000));
  const line = (name, at) => ({ name, x: times, y: seconds.map((second) => rates.get(second)[at]), mode: "lines" });
  Plotly.react("rates", [line("updates", 0), line("alerts", 1)], layout(), options);
  const moments = latencies.map((one) => one.at);
  const curve = (name, key) => ({ name, x: moments, y: latencies.map((one) => one[key]), mode: "lines" });
  Plotly.react("latency", [curve("median", "p50"), curve("99 %", "p99")], layout(), options);
}

function takeHistory(history, now) {
  for (const [second, records, alerts] of history) rates.set(second, [records, alerts]);
  const last = Math.floor(now / 1000) - 1;
  for (let second = last - 4; second <= last; second += 1) if (!rates.has(second)) rates.set(second, [0, 0]);
  for (const second of rates.keys()) if (second < last - SHOWN_SECONDS) rates.delete(second);
}

// What the service says.

function showPulse(pulse) {
  byId("records").textContent = grouped(pulse.records);
  byId("alert-count").textContent = grouped(pulse.alerts);
  byId("p50").textContent = inMs(pulse.latency.p50);
  byId("p99").textContent = inMs(pulse.latency.p99);
  byId("waiting").textContent = grouped(pulse.waiting + pulse.held);
  byId("refused").textContent = grouped(pulse.refused);
  byId("late").textContent = grouped(pulse.late);
  byId("memory").textContent = inBytes(pulse.memory);
  const now = Date.now();
  takeHistory(pulse.history, now);
  const ms = (seconds) => (seconds === null ? null : seconds * 1000);
  latencies.push({ at: new Date(now), p50: ms(pulse.latency.p50), p99: ms(pulse.latency.p99) });
  if (latencies.length > SHOWN_SECONDS) latencies.shift();
  showTrouble(pulse.trouble);
  showPatterns(pulse.patterns);
  table("sources", ["name", "type", "updates", "refused", "waiting"], pulse.sources.map((one) => [
    one.name, one.type, grouped(one.records), grouped(one.refused), one.lag === null ? "-" : one.unit === "bytes" ? inBytes(one.lag) : grouped(one.lag),
  ]));
  table("sinks", ["name", "type", "delivered", "waiting", "promise"], pulse.sinks.map((one) => [
    one.name, one.type, grouped(one.delivered), grouped(one.lag), one.promise,
  ]));
  table("monitors", ["name", "vertices", "edges", "window", "engine", "why"], pulse.monitors.map((one) => [
    one.name, grouped(one.vertices), grouped(one.edges), one.window ?? "none", one.engine, one.reason,
  ]));
  if (!document.hidden) drawPlots();
}

function table(id, headings, rows) {
  const head = element("tr");
  for (const heading of headings) head.append(element("th", heading, { scope: "col" }));
  const lines = rows.map((row) => {
    const line = element("tr");
    row.forEach((cell, at) => {
      const made = element("td", String(cell));
      made.dataset.heading = headings[at];
      line.append(made);
    });
    return line;
  });
  if (!lines.length) lines.push(element("tr", "none"));
  byId(id).replaceChildren(head, ...lines);
}

function showTrouble(trouble) {
  const parts = Object.entries(trouble);
  byId("trouble").hidden = parts.length === 0;
  byId("trouble").querySelector("ul").replaceChildren(...parts.map(([part, why]) => element("li", `${part}: ${why}`)));
}

function showPatterns(patterns) {
  const list = byId("patterns");
  const there = new Map([...list.children].map((card) => [card.dataset.id, card]));
  for (const pattern of patterns) {
    const id = String(pattern.id);
    const card = there.get(id) || patternCard(pattern);
    there.delete(id);
    if (!card.parentNode) list.append(card);
    card.classList.toggle("paused", pattern.state === "paused");
    const since = `since update ${grouped(pattern.since)}`;
    const counts = [`${grouped(pattern.positive)} appeared`, `${grouped(pattern.negative)} vanished ${since}`, `${grouped(pattern.alerts)} alerts`];
    if (pattern.present !== null) counts.push(`${grouped(pattern.present)} now`);
    if (pattern.suppressed) counts.push(`${grouped(pattern.suppressed)} beyond its limits`);
    card.querySelector(".counts").textContent = counts.join(", ");
    card.querySelector(".why").textContent = pattern.state === "paused" ? `paused: ${pattern.reason}` : "";
    card.querySelector(".turn").textContent = pattern.state === "paused" ? "Resume" : "Pause";
    card.dataset.state = pattern.state;
  }
  for (const card of there.values()) card.remove();
}

function patternCard(pattern) {
  const card = element("article", "", { className: "pattern" });
  card.dataset.id = pattern.id;
  const image = element("img", "", { alt: `picture of ${pattern.name}` });
  const buttons = element("div", "", { className: "buttons" });
  const turn = element("button", "Pause", { className: "turn", type: "button" });
  const drop = element("button", "Drop", { type: "button" });
  const error = element("span", "", { className: "error" });
  const path = `/patterns/${encodeURIComponent(pattern.name)}`;
  const act = (change) => change().then(() => { error.textContent = ""; }, (why) => { error.textContent = why.message; });
  turn.onclick = () => act(() => ask(`${path}/${card.dataset.state === "paused" ? "resume" : "pause"}`, { method: "POST" }));
  drop.onclick = () => confirm(`Drop the pattern ${pattern.name}?`) && act(() => ask(path, { method: "DELETE" }));
  buttons.append(turn, drop);
  card.append(
    element("strong", pattern.name), element("code", pattern.pattern), image,
    element("span", "", { className: "counts" }), element("span", "", { className: "why error" }), buttons, error,
  );
  // Two patterns may have had one name after each other.
  showPicture(image, `${path}/picture?id=${pattern.id}`);
  return card;
}

function showAlerts(alerts) {
  const list = byId("alerts");
  for (const alert of [...alerts].reverse()) {
    const item = element("li");
    const what = element("div", "", { className: "what" });
    what.append(element("strong", alert.sign < 0 ? `${alert.pattern} vanished` : alert.pattern), element("small", inShort(alert.time)));
    const path = `/alerts/${alert.alert}/picture`;
    const image = element("img", "", { alt: `match of ${alert.pattern}` });
    image.dataset.path = path;
    const open = element("button", "", { type: "button", title: "show what is around it" });
    open.onclick = () => showAround(alert, path);
    open.append(image);
    const match = Object.entries(alert.match).map(([name, id]) => `${name} = ${id}`).join(", ");
    item.append(what, open, element("small", match), attributes(alert));
    list.prepend(item);
    seen.observe(image);
  }
  while (list.children.length > SHOWN_ALERTS) list.lastChild.remove();
  byId("no-alerts").hidden = list.children.length > 0;
}

function attributes(alert) {
  const told = (values) => Object.entries(values).map(([name, value]) => `${name} ${name === "time" ? inShort(value) : value}`).join(", ");
  const edges = Object.entries(alert.edges || {}).map(([edge, values]) => `${edge}: ${told(values)}`);
  return element("small", edges.length ? edges.join("; ") : `by ${told(alert.update)}`);
}

async function showAround(alert, path) {
  byId("around-title").textContent = `${alert.pattern}: ${Object.values(alert.match).join(", ")}`;
  byId("around-error").textContent = "";
  const image = byId("around-picture");
  image.removeAttribute("src");
  image.alt = `what is around this match of ${alert.pattern}`;
  byId("around").showModal();
  try {
    const blob = await (await ask(`${path}?around=1`)).blob();
    image.src = URL.createObjectURL(blob);
    image.onload = () => URL.revokeObjectURL(image.src);
  } catch (why) {
    byId("around-error").textContent = why.message;
    showPicture(image, path);
  }
}

// Events: read with fetch, since an EventSource cannot send a token.

function say(text, kind) {
  byId("state").textContent = text;
  byId("state").className = `state ${kind}`;
}

function take(text) {
  const lines = text.split("\n");
  const field = (name) => lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2)).join("\n");
  const data = field("data");
  if (!data) return;
  if (field("event") === "pulse") showPulse(JSON.parse(data));
  if (field("event") === "alerts") showAlerts(JSON.parse(data));
}

async function listen() {
  const status = await (await ask("/status")).json();
  names = status.names;
  byId("name").textContent = status.name;
  document.title = status.name;
  byId("add").elements.monitor.replaceChildren(...names.monitors.map((name) => element("option", name)));
  takeHistory(status.whole_history, Date.now());
  showPulse(status);
  byId("alerts").replaceChildren();
  showAlerts((await (await ask(`/alerts?limit=${SHOWN_ALERTS}`)).json()).alerts);
  const reader = (await ask("/events")).body.pipeThrough(new TextDecoderStream()).getReader();
  say("live", "live");
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    events.forEach(take);
  }
}

async function run() {
  for (;;) {
    try {
      await listen();
    } catch (why) {
      if (why instanceof Refused && why.status === 401) {
        await login(token ? "This is not the token." : "");
        continue;
      }
    }
    say("connection lost; trying again", "lost");
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

function login(said) {
  say("token needed", "");
  byId("login").hidden = false;
  byId("login-error").textContent = said;
  return new Promise((resolve) => {
    byId("login").onsubmit = (event) => {
      event.preventDefault();
      token = byId("token").value.trim();
      sessionStorage.setItem("motiflux-token", token);
      byId("login").hidden = true;
      resolve();
    };
  });
}

byId("add").onsubmit = async (event) => {
  event.preventDefault();
  const form = event.target;
  const given = Object.fromEntries(["name", "pattern", "monitor"].map((key) => [key, form.elements[key].value]));
  for (const key of ["limit", "rate"]) if (form.elements[key].value !== "") given[key] = Number(form.elements[key].value);
  given.backfill = form.elements.backfill.checked;
  try {
    await ask("/patterns", { method: "POST", body: JSON.stringify(given), headers: { "Content-Type": "application/json" } });
    form.reset();
    byId("add-error").textContent = "";
    byId("adding").open = false;
  } catch (why) {
    byId("add-error").textContent = why.message;
  }
};

dark.addEventListener("change", drawPlots);
run();
