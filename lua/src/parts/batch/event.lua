-- part batch/event: read an event. Its decision is in local variables, for speed.
local id, units, place, entry = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3]
local route = routes[place]
if not units or units < 1 or not route or id == '' or #id > 40 then
  return redis.error_reply('ARG an event needs an id of 1 to 40 bytes, 1 or more units and a route of the plan')
end
if messages then
  event.id, event.category, event.entry, event.number, event.thread = id, route[CATEGORY], entry, false, false
  event.bundle, event.status, event.fingerprint, event.severity, event.title, event.delayed, event.reply_to =
    unpack(ARGV, at + 4, at + 10)
end
local outcome, refused, shadow, retry_at, window = nil, 0, 0, now, FIRST
