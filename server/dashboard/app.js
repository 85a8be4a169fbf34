import { html, render, nothing } from '/assets/lit-html.js';

// The page shows what the API says. The stream brings how all channels stand, once a second; of the channel that is
// looked at, the rest is asked for when its counts have changed.
const state = { now: null, selected: null, detail: {}, live: false, toast: '' };
const $ = (id) => document.getElementById(id);

async function api(path, method = 'GET', body) {
  const answer = await fetch('/api/v1' + path, { method, body: body && JSON.stringify(body) });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error ? said.error.message : answer.statusText);
  return said;
}

function tell(text) {
  state.toast = text;
  draw();
  setTimeout(() => { if (state.toast === text) { state.toast = ''; draw(); } }, 6000);
}

async function act(what, f) {
  try {
    const said = await f();
    tell(typeof what === 'function' ? what(said) : what);
    refresh(true);
  } catch (e) { tell(e.message); }
}

// becameOf says what became of what was sent again, as its receipt has it.
function becameOf(receipt) {
  if (receipt.dropped && receipt.dropped < receipt.received) return `${receipt.received - receipt.dropped} of ${receipt.received} accepted. ${whyDropped(receipt)}`;
  if (receipt.forced) return 'Admitted past the limits: it will be posted.';
  if (receipt.admitted) return 'Admitted: it will be posted.';
  if (receipt.merged) return 'Merged into its message in Slack.';
  if (receipt.delayed) return 'Waiting for a slot: it will be posted when one is free.';
  if (receipt.duplicate) return 'Already sent again before: nothing more is posted.';
  return whyDropped(receipt);
}

function whyDropped(receipt) {
  const e = receipt.events.find((one) => one.outcome === 'dropped') || {};
  const why = { suppressed: 'it resolves an alert that was never posted here', full: 'the queue for slots is full', never: 'it can never fit the limits' }[e.level];
  if (why) return `Dropped again: ${why}.`;
  return `Still over the ${e.level} limit: dropped again${e.retry_after ? ` (next slot in ${lasting(e.retry_after)})` : ''}.`;
}

// refresh asks for what the stream does not bring.
let asked = '', asking = false;
async function refresh(force) {
  const ch = state.now && state.now.channels.find((c) => c.channel === state.selected);
  if (!ch || asking) return;
  const minute = Math.floor(Date.now() / 5000);
  const mark = JSON.stringify([ch.channel, ch.ledger, ch.state, minute]);
  if (mark === asked && !force) return;
  asked = mark;
  asking = true;
  try {
    const at = '/channels/' + encodeURIComponent(ch.channel);
    const [channel, series, drops, dead, silences, preview] = await Promise.all([
      api(at), api(at + '/series?back=1h'), api(at + '/drops?limit=15'), api(at + '/dead?limit=15'), api('/silences'), api(at + '/preview'),
    ]);
    state.detail = { channel, series, drops: drops.drops, dead: dead.dead, silences: silences.silences, preview: preview.messages, shown: preview.shown };
    draw();
    chart(series);
  } catch (e) { tell(e.message); } finally { asking = false; }
}

// What this replica refused is asked for when it has refused more.
let refusedAsked = 0;
async function refreshRefused() {
  if (state.now.refused === refusedAsked) return;
  refusedAsked = state.now.refused;
  try { state.refused = await api('/refusals'); draw(); } catch { refusedAsked = 0; }
}

const count = (n) => n.toLocaleString('en');
const ago = (at) => lasting((Date.now() - new Date(at)) / 1000) + ' ago';
function lasting(s) {
  s = Math.max(0, Math.round(s));
  if (s < 60) return s + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min' + (s < 600 && s % 60 ? ' ' + (s % 60) + ' s' : '');
  return Math.floor(s / 3600) + ' h ' + Math.floor((s % 3600) / 60) + ' min';
}

// A channel drops while its count grows, and for a minute after.
const droppedAt = {};
function watchDrops(channels) {
  for (const ch of channels) {
    const before = droppedAt[ch.channel];
    if (!before || before.count !== ch.ledger.dropped) droppedAt[ch.channel] = { count: ch.ledger.dropped, at: before ? Date.now() : 0 };
  }
}

