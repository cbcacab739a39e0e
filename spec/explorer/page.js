"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const element = (tag, kind, ...inside) => {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  made.append(...inside.filter(each => each !== null && each !== undefined));
  return made;
};
const placed = (made, places) => {
  for (const [name, value] of Object.entries(places)) made.style.setProperty(name, value);
  return made;
};

// The known states: their values and sentences; after a visit also their drawings and exits. A file has everything from
// the start. A process that serves the page computes a state on request.

const places = new Map(), reachedFrom = new Map();

function knowFile() {
  data.states.forEach((row, state) => places.set(state, {
    values: row.map((value, variable) => data.values[variable][value]),
    views: data.views[state],
    pictures: data.pictures[state].map((drawn, picture) => data.drawings[picture][drawn]),
    exits: data.exits[state],
  }));
  const left = [...data.begins];
  for (const state of left) left.push(...waysOn(state));
}

// The new states after this one. The first way found to a state is kept, because it is the shortest.
function waysOn(state) {
  const fresh = [];
  places.get(state).exits.forEach((taken, number) => {
    if (taken.to === null || reachedFrom.has(taken.to) || data.begins.includes(taken.to)) return;
    reachedFrom.set(taken.to, [state, number]);
    fresh.push(taken.to);
  });
  return fresh;
}

async function learn(state) {
  if (state === null || !data.served || places.get(state)?.exits) return;
  const answer = await fetch("state/" + state).catch(() => { throw new Error("The process that served this page has ended."); });
  const loaded = await answer.json();
  if (!answer.ok) throw new Error(loaded.error);
  const values = data.variables.map(name => loaded.values[name]);
  places.set(state, { values, views: loaded.views, pictures: loaded.pictures, exits: loaded.exits });
  for (const taken of loaded.exits) {
    if (taken.to === null || places.has(taken.to)) continue;
    places.set(taken.to, { values: data.variables.map((name, variable) => name in taken.values ? taken.values[name] : values[variable]), views: taken.views });
  }
  waysOn(state);
  indexed = null;
}

// The path: the visited states, and the exit taken in each but the last.

let states = [], exits = [], position = 0;

const exitOf = (state, number) => places.get(state)?.exits?.[number];

// The path that begins in a state and takes these exits, as far as they lead. All its states are then known, unless it
// ends at an error.
async function pathOf(first, numbers) {
  const path = { states: [first], exits: [], wrong: null };
  try {
    await learn(first);
    for (const number of numbers) {
      const taken = exitOf(path.states[path.states.length - 1], number);
      if (!taken) break;
      path.exits.push(number);
      path.states.push(taken.to);
      await learn(taken.to);
    }
  } catch (error) {
    path.wrong = error;
  }
  return path;
}

function leftAt() {
  const differs = data.trace.findIndex((number, index) => exits[index] !== number);
  if (!data.trace.length || states[0] !== data.begins[0]) return -1;
  return differs >= 0 ? (exits.length > differs ? differs : -1) : exits.length > data.trace.length ? data.trace.length : -1;
}

// Values: words, a list of cells, or the pairs of a record or a mapping.

function words(value) {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return `(${value.map(each => each.record ? `(${words(each)})` : words(each)).join(", ")})`;
  return (value.record || value.mapping).map(([name, part]) => `${name}=${words(part)}`).join(", ");
}

function drawn(value) {
  if (Array.isArray(value) && value.length) return element("span", "parts", ...value.map(each => element("span", "", drawn(each))));
  if (value.record) return element("span", "", ...value.record.map(([name, part]) => element("span", "field", element("b", "", name + " "), drawn(part))));
  return words(value);
}

const rowsOf = value => value.mapping || null;

// Drawings. Differences from the state before are marked as changed; removed things stay for one step, struck out.

const isTag = thing => typeof thing === "string" || "tag" in thing;
const textOf = thing => typeof thing === "string" ? thing : thing.tag ?? "";
const alike = (one, other) => JSON.stringify(one) === JSON.stringify(other);

function tag(thing, changed, kind = "tag") {
  const made = element("span", [kind, thing.look, changed ? "changed" : ""].filter(Boolean).join(" "), textOf(thing));
  if (thing.note) made.title = thing.note;
  return made;
}

// A thing in a cell of a grid, or after a branch: plain words need no frame.
function thing(now, before) {
  if (!isTag(now)) return drawing(now, before);
  return tag(now, !alike(now, before), typeof now === "string" ? "" : "tag");
}

