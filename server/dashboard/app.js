import { html, render, nothing } from '/assets/lit-html.js';
import { ago, count, describeMatcher, describeReceipt, duration, parseMatcher, refusalReasons, title } from '/assets/format.js';

// The stream sends a page of channels, and each second what changed in it. The details of the selected channel are requested when
// its counts have changed. byName has the channels that the stream sent; view is which of them the page shows, and pages is where
// the pages before it began.
const state = { now: null, byName: {}, selected: null, detail: {}, live: false, toast: '', matchers: [], show: '', view: { name: '', state: '', after: '' }, pages: [] };
const pageSize = 48;
const $ = (id) => document.getElementById(id);

async function api(path, method = 'GET', body) {
  const response = await fetch('/api/v1' + path, { method, body: body && JSON.stringify(body) });
  const reply = await response.json();
  if (!response.ok) throw new Error(reply.error ? reply.error.message : response.statusText);
  return reply;
}

function showToast(text) {
  state.toast = text;
  draw();
  setTimeout(() => { if (state.toast === text) { state.toast = ''; draw(); } }, 6000);
}

// act calls the API and shows a toast: a text, or one that is made of the reply.
async function act(toast, call) {
  try {
    const reply = await call();
    showToast(typeof toast === 'function' ? toast(reply) : toast);
    refresh(true);
  } catch (e) { showToast(e.message); }
}

// follow goes to a channel, as a link in a message names it: #<channel>&show=silences&matcher=category%3Ddisk. show is the id of a
// heading; matchers fill in the form for a silence.
function follow(name, parameters) {
  const given = new URLSearchParams(parameters.join('&'));
  state.selected = name;
  state.matchers = given.getAll('matcher').slice(0, 8);
  state.show = given.get('show');
}

// followHash follows the address of the page; unreadable ones select no channel.
function followHash() {
  const [name, ...parameters] = location.hash.slice(1).split('&');
  try { follow(decodeURIComponent(name), parameters); } catch { follow('', []); }
}

// scrollToShown scrolls once to what the address names, when its details are drawn.
function scrollToShown() {
  const heading = state.show && $(state.show);
  if (!heading) return;
  state.show = '';
  heading.scrollIntoView();
}

const pathOf = (channel) => '/channels/' + encodeURIComponent(channel);

// refresh requests the details of the selected channel, if its counts changed, or on the next tick of 5 s, or if forced.
let requested = '', requesting = false;
async function refresh(force) {
  const ch = state.byName[state.selected];
  if (!ch || requesting) return;
  const tick = Math.floor(Date.now() / 5000);
  const version = JSON.stringify([ch.channel, ch.ledger, ch.state, tick]);
  if (version === requested && !force) return;
  requested = version;
  requesting = true;
  try {
    const path = pathOf(ch.channel);
    const [channel, series, drops, dead, silences, preview] = await Promise.all([
      api(path), api(path + '/series?back=1h'), api(path + '/drops?limit=15'), api(path + '/dead?limit=15'), api('/silences'), api(path + '/preview'),
    ]);
    state.detail = {
      channel, series, drops: drops.drops, dead: dead.dead, silences: silences.silences, preview: preview.messages, shown: preview.shown,
    };
    draw();
    chart(series);
    scrollToShown();
  } catch (e) { showToast(e.message); } finally { requesting = false; }
}

// refreshRefusals requests the refusals of this replica, if there are new ones.
let refusalsSeen = 0;
async function refreshRefusals() {
  if (state.now.refused === refusalsSeen) return;
  refusalsSeen = state.now.refused;
  try { state.refusals = await api('/refusals'); draw(); } catch { refusalsSeen = 0; }
}

// faultOf returns why a channel cannot post. That of a token is shown once, above the channels.
const faultOf = (fault) => !fault ? '' : fault.token ? 'token refused' : fault.message;

