-- mark.lua: note on a posted message that a user acknowledged or muted it, or remove that note, and queue an edit
-- that shows it.
--
-- Nothing is written unless the message is at the given place in Slack and an alert of it is firing. A note that is
-- there already stays: of several users, the first one is noted. A repeated call changes nothing.
--
-- KEYS[1] posted   (rw) hash of posted messages (see admit.lua); "acks" = 1 since one was acknowledged
-- KEYS[2] extras   (rw) sorted set of the numbers of extras, score = due time
-- KEYS[3] entries  (rw) hash of entries
-- KEYS[4] due      (w)  sorted set of the work of channels (see due.lua)
--
-- ARGV[1] number   of the message
-- ARGV[2] channel  Slack's id of the channel in which it has to be
-- ARGV[3] ts       Slack's id of the message
-- ARGV[4] kind     ack or mute
-- ARGV[5] mark, JSON: {"user": id, "name": name, "silence": id}; "at" and "until" are added. With remove: the note that
--   has this silence is removed, or, without "silence", any
-- ARGV[6] for      how long it lasts, microseconds; 0 = until the message is resolved; -1 = remove
--
-- Reply: [result, message] result: 0 changed, 1 unchanged, 2 no such message at this place, 3 no alert of it is firing;
--   message: JSON, as it is then; "" with 2
--
-- Example:
--   redis-cli --eval lua/mark.lua 'relay:{demo}:posted:demo' 'relay:{demo}:extras:demo' 'relay:{demo}:entries:demo' \
--     relay:due , 1 C0123 1700000000.000100 ack '{"user":"U0123","name":"ada"}' 0
--
-- Code generated from lua/src/mark.lua by go generate ./lua; DO NOT EDIT.

local posted, extras, entries, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local number, channel, ts, kind, duration = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[6])
local call = redis.call
local CHANGED, UNCHANGED, NO_MESSAGE, OVER = 0, 1, 2, 3

local decoded, mark = pcall(cjson.decode, ARGV[5] or '')
if not decoded or type(mark) ~= 'table' or not duration or kind ~= 'ack' and kind ~= 'mute' then
  return redis.error_reply('ARG a number, a channel, a ts, ack or mute, JSON and a time are needed')
end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part due/work: the name of a channel's work in the due index. key is any key of the channel.
local function work_of(work_kind, key)
  return work_kind .. ' ' .. (string.gsub(key, '^relay:{([^}]*)}:%l+:', '%1:'))
end
-- part due/now: let senders look at a channel now, because it may have more to do than before.
local function look_now(work_kind, key) call('ZADD', due, 'LT', int(now), work_of(work_kind, key)) end
-- part messages/firing: whether any alert of a message is firing. See the part messages/alerts.
local function is_any_firing(message)
  for _, alert in ipairs(message.events or {}) do
    if alert.f and not alert.r then return true end
  end
  for _, over_at in pairs(message.members or {}) do
    if over_at == 0 then return true end
  end
  return message.members ~= nil and (message.more or 0) > 0
end

for _, set in ipairs({ extras, due }) do call('ZCARD', set) end -- a wrong type fails before any write
call('HLEN', entries)
local text = call('HGET', posted, number)
local message = text and cjson.decode(text) or {}
if not message.ts or message.ts ~= ts or message.channel ~= channel then return { NO_MESSAGE, '' } end
if not is_any_firing(message) then return { OVER, text } end

local present, is_removal = message[kind], duration < 0
if is_removal then
  if not present or mark.silence and mark.silence ~= present.silence then return { UNCHANGED, text } end
  message[kind] = nil
else
  if present then return { UNCHANGED, text } end
  mark.at = int(now)
  if duration > 0 then mark['until'] = int(now + duration) end
  message[kind] = mark
  if kind == 'ack' then call('HSET', posted, 'acks', '1') end
end

-- An edit that waits without an attempt shows this change too. It may be due later.
local last = message.edit
local is_unsent = last and call('HEXISTS', entries, last) == 1 and call('HEXISTS', entries, last .. ':sent') == 0
if not is_unsent then
  last = int(call('HINCRBY', entries, 'seq', 1))
  call('HSET', entries, last, int(now) .. ' edit ' .. number)
end
if not is_unsent or tonumber(message.due) > now then
  message.edit, message.due = last, int(now)
  call('ZADD', extras, int(now), last)
  look_now('send', extras)
end

local updated = cjson.encode(message)
call('HINCRBY', posted, 'bytes', #updated - #text)
call('HSET', posted, number, updated)
return { CHANGED, updated }