const shapes = {
  tags: (now, before) => row("tags", now, before),
  queue: (now, before) => row("queue", now, before),
  cells: (now, before, whole, wasWhole) => {
    const cells = [];
    for (let number = 0; number < whole.room; number++) {
      const there = number < now.length, cell = there ? tag(now[number], !alike(now[number], before?.[number]), "cell") : element("span", "cell room");
      if (!there && before && number < before.length) cell.classList.add("changed");
      cell.dataset.number = number;
      cells.push(cell);
    }
    const wasAt = new Map(wasWhole?.marks), together = new Map();
    for (const [name, place] of whole.marks) together.set(place, [...(together.get(place) || []), name]);
    for (const [place, names] of together) {
      const moved = names.some(name => wasAt.get(name) !== place);
      cells.push(placed(element("span", "mark", element("span", moved ? "changed" : "", names.join(", "))), { "--at": place }));
    }
    const longest = Math.max(...now.map(each => textOf(each).length), 3);
    return placed(element("span", "cells", ...cells), { "--cell": `${longest * .6 + 1.3}rem` });
  },
  tree: (now, before) => {
    const paths = new Set(now.map(([path]) => path)), was = new Map((before || []).map(each => [each[0], each])), rows = [...now];
    (before || []).forEach((each, number) => {
      if (paths.has(each[0])) return;
      const above = number ? rows.findIndex(([path]) => path === before[number - 1][0]) : -1;
      rows.splice(above + 1, 0, each);
    });
    return element("div", "tree", ...rows.map(([path, depth, name, there]) => {
      const gone = !paths.has(path), inside = gone ? element("del", "", textOf(there)) : thing(there, was.get(path)?.[3]);
      return placed(element("div", "branch", gone ? element("del", "changed", name + " ") : element("b", was.has(path) ? "" : "changed", name), inside), { "--depth": depth });
    }));
  },
  grid: ([titles, ...rows], before) => {
    const was = new Map((before || []).slice(1).map(each => [textOf(each[0]), each]));
    const head = element("tr", "", ...titles.map(title => element("th", "", title)));
    const lines = rows.map(each => {
      const old = was.get(textOf(each[0]));
      return element("tr", "", ...each.map((cell, column) => element("td", "", thing(cell, old?.[column]))));
    });
    const table = element("table", "grid", element("thead", "", head), element("tbody", "", ...lines));
    const inRows = [...table.querySelectorAll(".cells")], widest = Math.max(...inRows.map(each => parseFloat(each.style.getPropertyValue("--cell"))));
    inRows.forEach(each => placed(each, { "--cell": `${widest}rem` }));  // so that places are aligned
    return table;
  },
  fails: now => element("span", "broken", now),
};

function row(kind, now, before) {
  const left = (before || []).map(each => JSON.stringify(each));
  const things = now.map(each => {
    if (!isTag(each)) return thing(each);
    const found = left.indexOf(JSON.stringify(each));
    if (found >= 0) left.splice(found, 1);
    return tag(each, found < 0);
  });
  const lost = left.length && !things.some(each => each.classList.contains("changed"));
  const none = element("span", lost ? "empty changed" : "empty", kind === "queue" ? "empty" : "none");
  const made = element("span", now.length ? kind : `${kind} empty`, ...(now.length ? things : [none]));
  if (lost) made.classList.add("changed");
  return made;
}

function drawing(now, before) {
  const [shape] = Object.keys(now);
  return shapes[shape](now[shape], before?.[shape], now, before);
}

// The page.

function showState(state, before) {
  const here = places.get(state), was = places.get(before) || here;
  at("views").replaceChildren(...(here ? here.views : []).map(each => element("li", "", each)));
  at("all").hidden = !here;
  if (!here) {
    const wrong = places.get(before) && exitOf(before, exits[position - 1])?.wrong;
    const why = wrong ? `This is no state: ${wrong}` : "This state is not in the file, which has only the nearest ones. explore --serve has all of them.";
    at("pictures").replaceChildren(element("p", "empty", why));
    at("changes").replaceChildren();
    return;
  }
  at("pictures").replaceChildren(...here.pictures.map((now, number) => {
    if (now === null) return null;
    const { name, sentence } = data.captions[number], then = was.pictures ? was.pictures[number] : now;
    return element("figure", "picture", element("figcaption", "", name, element("small", "", "  " + sentence)), element("div", "scrolls", drawing(now, then)));
  }).filter(Boolean));
  const folded = data.captions.length > 0;
  at("changes").replaceChildren(...(folded && was !== here ? differencesOf(was, here) : []).map(each => element("li", "", each)));
  at("variables").replaceChildren(...data.variables.map((name, number) => variable(name, here.values[number], was.values[number])));
  search();
}