// refreshHeartbeats requests the heartbeats of senders every 10 s, or once for each configuration if it has none.
let heartbeatsAt = 0, heartbeatsOf;
async function refreshHeartbeats() {
  const { config } = state.now, none = state.heartbeats && !state.heartbeats.length;
  if (config === heartbeatsOf && (none || Date.now() - heartbeatsAt < 10000)) return;
  heartbeatsOf = config;
  heartbeatsAt = Date.now();
  try {
    state.heartbeats = (await api('/heartbeats')).heartbeats;
    draw();
  } catch { if (none) state.heartbeats = undefined; }
}

// stateOf returns the kind and the text of what a channel is doing.
function stateOf(ch) {
  return {
    broken: ['bad', 'cannot post: ' + faultOf(ch.state.fault)],
    paused: ['bad', 'paused: ' + ch.state.reason],
    fallback: ['warn', 'without Redis (' + ch.state.fallback + ')'],
    dropping: ['warn', 'dropping: a limit is reached'],
    full: ['warn', 'a limit is reached'],
    sending: ['good', 'sending'],
  }[ch.condition] || ['good', 'idle'];
}

const hidden = html`<span class="soft">hidden</span>`;
const textOf = (event) => state.now.may.read ? title(event) : hidden;

const gauge = (name, used, limit, note) => html`
  <div class="level"><span>${name}</span>
  <span class="soft">${count(used)} of ${count(limit)}${note ? html` · ${note}` : nothing}</span>
  <meter min="0" max=${limit} high=${limit * 0.8} optimum="0" .value=${Math.min(used, limit)}
    aria-label="${name}: ${used} of ${limit} slots used"></meter></div>`;

const counts = (pairs) => html`<dl class="counts">
  ${pairs.map(([name, n, kind]) => html`<div><dt>${name}</dt><dd class=${kind || ''}>${count(n)}</dd></div>`)}</dl>`;

const table = (label, heads, rows, kind = '') => html`
  <div class="scroll ${kind}" tabindex="0" role="region" aria-label=${label}>
  <table><thead><tr>${heads.map((head) => html`<th class=${head === 'times' ? 'n' : nothing}>${head}</th>`)}</tr></thead>
  <tbody>${rows}</tbody></table></div>`;

function card(ch) {
  const [kind, text] = stateOf(ch), l = ch.ledger;
  return html`<button class="card channel" aria-pressed=${ch.channel === state.selected} @click=${() => select(ch.channel)}>
    <h3>${ch.channel}</h3><span class="state ${kind}">${text}</span>
    ${ch.levels.slice(0, 1).map((v) => gauge(v.level, v.used, v.limit))}
    ${counts([
      ['sent', l.delivered], ['dropped', l.dropped, l.dropped ? 'bad' : ''], ['waiting', l.pending], ['dead', l.failed, l.failed ? 'bad' : ''],
    ])}
  </button>`;
}

function select(name) {
  state.selected = name;
  state.detail = {};
  follow(name, []);
  location.hash = encodeURIComponent(name);
  draw();
  refresh(true);
}

function drops(list, channel) {
  if (!list.length) return html`<p class="soft">No drops.</p>`;
  return table('Last drops', ['when', 'category', 'event', 'why', ''], list.map((d) => html`<tr>
    <td>${ago(d.at)}</td><td>${d.category}</td><td class="what">${textOf(d.event)}</td>
    <td>${d.limit > 0 ? `${d.level}: ${d.used} of ${d.limit}` : d.level}</td>
    <td>${state.now.may.change && d.event ? replayButtons(d, channel) : nothing}</td></tr>`));
}

// replayButtons replay a drop. A drop that the limits would refuse at any time can only be posted past them.
function replayButtons(d, channel) {
  const path = `${pathOf(channel)}/drops/${encodeURIComponent(d.id)}/replay`;
  const question = `Post this in ${channel} past its limits? It takes no slot, is counted as forced, and is written to the audit log.`;
  const force = () => confirm(question) && act(describeReceipt, () => api(path, 'POST', { force: true }));
  const replay = () => act(describeReceipt, () => api(path, 'POST'));
  return html`${d.permanent ? nothing : html`<button class="act again" @click=${replay}>Send again<span hidden> ${d.id}</span></button>`}
    <button class="act force" @click=${force}>Post anyway<span hidden> ${d.id}</span></button>`;
}