function stateOf(ch) {
  if (ch.state.paused_until) return ['bad', 'paused: ' + ch.state.reason];
  if (ch.state.fallback) return ['warn', 'without Redis (' + ch.state.fallback + ')'];
  if (Date.now() - droppedAt[ch.channel].at < 60000) return ['warn', 'dropping: a limit is reached'];
  if (ch.levels.some((v) => v.retry_after > 0)) return ['warn', 'a limit is reached'];
  if (ch.ledger.pending > 0) return ['good', 'sending'];
  return ['good', 'idle'];
}

const gauge = (name, used, limit, note) => html`
  <div class="level"><span>${name}</span><span class="soft">${count(used)} of ${count(limit)}${note ? html` · ${note}` : nothing}</span>
  <meter min="0" max=${limit} high=${limit * 0.8} optimum="0" .value=${Math.min(used, limit)} aria-label="${name}: ${used} of ${limit} slots used"></meter></div>`;

const counts = (pairs) => html`<dl class="counts">${pairs.map(([name, n, kind]) => html`<div><dt>${name}</dt><dd class=${kind || ''}>${n}</dd></div>`)}</dl>`;

function card(ch) {
  const [kind, said] = stateOf(ch), l = ch.ledger;
  return html`<button class="card channel" aria-pressed=${ch.channel === state.selected} @click=${() => select(ch.channel)}>
    <h3>${ch.channel}</h3><span class="state ${kind}">${said}</span>
    ${ch.levels.slice(0, 1).map((v) => gauge(v.level, v.used, v.limit))}
    ${counts([['sent', count(l.delivered)], ['dropped', count(l.dropped), l.dropped ? 'bad' : ''], ['waiting', count(l.pending)], ['dead', count(l.failed), l.failed ? 'bad' : '']])}
  </button>`;
}

function select(name) {
  state.selected = name;
  state.detail = {};
  location.hash = encodeURIComponent(name);
  draw();
  refresh(true);
}

const title = (e) => e ? (e.title || e.text || '(no text)') : '(not kept)';

function drops(list, channel) {
  if (!list.length) return html`<p class="soft">Nothing was dropped.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Last drops"><table><thead><tr><th>when</th><th>category</th><th>event</th><th>why</th><th></th></tr></thead><tbody>
    ${list.map((d) => html`<tr><td>${ago(d.at)}</td><td>${d.category}</td><td class="what">${state.now.may.read ? title(d.event) : html`<span class="soft">hidden</span>`}</td>
    <td>${d.limit > 0 ? `${d.level}: ${d.used} of ${d.limit}` : d.level}</td>
    <td>${state.now.may.change && d.event ? replays(d, channel) : nothing}</td></tr>`)}
  </tbody></table></div>`;
}

const why = {
  unauthorized: 'wrong or missing credential', forbidden: 'not allowed', unknown_channel: 'no such channel', unknown_source: 'no such source', not_found: 'no such path',
  bad_json: 'not valid JSON', bad_field: 'invalid field', empty_body: 'empty body', no_events: 'no events', body_too_large: 'body too large', too_many_events: 'too many events',
  unsupported_media_type: 'unsupported Content-Type', method_not_allowed: 'wrong method', misdirected: 'wrong Host', unavailable: 'not available', internal: 'error in the relay',
};

// refused is what did not come through the door, in the last day. No channel counts it.
function refused() {
  const recent = state.refused ? state.refused.refusals.filter((r) => Date.now() - new Date(r.last) < 86400000) : [];
  if (!recent.length) return nothing;
  return html`<section class="card" aria-labelledby="refused"><h2 id="refused">Refused requests</h2>
    <p class="soft">This replica refused ${count(state.refused.total)}${state.refused.total === 1 ? ' request' : ' requests'} since it started ${ago(state.refused.since)}. The ledger does not count them as received.</p>
    <div class="scroll short" tabindex="0" role="region" aria-label="Refused requests"><table><thead><tr><th>when</th><th>channel</th><th>why</th><th>from</th><th class="n">times</th></tr></thead><tbody>
    ${recent.map((r) => html`<tr><td>${ago(r.last)}</td><td>${r.channel || html`<span class="soft">${r.route.includes('{channel}') ? 'none of that name' : 'none'}</span>`}${r.source ? html`<span class="soft">, ${r.source}</span>` : nothing}</td>
    <td class="what"><b>${why[r.code] || r.code}</b>${r.message ? html` <span class="soft">${r.message}</span>` : nothing}</td><td>${r.from || html`<span class="soft">hidden</span>`}</td><td class="n">${count(r.count)}${r.count === 1 ? ' time' : ' times'}</td></tr>`)}
  </tbody></table></div></section>`;
}