function variable(name, now, then) {
  const said = data.documentation[name];
  const head = element("h3", "", name, said ? element("small", "", "  " + said) : null);
  const rows = rowsOf(now);
  if (!rows) {
    const changed = words(now) !== words(then);
    const line = element("div", changed ? "plain changed" : "plain");
    if (changed) line.append(element("del", "", words(then)), " \u2192 ");
    line.append(drawn(now));
    line.dataset.words = `${name} ${words(now)}`.toLowerCase();
    return element("div", "variable", head, line);
  }
  const old = new Map((rowsOf(then) || []).map(([key, part]) => [key, part]));
  const lines = rows.map(([key, part]) => {
    const was = old.get(key);
    old.delete(key);
    const changed = was === undefined || words(was) !== words(part);
    const line = element("tr", changed ? "changed" : "", element("td", "", key), element("td", "", drawn(part)));
    if (changed) line.title = was === undefined ? "was absent" : "was " + words(was);
    line.dataset.words = `${name} ${key} ${words(part)}`.toLowerCase();
    return line;
  });
  for (const [key, part] of old) {
    const line = element("tr", "changed", element("td", "", element("del", "", key)), element("td", "", element("del", "", words(part)), " absent"));
    line.dataset.words = `${name} ${key} ${words(part)}`.toLowerCase();
    lines.push(line);
  }
  return element("div", "variable", head, lines.length ? element("table", "", element("tbody", "", ...lines)) : element("div", "plain empty", "{}"));
}

function called(taken) {
  const given = Object.entries(taken.parameters).map(([name, value]) => `${name}=${value}`).join(", ");
  return `${taken.action}(${given})`;
}

// The differences from another state, place by place.

function differencesOf(one, other) {
  return data.variables.flatMap((name, number) => {
    const then = one.values[number], now = other.values[number], rows = rowsOf(now), old = rowsOf(then);
    if (then === now) return [];
    if (!rows || !old) return differences(name, then, now);
    const before = new Map(old), after = new Map(rows);
    return [...new Set([...before.keys(), ...after.keys()])].flatMap(key => differences(`${name}[${key}]`, before.get(key) ?? "absent", after.get(key) ?? "absent"));
  });
}

function differences(place, was, is) {
  if (words(was) === words(is)) return [];
  if (!was.record || !is.record) return [`${place}: ${words(was)} \u2192 ${words(is)}`];
  const before = new Map(was.record), after = new Map(is.record), names = new Set([...before.keys(), ...after.keys()]);
  return [...names].flatMap(name => differences(`${place}.${name}`, before.get(name) ?? USUAL, after.get(name) ?? USUAL));
}

const USUAL = "its first value";  // the value of a field that a record does not show

const between = taken => taken.receiver ? `${taken.actor} \u2192 ${taken.receiver}` : taken.actor;
const SYSTEM = "system";  // the lane of steps without an actor

function showPath() {
  const steps = states.map((_, number) => number ? exitOf(states[number - 1], exits[number - 1]) : null);
  const met = new Set(steps.filter(Boolean).flatMap(taken => [taken.actor || SYSTEM, taken.receiver]));
  const lanes = data.lanes.filter(lane => met.has(lane)), laned = lanes.length > 1;
  at("path").classList.toggle("laned", laned);
  at("path").style.setProperty("--lanes", lanes.length);
  at("lanes").hidden = !laned;
  at("lanes").classList.toggle("upright", lanes.length > 5);  // else their words would have to be broken
  at("lanes").replaceChildren(...lanes.map(lane => element("span", "", lane)));
  at("tracks").replaceChildren(...(laned ? lanes : []).map((_, number) => placed(element("i"), { "--at": number })));
  const entries = steps.map((taken, number) => {
    const button = element("button", "", element("span", "number", String(number + 1)), taken ? called(taken) : "initially");
    if (taken && laned) button.append(arrow(lanes.indexOf(taken.actor || SYSTEM), lanes.indexOf(taken.receiver || taken.actor || SYSTEM), taken));
    else if (taken && taken.actor) button.append(" ", element("span", "lanes", between(taken)));
    if (taken && taken.said) button.append(element("div", "said", taken.said));
    if (ended(number)) button.append(element("div", "broken", data.ending));
    if (number === position) button.setAttribute("aria-current", "step");
    button.addEventListener("click", () => go(number));
    return element("li", "", button);
  });
  at("steps").replaceChildren(...entries);
  const here = entries[position].getBoundingClientRect(), box = at("path").getBoundingClientRect();
  if (here.top < box.top + at("lanes").offsetHeight || here.bottom > Math.min(box.bottom, innerHeight))
    at("path").scrollTop += here.top - box.top - box.height / 2;
}