// detailOf returns what Slack said beyond the reason.
const detailOf = (d) => d.answer && d.answer !== d.reason ? html` <span class="soft">${d.answer}</span>` : nothing;

function deadLetters(list, channel) {
  if (!list.length) return html`<p class="soft">No dead letters.</p>`;
  const path = (d) => `${pathOf(channel)}/dead/${encodeURIComponent(d.id)}`;
  const replay = (d) => act(describeReceipt, () => api(path(d) + '/replay', 'POST'));
  const remove = (d) => act('Dead letter deleted.', () => api(path(d), 'DELETE'));
  return table('Dead letters', ['when', 'reason', 'event', ''], list.map((d) => html`<tr>
    <td>${ago(d.at)}</td><td class="what">${d.reason}${detailOf(d)}</td><td class="what">${textOf((d.events || [])[0])}</td>
    <td>${state.now.may.change ? html`<button class="act replay" @click=${() => replay(d)}>Send again</button>
    <button class="act" @click=${() => remove(d)}>Delete</button>` : nothing}</td></tr>`));
}

// refusals lists the requests that this replica refused in the last day. They belong to no channel's counts.
function refusals() {
  const all = state.refusals;
  const recent = all ? all.refusals.filter((r) => Date.now() - new Date(r.last) < 86400000) : [];
  if (!recent.length) return nothing;
  const channel = (r) => r.channel || html`<span class="soft">${r.route.includes('{channel}') ? 'unknown' : 'none'}</span>`;
  return html`<section class="card" aria-labelledby="refused"><h2 id="refused">Refused requests</h2>
    <p class="soft">This replica refused ${count(all.total)}${all.total === 1 ? ' request' : ' requests'} since it started ${ago(all.since)}.
    The ledger does not count them as received.</p>
    ${table('Refused requests', ['when', 'channel', 'why', 'from', 'times'], recent.map((r) => html`<tr>
    <td>${ago(r.last)}</td><td>${channel(r)}${r.source ? html`<span class="soft">, ${r.source}</span>` : nothing}</td>
    <td class="what"><b>${refusalReasons[r.code] || r.code}</b>${r.message ? html` <span class="soft">${r.message}</span>` : nothing}</td>
    <td>${r.from || hidden}</td><td class="n">${count(r.count)}${r.count === 1 ? ' time' : ' times'}</td></tr>`), 'short')}</section>`;
}

function silences(list, channel) {
  const shown = list.filter((s) => s.state !== 'ended' && (!s.channel || s.channel === channel));
  const end = (s) => act('Silence ended.', () => api('/silences/' + s.id, 'DELETE'));
  const rows = shown.map((s) => html`<tr><td class="what">${s.matchers.map(describeMatcher).join(' and ') || '(hidden)'}</td>
    <td>${new Date(s.ends_at).toLocaleString()}</td><td>${s.author}</td><td>${s.reason}</td>
    <td>${state.now.may.change ? html`<button class="act" @click=${() => end(s)}>End silence</button>` : nothing}</td></tr>`);
  return html`${shown.length ? table('Silences', ['mutes', 'until', 'author', 'reason', ''], rows) : html`<p class="soft">No silences.</p>`}
    ${state.now.may.change ? silenceForm(channel) : nothing}`;
}

function silenceForm(channel) {
  const add = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const matchers = form.getAll('matcher').map(parseMatcher);
    if (matchers.includes(undefined)) return showToast('Write a matcher like category=disk or label.host=~db-.*');
    const silence = { channel, matchers, for: form.get('for'), author: form.get('author'), reason: form.get('reason') };
    act('Silence created.', () => api('/silences', 'POST', silence));
    state.matchers = [];
    event.target.reset();
  };
  return html`<form class="inline" @submit=${add}>
    ${(state.matchers.length ? state.matchers : ['']).map((matcher) => html`
    <input name="matcher" required placeholder="category=disk" aria-label="matcher" size=${Math.max(18, Math.min(48, matcher.length))}
      value=${matcher}>`)}
    <input name="for" required value="2h" aria-label="duration" size="4">
    <input name="author" required placeholder="author" aria-label="author" size="8">
    <input name="reason" required placeholder="reason" aria-label="reason" size="14"><button class="act">Create silence</button></form>`;
}