// replays are the ways to send a drop again: what the limits would refuse whenever it comes can only be posted past them.
function replays(d, channel) {
  const at = `/channels/${encodeURIComponent(channel)}/drops/${encodeURIComponent(d.id)}/replay`;
  const force = () => confirm(`Post this in ${channel} past its limits? It takes no slot, is counted as forced, and is written to the audit log.`)
    && act(becameOf, () => api(at, 'POST', { force: true }));
  return html`${d.level === 'suppressed' || d.level === 'never' ? nothing : html`<button class="act again" @click=${() => act(becameOf, () => api(at, 'POST'))}>Send again<span hidden> ${d.id}</span></button>`}
    <button class="act force" @click=${force}>Post anyway<span hidden> ${d.id}</span></button>`;
}

function dead(list, channel) {
  if (!list.length) return html`<p class="soft">No dead letters.</p>`;
  const at = (d) => `/channels/${encodeURIComponent(channel)}/dead/${encodeURIComponent(d.id)}`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Dead letters"><table><thead><tr><th>when</th><th>reason</th><th>event</th><th></th></tr></thead><tbody>
    ${list.map((d) => html`<tr><td>${ago(d.at)}</td><td>${d.reason}</td><td class="what">${state.now.may.read ? title((d.events || [])[0]) : html`<span class="soft">hidden</span>`}</td>
    <td>${state.now.may.change ? html`<button class="act replay" @click=${() => act(becameOf, () => api(at(d) + '/replay', 'POST'))}>Send again</button>
    <button class="act" @click=${() => act('Deleted.', () => api(at(d), 'DELETE'))}>Delete</button>` : nothing}</td></tr>`)}
  </tbody></table></div>`;
}

function silences(list, channel) {
  const shown = list.filter((s) => s.state !== 'ended' && (!s.channel || s.channel === channel));
  const add = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const [, field, not, op, value] = /^\s*([\w.:-]+?)\s*(!?)(=~|~|=)\s*(.*)$/.exec(form.get('matcher')) || [];
    if (!field) return tell('Write a matcher like category=disk or label.host=~db-.*');
    const matcher = { field, not: not === '!' };
    if (op === '=') matcher.is = value; else matcher.matches = '^(?:' + value + ')$';
    act('The silence is made.', () => api('/silences', 'POST', { channel, matchers: [matcher], for: form.get('for'), author: form.get('author'), reason: form.get('reason') }));
    event.target.reset();
  };
  return html`${shown.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Silences"><table><thead><tr><th>mutes</th><th>until</th><th>by</th><th>why</th><th></th></tr></thead><tbody>
    ${shown.map((s) => html`<tr><td class="what">${s.matchers.map((m) => `${m.field}${m.not ? '!' : ''}${m.is !== undefined ? '=' + m.is : m.in ? ' in ' + m.in.join(', ') : '=~' + m.matches}`).join(' and ') || '(hidden)'}</td>
    <td>${new Date(s.ends_at).toLocaleString()}</td><td>${s.author}</td><td>${s.reason}</td>
    <td>${state.now.may.change ? html`<button class="act" @click=${() => act('The silence ended.', () => api('/silences/' + s.id, 'DELETE'))}>End</button>` : nothing}</td></tr>`)}</tbody></table></div>` : html`<p class="soft">No silences.</p>`}
    ${state.now.may.change ? html`<form class="inline" @submit=${add}>
      <input name="matcher" required placeholder="category=disk" aria-label="matcher" size="18"><input name="for" required value="2h" aria-label="for how long" size="4">
      <input name="author" required placeholder="who" aria-label="author" size="8"><input name="reason" required placeholder="why" aria-label="reason" size="14"><button class="act">Silence</button></form>` : nothing}`;
}

function detail() {
  const { channel, drops: dropped, dead: letters, silences: quiet, preview, shown } = state.detail;
  if (!channel) return html`<section class="card"><p class="soft">Loading…</p></section>`;
  const l = channel.ledger, name = channel.channel, paused = channel.state.paused_until;
  return html`
    <section class="card" aria-labelledby="flow"><h2 id="flow">${name}: the last hour</h2>
      <p class="legend"><span class="received"><i>received</i></span><span class="sent"><i>sent</i></span><span class="dropped"><i>dropped</i></span></p>
      <div id="chart" role="img" aria-label="Events received, sent and dropped in each minute of the last hour"></div>
      ${counts([['received', count(l.received)], ['admitted', count(l.admitted)], ['dropped', count(l.dropped)], ['duplicate', count(l.duplicate)], ['muted', count(l.muted)], ['merged', count(l.merged)], ['delayed', count(l.delayed)], ['delivered', count(l.delivered)], ['failed', count(l.failed)], ['expired', count(l.expired)], ['forced', count(l.forced)]])}
    </section>
    <div class="two">
    <section class="card" aria-labelledby="limits"><h2 id="limits">Limits</h2>
      ${channel.levels.map((v) => gauge(`${v.level}, within ${lasting(v.per)}`, v.used, v.limit, v.retry_after ? 'room in ' + lasting(v.retry_after) : 'room now'))}
      <h2 class="soft">Busiest categories</h2>
      ${[...channel.categories].sort((a, b) => b.admitted + b.dropped - a.admitted - a.dropped).slice(0, 12).map((c) => gauge(c.category, c.used, c.limit, `${count(c.admitted)} sent, ${count(c.dropped)} dropped in a day`))}
    </section>
    <section class="card" aria-labelledby="outbox"><h2 id="outbox">Outbox</h2>
      <p>${l.pending ? html`${count(l.pending)} waiting for Slack, the oldest for ${lasting(channel.oldest_seconds)}` : 'Nothing waits for Slack.'}${paused ? html`<br><span class="bad">Paused until ${new Date(paused).toLocaleTimeString()}: ${channel.state.reason}</span>` : nothing}</p>
      ${state.now.may.change ? html`<p>${paused ? html`<button class="act" @click=${() => act('The channel goes on.', () => api(`/channels/${encodeURIComponent(name)}/resume`, 'POST'))}>Resume</button>`
    : html`<button class="act" @click=${() => act('The channel is paused for an hour.', () => api(`/channels/${encodeURIComponent(name)}/pause`, 'POST', { for: '1h' }))}>Pause for 1 h</button>`}</p>` : nothing}
      <h2>Dead letters</h2>${dead(letters, name)}
      <h2>Silences</h2>${silences(quiet, name)}
    </section></div>
    <section class="card" aria-labelledby="dropped"><h2 id="dropped">Last drops</h2>${drops(dropped, name)}</section>
    ${shown ? html`<section class="card" aria-labelledby="preview"><h2 id="preview">What Slack would show</h2>
      ${preview.length ? html`<div class="messages" tabindex="0" role="region" aria-label="Messages, the newest first">${preview.map((m) => html`<div class="message ${m.kind}"><b>${m.headline}</b>${m.text}</div>`)}</div>` : html`<p class="soft">No messages yet.</p>`}</section>` : nothing}`;
}

// outside is how Redis and Slack stand.
function outside({ shared, channels }) {
  const waiting = channels.filter((c) => c.state.paused_until).length;
  return html`Redis <b class=${{ up: 'good', away: 'bad' }[shared.redis] || 'warn'} title=${shared.why || nothing}>${shared.redis}</b> · ${shared.replicas === 1 ? '1 replica' : count(shared.replicas) + ' replicas'}
    · Slack <b class=${waiting || state.detail.shown ? 'warn' : 'good'}>${waiting ? `waits in ${waiting} of ${channels.length}` : state.detail.shown ? 'none: shown below' : 'ok'}</b>`;
}

function head() {
  const ready = state.now && state.now.ready;
  const kind = !state.live ? 'bad' : ready.status === 'ok' ? 'good' : ready.status === 'degraded' ? 'warn' : 'bad';
  const signIn = async (event) => {
    event.preventDefault();
    const answer = await fetch('/login', { method: 'POST', body: new URLSearchParams(new FormData(event.target)) });
    if (answer.ok) location.reload(); else tell('That is not the admin token.');
  };
  const signOut = async () => {
    const answer = await fetch('/logout', { method: 'POST' });
    if (answer.ok) location.reload(); else tell('You are still signed in: ' + answer.statusText);
  };
  return html`<h1>relay</h1><span class="state ${kind}" role="status">${state.live ? ready.status : 'connection lost'}</span>
    <span class="soft">${state.now ? outside(state.now) : nothing}</span>
    <span class="soft grow">${ready ? ready.reasons.join('; ') : ''}</span>
    ${state.now && state.now.may.change ? html`<button class="act" @click=${signOut}>Sign out</button>` : nothing}
    ${state.now && state.now.may.token && !state.now.may.change ? html`<form class="inline" @submit=${signIn}><input type="password" name="token" required autocomplete="current-password" placeholder="admin token" aria-label="admin token"><button class="act">Sign in</button></form>` : nothing}`;
}

function draw() {
  if (!state.now) return;
  if (!state.drawn) $('head').textContent = $('main').textContent = ''; // what stands there before
  state.drawn = true;
  render(head(), $('head'));
  render(html`<section aria-label="Channels" class="cards">${state.now.channels.map(card)}</section>${refused()}${detail()}
    <div role="status" aria-live="polite">${state.toast ? html`<div id="toast">${state.toast}</div>` : nothing}</div>`, $('main'));
}

let plot = null;
function chart(series) {
  const at = $('chart');
  if (!at || !window.uPlot) return;
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const begin = Date.parse(series.from) / 1000;
  const last = (all) => [...all, all[all.length - 1]]; // so that the last step is as wide as the others
  const data = [last(series.total.received).map((_, i) => begin + i * series.step), ...['received', 'sent', 'dropped'].map((name) => last(series.total[name]))];
  const width = at.clientWidth;
  if (plot && plot.root.parentNode === at && plot.width === width && plot.colors === color('ink')) return plot.setData(data);
  if (plot) plot.destroy();
  const stepped = uPlot.paths.stepped({ align: 1 }), line = (name, fill) => ({ label: name, stroke: color(name), fill: fill ? color(name) + '33' : undefined, width: 2, paths: stepped, points: { show: false } });
  const axis = { stroke: color('soft'), grid: { stroke: color('line'), width: 1 }, ticks: { show: false } };
  plot = new uPlot({ width, height: 220, legend: { show: false }, cursor: { drag: { x: false, y: false } }, scales: { y: { range: (_, low, high) => [0, Math.max(5, high)] } },
    axes: [{ ...axis, size: 30, values: (_, at) => at.map((s) => new Date(s * 1000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })) }, { ...axis, size: 44 }], series: [{}, line('received', true), line('sent'), line('dropped')] }, data, at);
  plot.colors = color('ink');
}
addEventListener('resize', () => state.detail.series && chart(state.detail.series));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => state.detail.series && chart(state.detail.series));

function connect() {
  const stream = new EventSource('/api/v1/stream');
  stream.onmessage = (message) => {
    state.now = JSON.parse(message.data);
    state.live = true;
    watchDrops(state.now.channels);
    const names = state.now.channels.map((c) => c.channel), wanted = decodeURIComponent(location.hash.slice(1));
    if (!names.includes(state.selected)) state.selected = names.includes(wanted) ? wanted : names[0];
    draw();
    refresh(false);
    refreshRefused();
  };
  stream.onerror = () => { state.live = false; draw(); }; // it connects again by itself
}
connect();