// An arrow from lane to lane, or a dot in the actor's own.
function arrow(from, to, taken) {
  const made = element("span", from < to ? "arrow right" : from > to ? "arrow left" : "arrow", element("i"), from === to ? null : element("b"));
  made.title = between(taken);
  return placed(made, { "--from": from, "--low": Math.min(from, to), "--high": Math.max(from, to) });
}

const ended = number => data.ending && data.trace.length === number && leftAt() < 0 && number > 0;

function showChoices() {
  const here = places.get(states[position]), choices = here ? here.exits : [];
  at("choices").replaceChildren(...choices.map((taken, number) => {
    const button = element("button", "", called(taken)), after = places.get(taken.to);
    if (taken.actor) button.append(element("div", "lanes", between(taken)));
    if (taken.said) button.append(element("div", "said", taken.said));
    if (after) after.views.filter(each => !here.views.includes(each)).forEach(each => button.append(element("div", "note", each)));
    if (after) differencesOf(here, after).forEach(each => button.append(element("div", "change", each)));
    if (taken.wrong) button.append(element("div", "broken", taken.wrong));
    else if (taken.to === null) button.append(element("div", "empty", "leads beyond the states in this file; explore --serve has them"));
    button.disabled = taken.to === null;
    button.title = data.documentation[taken.action] || "";
    if (exits[position] === number) button.setAttribute("aria-current", "step");
    button.addEventListener("click", () => take(number));
    return element("li", "exit", button);
  }));
  if (!choices.length) at("choices").replaceChildren(element("li", "empty", here ? "none" : ""));
}

function show() {
  at("trouble").hidden = true;
  showState(states[position], position ? states[position - 1] : null);
  showPath();
  showChoices();
  at("where").textContent = `state ${position + 1} of ${states.length}`;
  at("first").disabled = at("back").disabled = position === 0;
  at("forward").disabled = at("last").disabled = position === states.length - 1;
  at("return").hidden = leftAt() < 0;
  at("begins").value = states[0];
}

// An error while a state is loaded is shown, and the page stays at its state.
function trying(what) {
  return what().catch(error => {
    at("trouble").textContent = error.message;
    at("trouble").hidden = false;
  });
}

// A link to a step: #12; or on another path than the trace's, #12:3.0.2, with the exits from the first state on.

function keep() {
  const own = data.trace.length && leftAt() < 0 && exits.length === data.trace.length ? "" : ":" + exits.join(".");
  const first = states[0] === data.begins[0] ? "" : "@" + data.begins.indexOf(states[0]);
  history.replaceState(null, "", `#${position + 1}${first}${own}`);
}

function restore() {
  const [, number, first, own] = /^#(\d+)(?:@(\d+))?(?::([\d.]*))?$/.exec(location.hash) || [];
  const from = data.begins[Number(first || 0)] ?? data.begins[0], isTrace = own === undefined && first === undefined;
  return travel(from, isTrace ? data.trace : own ? own.split(".").map(Number) : [], Number(number || 1) - 1);
}

function go(number) {
  position = Math.min(Math.max(number, 0), states.length - 1);
  show();
  keep();
}

// Only the last request counts: an answer that arrives after the reader has moved elsewhere is dropped.
let asked = 0;

async function take(number) {
  const taken = exitOf(states[position], number), from = position, turn = ++asked;
  if (!taken || taken.to === null) return;
  await trying(async () => {
    await learn(taken.to);
    if (turn !== asked || from !== position) return;
    if (exits[from] !== number) {
      exits = [...exits.slice(0, from), number];
      states = [...states.slice(0, from + 1), taken.to];
    }
    go(from + 1);
  });
}

// Go to a state of another path.
function travel(first, numbers, number) {
  const turn = ++asked;
  return trying(async () => {
    const path = await pathOf(first, numbers);
    if (turn !== asked) return;
    ({ states, exits } = path);
    go(number);
    if (path.wrong) throw path.wrong;
  });
}