function pauseButton(name, paused) {
  const resume = () => act('Channel resumed.', () => api(pathOf(name) + '/resume', 'POST'));
  const pause = () => act('Channel paused for 1 h.', () => api(pathOf(name) + '/pause', 'POST', { for: '1h' }));
  return html`<p>${paused ? html`<button class="act" @click=${resume}>Resume</button>`
    : html`<button class="act" @click=${pause}>Pause for 1 h</button>`}</p>`;
}

function limits(channel) {
  const busiest = [...channel.categories].sort((a, b) => b.admitted + b.dropped - a.admitted - a.dropped).slice(0, 12);
  return html`<section class="card" aria-labelledby="limits"><h2 id="limits">Limits</h2>
    ${channel.levels.map((v) => gauge(`${v.level}, within ${duration(v.per)}`, v.used, v.limit,
    v.retry_after ? 'next slot in ' + duration(v.retry_after) : 'slots free'))}
    <h2 class="soft">Busiest categories</h2>
    ${busiest.map((c) => gauge(c.category, c.used, c.limit, `${count(c.admitted)} sent, ${count(c.dropped)} dropped in a day`))}
  </section>`;
}

function outbox(channel) {
  const l = channel.ledger, paused = channel.state.paused_until, fault = channel.state.fault;
  return html`<p>${l.pending ? html`${count(l.pending)} waiting to be sent, the oldest for ${duration(channel.oldest_seconds)}` : 'No messages are waiting.'}
    ${channel.held ? html`<br><span class="held">${count(channel.held)} held, in case ${channel.held === 1 ? 'it resolves' : 'they resolve'}</span>` : nothing}
    ${fault ? html`<br><span class="bad">Cannot post: ${fault.message}.</span>${fault.remedy ? ` To do: ${fault.remedy}.` : nothing}` : nothing}
    ${paused && !fault ? html`<br><span class="bad">Paused until ${new Date(paused).toLocaleTimeString()}: ${channel.state.reason}</span>` : nothing}</p>
    ${state.now.may.change ? pauseButton(channel.channel, paused) : nothing}`;
}

const ledgerFields = ['received', 'admitted', 'dropped', 'duplicate', 'muted', 'merged', 'delayed', 'delivered', 'failed', 'expired', 'forced'];

function detail() {
  const d = state.detail, channel = d.channel;
  if (!channel) return html`<section class="card"><p class="soft">Loading…</p></section>`;
  const name = channel.channel;
  return html`
    <section class="card" aria-labelledby="flow"><h2 id="flow">${name}: the last hour</h2>
      <p class="legend"><span class="received"><i>received</i></span><span class="sent"><i>sent</i></span><span class="dropped"><i>dropped</i></span></p>
      <div id="chart" role="img" aria-label="Events received, sent and dropped in each minute of the last hour"></div>
      ${counts(ledgerFields.map((field) => [field, channel.ledger[field]]))}
    </section>
    <div class="two">${limits(channel)}
    <section class="card" aria-labelledby="outbox"><h2 id="outbox">Outbox</h2>${outbox(channel)}
      <h2>Dead letters</h2>${deadLetters(d.dead, name)}
      <h2 id="silences">Silences</h2>${silences(d.silences, name)}
    </section></div>
    <section class="card" aria-labelledby="dropped"><h2 id="dropped">Last drops</h2>${drops(d.drops, name)}</section>
    ${d.shown ? preview(d.preview) : nothing}`;
}

const preview = (messages) => html`<section class="card" aria-labelledby="preview"><h2 id="preview">What Slack would show</h2>
  ${messages.length ? html`<div class="messages" tabindex="0" role="region" aria-label="Messages, newest first">
    ${messages.map((m) => html`<div class="message ${m.kind}"><b>${m.headline}</b>${m.text}</div>`)}</div>`
    : html`<p class="soft">No messages yet.</p>`}</section>`;

