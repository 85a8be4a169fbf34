// Texts of the dashboard: numbers, times, and what a reply of the API means.

export const count = (n) => n.toLocaleString('en');

export const ago = (at) => duration((Date.now() - new Date(at)) / 1000) + ' ago';

export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return s + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min' + (s < 600 && s % 60 ? ' ' + (s % 60) + ' s' : '');
  return Math.floor(s / 3600) + ' h ' + Math.floor((s % 3600) / 60) + ' min';
}

// title returns the text of an event; drops and dead letters may be without one.
export const title = (event) => event ? (event.title || event.text || '(no text)') : '(not recorded)';

// describeReceipt returns what happened to a replayed drop or dead letter.
export function describeReceipt(receipt) {
  const accepted = receipt.received - receipt.dropped;
  if (receipt.dropped && accepted > 0) return `${accepted} of ${receipt.received} accepted. ${describeDrop(receipt)}`;
  if (receipt.forced) return 'Admitted past the limits: it will be posted.';
  if (receipt.admitted) return 'Admitted: it will be posted.';
  if (receipt.merged) return 'Merged into its message in Slack.';
  if (receipt.delayed) return 'Waiting for a slot: it will be posted when one is free.';
  if (receipt.duplicate) return 'Sent again before: nothing more will be posted.';
  return describeDrop(receipt);
}

function describeDrop(receipt) {
  const event = receipt.events.find((one) => one.outcome === 'dropped') || {};
  if (event.explanation) return `Dropped again: ${event.explanation}.`;
  const next = event.retry_after ? ` (next slot in ${duration(event.retry_after)})` : '';
  return `Still over the ${event.level} limit: dropped again${next}.`;
}

// refusalReasons are the codes of refused requests, in words.
export const refusalReasons = {
  unauthorized: 'wrong or missing credential', forbidden: 'not allowed', misdirected: 'wrong Host', method_not_allowed: 'wrong method',
  unknown_channel: 'no such channel', unknown_source: 'no such source', not_found: 'no such path',
  bad_json: 'not valid JSON', bad_field: 'invalid field', empty_body: 'empty body', no_events: 'no events',
  body_too_large: 'body too large', too_many_events: 'too many events', unsupported_media_type: 'unsupported Content-Type',
  unavailable: 'not available', internal: 'error in the relay',
};

// describeMatcher returns a matcher of a silence, as it is written in the form.
export function describeMatcher(m) {
  const field = `${m.field}${m.not ? '!' : ''}`;
  if (m.is !== undefined) return `${field}=${m.is}`;
  if (m.in) return `${field} in ${m.in.join(', ')}`;
  return `${field}=~${m.matches}`;
}

// parseMatcher reads field=value or field=~pattern, with ! before the operator to negate it; undefined if it is neither.
export function parseMatcher(text) {
  const [, field, not, op, value] = /^\s*([\w.:-]+?)\s*(!?)(=~|~|=)\s*(.*)$/.exec(text) || [];
  if (!field) return undefined;
  const matcher = { field, not: not === '!' };
  if (op === '=') matcher.is = value; else matcher.matches = '^(?:' + value + ')$';
  return matcher;
}