// Go to a state by its known way; if it lies on the path, along the path.
function goTo(state) {
  const onPath = states.indexOf(state), way = [];
  if (onPath >= 0) return go(onPath);
  let first = state;
  while (reachedFrom.has(first)) {
    const [before, number] = reachedFrom.get(first);
    way.unshift(number);
    first = before;
  }
  return travel(first, way, way.length);
}

// Search: hide variables without the words, and list matches in all known states.

let indexed = null;
const MANY = 40;

// Each line about a state or a step once, with the nearest state where it is true.
function everything() {
  const lines = new Map();
  const add = (line, state) => { if (!lines.has(line)) lines.set(line, state); };
  for (const here of places.values()) here.exits?.forEach(taken => { if (taken.to !== null) add(`${called(taken)}${taken.said ? "   " + taken.said : ""}`, taken.to); });
  for (const [state, here] of places) here.views.forEach(each => add(each, state));
  for (const [state, here] of places) here.values.forEach((value, number) => {
    const name = data.variables[number], rows = rowsOf(value);
    if (rows) rows.forEach(([key, part]) => add(`${name}[${key}]: ${words(part)}`, state));
    else add(`${name}: ${words(value)}`, state);
  });
  return [...lines].map(([line, state]) => [line, line.toLowerCase(), state]);
}

function search() {
  const sought = at("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const has = text => sought.every(each => text.includes(each));
  for (const each of document.querySelectorAll(".variable")) {
    const lines = [...each.querySelectorAll("[data-words]")];
    lines.forEach(line => line.classList.toggle("hidden", !has(line.dataset.words)));
    each.classList.toggle("hidden", sought.length > 0 && lines.every(line => line.classList.contains("hidden")));
  }
  at("all").open = sought.length > 0 || unfolded;
  at("results").hidden = !sought.length;
  if (!sought.length) return;
  indexed ??= everything();
  const found = indexed.filter(([, line]) => has(line));
  at("found").textContent = `${found.length.toLocaleString("en")} found in the ${places.size.toLocaleString("en")} states ${data.served ? "visited so far" : "of this file"}${found.length > MANY ? `; the first ${MANY}` : ""}`;
  at("hits").replaceChildren(...found.slice(0, MANY).map(([line, , state]) => {
    const step = states.indexOf(state), where = step >= 0 ? `state ${step + 1} of this path` : "another way";
    const button = element("button", "", line, element("small", "", where));
    button.addEventListener("click", () => goTo(state));
    return element("li", "", button);
  }));
}

let unfolded = !data.captions.length;  // whether to show every variable

at("title").textContent = data.title;
at("sentence").textContent = data.sentence;
at("settings").textContent = Object.entries(data.settings).map(([name, value]) => `${name} = ${value}`).join(", ");
at("first").addEventListener("click", () => go(0));
at("back").addEventListener("click", () => go(position - 1));
at("forward").addEventListener("click", () => go(position + 1));
at("last").addEventListener("click", () => go(states.length - 1));
at("return").addEventListener("click", () => travel(data.begins[0], data.trace, leftAt()));
at("search").addEventListener("input", search);
at("all").querySelector("summary").addEventListener("click", () => { unfolded = !at("all").open; });
if (data.begins.length > 1) {
  at("begins").hidden = false;
  at("begins").append(...data.begins.map((state, number) => new Option(`initial state ${number + 1} of ${data.begins.length}`, state)));
  at("begins").addEventListener("change", () => travel(data.begins[at("begins").selectedIndex], [], 0));
}
addEventListener("hashchange", restore);
addEventListener("keydown", event => {
  if (event.target === at("search")) {
    if (event.key === "Escape") { at("search").value = ""; search(); at("search").blur(); }
    if (event.key === "Enter") at("hits").querySelector("button")?.click();
    return;
  }
  if (event.altKey || event.ctrlKey || event.metaKey || event.target === at("begins")) return;
  const does = { ArrowLeft: () => go(position - 1), ArrowRight: () => go(position + 1), Home: () => go(0), End: () => go(states.length - 1), "/": () => { at("search").focus(); at("search").select(); } };
  for (let number = 1; number <= 9; number++) does[number] = () => take(number - 1);
  if (does[event.key]) { event.preventDefault(); does[event.key](); }
});
if (!data.served) knowFile();
restore();