// heartbeats names those of senders that are missing.
function heartbeats(all) {
  if (!all || !all.length) return nothing;
  const missing = all.filter((one) => one.state === 'missing').map((one) => one.name), more = missing.length - 3;
  return html` · Heartbeats ${missing.length ? html`<b class="bad">${count(missing.length)} of ${count(all.length)} missing: ${
    missing.slice(0, 3).join(', ')}${more > 0 ? ` and ${count(more)} more` : nothing}</b>` : html`<b class="good">ok</b>`}`;
}

// connections returns the state of Redis and Slack.
function connections({ shared, paused, broken, total }) {
  const slack = broken ? `cannot post in ${count(broken)} of ${count(total)}` : paused ? `paused in ${count(paused)} of ${count(total)}` : state.detail.shown ? 'none: shown below' : 'ok';
  return html`Redis <b class=${{ up: 'good', away: 'bad' }[shared.redis] || 'warn'} title=${shared.why || nothing}>${shared.redis}</b>
    · ${shared.replicas === 1 ? '1 replica' : count(shared.replicas) + ' replicas'}
    · Slack <b class=${broken ? 'bad' : paused || state.detail.shown ? 'warn' : 'good'}>${slack}</b>`;
}

async function signIn(event) {
  event.preventDefault();
  const response = await fetch('/login', { method: 'POST', body: new URLSearchParams(new FormData(event.target)) });
  if (response.ok) location.reload(); else showToast('That is not the admin token.');
}

async function signOut() {
  const response = await fetch('/logout', { method: 'POST' });
  if (response.ok) location.reload(); else showToast('Not signed out: ' + response.statusText);
}

// show changes which channels are shown, from their first page.
let typing;
function show(view) {
  state.view = { ...state.view, ...view, after: '' };
  state.pages = [];
  clearTimeout(typing);
  typing = setTimeout(connect, 200);
}

function nextPage() {
  state.pages.push(state.view.after);
  state.view = { ...state.view, after: state.now.next };
  connect();
}

function previousPage() {
  state.view = { ...state.view, after: state.pages.pop() };
  connect();
}

const conditions = [
  ['', 'any state'], ['broken', 'cannot post'], ['paused', 'paused'], ['fallback', 'without Redis'], ['dropping', 'dropping'], ['full', 'limit reached'],
  ['sending', 'sending'], ['idle', 'idle'],
];

// pager filters and turns pages. It is shown where the channels do not fit one page.
function pager({ names, next, matching, total }) {
  if (total <= pageSize) return nothing;
  const first = state.pages.length * pageSize;
  return html`<form class="inline pager" role="search" @submit=${(event) => event.preventDefault()}>
    <input type="search" name="name" placeholder="name contains" aria-label="name contains" @input=${(event) => show({ name: event.target.value })}>
    <select name="state" aria-label="state" @change=${(event) => show({ state: event.target.value })}>
      ${conditions.map(([value, text]) => html`<option value=${value}>${text}</option>`)}</select>
    <span class="soft" id="shown">${names.length ? `${count(first + 1)} to ${count(first + names.length)}` : 'none'} of ${count(matching)}${
      matching < total ? ` (${count(total)} in all)` : nothing}</span>
    <button type="button" class="act" ?disabled=${!state.pages.length} @click=${previousPage}>Previous</button>
    <button type="button" class="act" ?disabled=${!next} @click=${nextPage}>Next</button></form>`;
}

const signInForm = () => html`<form class="inline" @submit=${signIn}>
  <input type="password" name="token" required autocomplete="current-password" placeholder="admin token" aria-label="admin token">
  <button class="act">Sign in</button></form>`;

function head() {
  const ready = state.now && state.now.ready, may = state.now && state.now.may;
  const kind = !state.live || state.now.faults.length ? 'bad' : { ok: 'good', degraded: 'warn' }[ready.status] || 'bad';
  return html`<h1>relay</h1><span class="state ${kind}" role="status">${state.live ? ready.status : 'connection lost'}</span>
    <span class="soft">${state.now ? html`${connections(state.now)}${heartbeats(state.heartbeats)}` : nothing}</span>
    <span class="soft grow">${ready ? ready.reasons.filter((reason) => !state.now.faults.includes(reason)).join('; ') : ''}</span>
    ${may && may.change ? html`<button class="act" @click=${signOut}>Sign out</button>` : nothing}
    ${may && may.token && !may.change ? signInForm() : nothing}`;
}

