-- admit.lua: decide a batch of events of one channel, and commit all or none of each, atomically.
--
-- For every event, in order, each event seeing the ones before it:
--   1. an id that was admitted within the dedupe time is a duplicate: nothing is written but its count;
--   2. every window of every level is checked: N units fit iff the (limit-N)-th newest entry (0-based)
--      is missing or has left the window (score <= now - window);
--   3. when all fit, one entry a unit is added to every level, the id is remembered, and the payload is
--      appended to the outbox; when one does not fit, no level is touched.
-- The ledger and the hourly series are written once for the whole batch.
-- Arguments are checked before the first write. Time is this server's TIME, read once, in microseconds.
--
-- KEYS[1] seen     sorted set of admitted ids, score = when
-- KEYS[2] ledger   hash of totals of the channel
-- KEYS[3] series   hash of counts a category in the current hour, "<category>:admitted" and ":dropped"
-- KEYS[4] outbox   sorted set of entry numbers in order
-- KEYS[5] entries  hash: "seq", and "<number>" = "<admitted at> <kind> <payload>"
-- KEYS[6..] the sorted sets of the levels; a level is named below by its place here, from 1
--
-- ARGV[1] dedupe time, microseconds
-- then for each level: number of windows, and for each window: limit, length in microseconds
-- then for each event: id (at most 40 bytes), units, category, kind ("" = nothing to enqueue), payload,
--   number of levels, and that many level numbers, outermost first
--
-- Reply: [now, then for each event: outcome, refused, retry_us]
--   outcome  1 admitted, 2 dropped, 3 duplicate, 4 never (more units than a limit)
--   refused  bit i-1 is set when the event's i-th level refused (0 unless dropped or never)
--   retry_us how long until it could fit, microseconds (0 unless dropped)
-- Errors: "ARG ..." for arguments that make no sense; nothing is written then.
--
-- By hand, a channel limit of 10 and a category limit of 3 per 60 s (the space around the comma matters):
--   redis-cli --eval lua/admit.lua 'relay:{demo}:seen:demo' 'relay:{demo}:ledger:demo' \
--     'relay:{demo}:series:demo:0' 'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:limit:sliding-log:channel' 'relay:{demo}:limit:sliding-log:category:demo:errors' , \
--     3600000000  1 10 60000000  1 3 60000000  event-1 1 errors message '{"title":"disk full"}' 2 1 2
-- answers 1) now 2) 1 3) 0 4) 0: admitted. With ids event-2 to event-10 three pass, seven are dropped.

local seen, ledger, series, outbox, entries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local first_level = 5 -- KEYS[first_level + i] is level i
local dedupe = tonumber(ARGV[1])
local grace_ms = 60000 -- how long an expired level outlives its longest window
local series_ms = 90000000 -- 25 h: the current hour and the 24 before it
local max_categories = 1000
local call = redis.call

local TOO_FEW = 'ARG the number of arguments does not fit the levels and events'

local function int(x) return string.format('%.0f', x) end

-- Read and check all arguments.
if #KEYS < first_level or not dedupe or dedupe <= 0 then
  return redis.error_reply('ARG five keys and a dedupe time above 0 are needed')
end
local at = 2
local levels = {}
for i = 1, #KEYS - first_level do
  local level = { key = KEYS[first_level + i], longest = 0 }
  local windows = tonumber(ARGV[at])
  if not windows or windows < 1 then
    return redis.error_reply('ARG level ' .. i .. ' needs at least one window')
  end
  for w = 1, windows do
    local limit, per = tonumber(ARGV[at + 2 * w - 1]), tonumber(ARGV[at + 2 * w])
    if not limit or not per or limit < 0 or per <= 0 then
      return redis.error_reply('ARG level ' .. i .. ' needs a limit of 0 or more and a window above 0')
    end
    level[w] = { limit = limit, per = per }
    if per > level.longest then level.longest = per end
  end
  at = at + 1 + 2 * windows
  levels[i] = level