// faults lists what Slack refuses, with what to do about it.
const maxFaults = 5;
function faults(all) {
  if (!all.length) return nothing;
  return html`<section class="card alert" role="alert" aria-labelledby="faults"><h2 id="faults">Slack refuses messages</h2>
    <ul>${all.slice(0, maxFaults).map((fault) => html`<li>${fault}</li>`)}
    ${all.length > maxFaults ? html`<li>and ${count(all.length - maxFaults)} more: relay status lists them</li>` : nothing}</ul></section>`;
}

function draw() {
  if (!state.now) return;
  if (!state.drawn) $('head').textContent = $('main').textContent = ''; // the placeholders of index.html
  state.drawn = true;
  render(head(), $('head'));
  render(html`${faults(state.now.faults)}${pager(state.now)}<section aria-label="Channels" class="cards">${
    state.now.names.map((name) => card(state.byName[name]))}</section>${refusals()}${detail()}
    <div role="status" aria-live="polite">${state.toast ? html`<div id="toast">${state.toast}</div>` : nothing}</div>`, $('main'));
}

let plot = null;
function chart(series) {
  const place = $('chart');
  if (!place || !window.uPlot) return;
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const begin = Date.parse(series.from) / 1000;
  const repeatLast = (all) => [...all, all[all.length - 1]]; // so that the last step is as wide as the others
  const times = repeatLast(series.total.received).map((_, i) => begin + i * series.step);
  const data = [times, ...['received', 'sent', 'dropped'].map((name) => repeatLast(series.total[name]))];
  const width = place.clientWidth;
  if (plot && plot.root.parentNode === place && plot.width === width && plot.colors === color('ink')) return plot.setData(data);
  if (plot) plot.destroy();
  const line = (name, fill) => ({
    label: name, stroke: color(name), fill: fill ? color(name) + '33' : undefined, width: 2,
    paths: uPlot.paths.stepped({ align: 1 }), points: { show: false },
  });
  const axis = { stroke: color('soft'), grid: { stroke: color('line'), width: 1 }, ticks: { show: false } };
  const clock = (s) => new Date(s * 1000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  plot = new uPlot({
    width, height: 220, legend: { show: false }, cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_, low, high) => [0, Math.max(5, high)] } },
    axes: [{ ...axis, size: 30, values: (_, splits) => splits.map(clock) }, { ...axis, size: 44 }],
    series: [{}, line('received', true), line('sent'), line('dropped')],
  }, data, place);
  plot.colors = color('ink');
}

const redrawChart = () => state.detail.series && chart(state.detail.series);
addEventListener('resize', redrawChart);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawChart);

// receive adds what the stream sent. The first message of a connection has all that is shown.
function receive(now) {
  if (!state.live) state.byName = {};
  now.faults ||= []; // an older replica sends none
  state.now = now;
  state.live = true;
  for (const ch of now.channels) state.byName[ch.channel] = ch;
  state.now.names = now.names.filter((name) => state.byName[name]);
  if (!state.byName[state.selected]) state.selected = now.names[0];
}

let stream = null;
function connect() {
  if (stream) stream.close();
  state.live = false;
  if (!state.selected) followHash();
  const query = new URLSearchParams({ ...state.view, limit: pageSize, selected: state.selected });
  const opened = stream = new EventSource('/api/v1/stream?' + query);
  stream.onmessage = (message) => {
    if (stream !== opened) return; // another page is shown by now
    receive(JSON.parse(message.data));
    draw();
    refresh(false);
    refreshRefusals();
  };
  stream.onerror = () => { // the browser reconnects by itself, unless the relay refused the page: then the first one is shown
    state.live = false;
    draw();
    if (opened.readyState === EventSource.CLOSED && stream === opened && state.view.after) show({});
  };
}
connect();
// The details change without the channel, for example the time of the next slot.
setInterval(() => {
  if (!state.live) return;
  draw();
  refresh(false);
  refreshHeartbeats();
}, 1000);