end
local events = {}
while at <= #ARGV do
  local event = {
    id = ARGV[at], units = tonumber(ARGV[at + 1]), category = ARGV[at + 2],
    kind = ARGV[at + 3], payload = ARGV[at + 4],
  }
  local count = tonumber(ARGV[at + 5])
  if not event.units or event.units < 1 or not count or event.id == '' or #event.id > 40 then
    return redis.error_reply('ARG an event needs an id of 1 to 40 bytes and 1 or more units')
  end
  for i = 1, count do
    local level = levels[tonumber(ARGV[at + 5 + i])]
    if not level then return redis.error_reply(TOO_FEW) end
    event[i] = level
  end
  at = at + 6 + count
  events[#events + 1] = event
end
if #events == 0 or at ~= #ARGV + 1 then return redis.error_reply(TOO_FEW) end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now_text = int(now)

-- When the units of an event fit into one window of a level; at or before now means they fit already. An
-- answer holds for the events that follow, until one commits to the level.
local function fits_at(level, window, units)
  if window.asked ~= units then
    local rank = window.limit - units
    local edge = call('ZREVRANGE', level.key, rank, rank, 'WITHSCORES')[2]
    window.asked, window.fits = units, edge and tonumber(edge) + window.per or 0
    level.full = level.full or edge
  end
  return window.fits
end

-- The levels that refuse, as bits, the time from which all would pass, and whether it can never fit.
local function refusal(event)
  local refused, retry_at, never = 0, now, false
  for i = 1, #event do
    local level, refuses = event[i], false
    for w = 1, #level do
      if event.units > level[w].limit then
        never, refuses = true, true
      else
        local fit = fits_at(level, level[w], event.units)
        if fit > now then
          refuses = true
          if fit > retry_at then retry_at = fit end
        end
      end
    end
    if refuses then refused = refused + 2 ^ (i - 1) end
  end
  return refused, retry_at, never
end

-- Entry numbers are taken for the whole batch at once; those of refused events are left out.
local seq
local function next_number()
  if not seq then seq = call('HINCRBY', entries, 'seq', #events) - #events end
  seq = seq + 1
  return int(seq)
end

local function commit(event)
  local number = next_number()
  for i = 1, #event do
    local level = event[i]
    if level.full then -- else it holds fewer than its limit, and need not be cleared of old entries
      call('ZREMRANGEBYSCORE', level.key, '-inf', int(now - level.longest))
    end
    for w = 1, #level do level[w].asked = nil end
    for unit = 1, event.units do
      call('ZADD', level.key, now_text, event.id .. ':' .. number .. ':' .. unit)
    end
    call('PEXPIRE', level.key, int(math.ceil(level.longest / 1000) + grace_ms))
  end
  call('ZADD', seen, now_text, event.id)
  if event.kind ~= '' then
    call('HSET', entries, number, now_text .. ' ' .. event.kind .. ' ' .. event.payload)
    call('ZADD', outbox, number, number)
  end
end

local totals = { received = #events }
local order, by_category = {}, {}
local function count(event, outcome)
  totals[outcome] = (totals[outcome] or 0) + 1
  if outcome == 'duplicate' then return end
  local counts = by_category[event.category]
  if not counts then
    counts = {}
    by_category[event.category] = counts
    order[#order + 1] = event.category
  end
  counts[outcome] = (counts[outcome] or 0) + 1
end

local reply = { now }
for i = 1, #events do
  local event = events[i]
  local outcome, refused, retry_us = 3, 0, 0
  local admitted_at = call('ZSCORE', seen, event.id)
  if admitted_at and tonumber(admitted_at) > now - dedupe then
    count(event, 'duplicate')
  else
    local bits, retry_at, never = refusal(event)
    if bits == 0 then
      commit(event)
      count(event, 'admitted')
      outcome = 1
    else
      count(event, 'dropped')
      outcome, refused, retry_us = never and 4 or 2, bits, never and 0 or retry_at - now
    end
  end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = outcome, refused, retry_us
end

if seq then
  call('ZREMRANGEBYSCORE', seen, '-inf', int(now - dedupe))
  call('PEXPIRE', seen, int(math.ceil(dedupe / 1000) + grace_ms))
end
for name, total in pairs(totals) do call('HINCRBY', ledger, name, total) end

-- A category that is new in this hour gets both its fields, or is counted into "other" when there are too many.
local function count_in_series(category, name, total)
  local field = category .. ':' .. name
  local sibling = category .. (name == 'admitted' and ':dropped' or ':admitted')
  if call('HINCRBY', series, field, total) ~= total or call('HSETNX', series, sibling, 0) == 0 then return end
  call('PEXPIRE', series, series_ms)
  if category ~= 'other' and call('HLEN', series) > 2 * max_categories then
    call('HDEL', series, field, sibling)
    count_in_series('other', name, total)
  end
end
for _, category in ipairs(order) do
  for name, total in pairs(by_category[category]) do count_in_series(category, name, total) end
end
return reply
