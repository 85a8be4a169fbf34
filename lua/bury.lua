-- bury.lua: remove an entry that Slack rejected permanently, count it, and keep it as a dead letter.
--
-- An entry is identified by its number and its admission time, because a Redis that restarts from an older snapshot
-- assigns numbers again. If they do not match an entry, the entry is gone and nothing is written, so a repeated call is
-- harmless.
--
-- The call is refused if another sender has the lease, or if the entry was claimed again after the caller's claim,
-- because that attempt may have been posted.
--
-- KEYS[1] lease    (r) hash: owner, until (microseconds)
-- KEYS[2] outbox   (rw) sorted set of the numbers of messages
-- KEYS[3] extras   (rw) sorted set of the numbers of extras
-- KEYS[4] entries  (rw) hash of entries
-- KEYS[5] ledger   (rw) hash of totals: a message counts under its result, an extra under "<kind>:<result>"
-- KEYS[6] posted   (rw) hash of posted messages (see admit.lua)
-- KEYS[7] aged     (rw) sorted set of their numbers, score = time of the last change
-- KEYS[8] dead     (rw) stream of dead letters: number, entry, reason, answer, attempts, sum (bytes)
-- KEYS[9] digest   (-)  not used here
-- KEYS[10] due     (w)  sorted set of the work of channels (see due.lua)
-- KEYS[11], [12]   only with copy: extras (w) and entries (w) of the outbox for the copy
-- then, optional: backlog (rw) the stream or list of a level with the strategy backlog, which the entry leaves
--
-- ARGV[1] owner    the sender that claimed the entry
-- ARGV[2] number   the entry's number
-- ARGV[3] at       admission time of the entry in microseconds, as the claim returned it; 0 = another program added it
-- ARGV[4] claims   how often the entry had been claimed, including the caller's claim
-- ARGV[5] options, JSON; all but keep are optional:
--   reason, answer   of the dead letter
--   keep             how many dead letters the channel keeps; the oldest are deleted first
--   copy             true: append a copy to the outbox of KEYS[11]
--   forget           true: the message certainly never appeared, and its posted message is deleted. Otherwise it may
--                    have appeared
--
-- Reply: 1 done, 0 the entry is gone, or the number is another entry's (nothing is written), -1 another sender has the
--   lease, or the entry was claimed again (nothing is written)
--
-- Example:
--   redis-cli --eval lua/bury.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:ledger:demo' 'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' \
--     'relay:{demo}:dead:demo' 'relay:{demo}:digest:demo' relay:due , \
--     me 1 1700000000000000 1 '{"reason":"channel_not_found","keep":1000}'
--
-- Code generated from lua/src/bury.lua by go generate ./lua; DO NOT EDIT.

-- part entry/arguments: the arguments of the scripts that remove an entry.
local lease, outbox, extras, entries, ledger = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, number, named_at, claims = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local call = redis.call

local decoded, options = pcall(cjson.decode, ARGV[5] or '')
if not decoded or type(options) ~= 'table' or not claims then
  return redis.error_reply('ARG an owner, a number, a time, a number of claims and JSON are needed')
end
local posted, aged, dead, due = KEYS[6], KEYS[7], KEYS[8], KEYS[10]
local copy_extras, copy_entries = nil, nil
if options.copy then copy_extras, copy_entries = KEYS[11], KEYS[12] end
local backlog = KEYS[options.copy and 13 or 11]
local max = math.max
if not options.keep or options.keep < 1 then
  return redis.error_reply('ARG the number of dead letters to keep must be 1 or more')
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

-- A wrong type fails before any write.
for _, set in ipairs({ outbox, extras, aged, due, copy_extras }) do call('ZCARD', set) end
for _, hash in ipairs({ entries, ledger, posted, copy_entries }) do call('HLEN', hash) end
call('XLEN', dead)
-- part entry/backlog: remove the units of the entry from its level with the strategy backlog, a stream or a list.
local backlog_is_list = backlog and call('TYPE', backlog).ok == 'list'
if backlog and not backlog_is_list then call('XLEN', backlog) end

local function leave_backlog()
  if backlog_is_list then
    call('LREM', backlog, '0', number)
  elseif backlog then
    for _, unit in ipairs(call('XRANGE', backlog, number, number)) do call('XDEL', backlog, unit[1]) end
  end
end
-- part entry/claimed: find the entry that the caller claimed. The script ends here if another sender has the
-- lease, or if the number and the admission time do not match an entry.
local DONE, GONE, LOST = 1, 0, -1

local lease_owner = call('HGET', lease, 'owner')
if lease_owner and lease_owner ~= owner and tonumber(call('HGET', lease, 'until')) > now then return LOST end
-- part entry/found: find the entry that the caller claimed. It ends with GONE if the number and the admission time do
-- not match an entry.
local entry = call('HGET', entries, number) or ''
local admitted_at = string.match(entry, '^([1-9]%d*) [^ ]* ') or '0'
if #admitted_at > 18 then admitted_at = '0' end
local is_message = call('ZSCORE', outbox, number)
local is_extra = not is_message and call('ZSCORE', extras, number)
if admitted_at ~= named_at or not (is_message or is_extra) then return GONE end
-- part entry/latest_claim: end the script if the entry was claimed again after the caller's claim, because that
-- attempt may have been posted.
local attempts = call('HGET', entries, number .. ':attempts') or '0'
if (tonumber(attempts) or 0) > claims then return LOST end
-- part entry/remove: remove the entry, and count its result. An extra counts under "<kind>:<result>".
local function remove_entry(result)
  if call('ZREM', outbox, number) == 1 then
    call('HINCRBY', ledger, result, 1)
  else
    local kind = string.match(entry, '^%d+ (%S+) .*$')
    call('ZREM', extras, number)
    call('HINCRBY', ledger, (kind or 'unknown') .. ':' .. result, 1)
  end
  call('HDEL', entries, number, number .. ':attempts', number .. ':faults', number .. ':sent', number .. ':tried',
    number .. ':looked', number .. ':again', number .. ':thread', number .. ':name', number .. ':claim')
end
-- part stream_bytes: bound a stream in bytes. Each item has in "sum" how many bytes were added up to it, so that
-- what the stream holds is the difference of two sums.
local item_overhead = 256 -- bytes of an item beside its text

local function field_of(item, name)
  for i = 1, item and #item[2] or 0, 2 do
    if item[2][i] == name then return item[2][i + 1] end
  end
  return ''
end

local function sum_of(item) return tonumber(field_of(item, 'sum')) or 0 end

local function newest_sum(stream) return sum_of(call('XREVRANGE', stream, '+', '-', 'COUNT', '1')[1]) end

-- trim deletes the oldest items while the stream holds more than most bytes, so many of them at most. field has
-- an item's text, and sum is that of the newest.
local function trim(stream, field, most, sum, items_at_most)
  for _ = 1, items_at_most do
    local oldest = call('XRANGE', stream, '-', '+', 'COUNT', '1')[1]
    if not oldest then return end
    local before = max(0, sum_of(oldest) - #field_of(oldest, field) - item_overhead)
    if sum - before <= most then return end
    call('XDEL', stream, oldest[1])
  end
end
-- part dead_letters: add to the channel's dead letters, which are bounded in number and in bytes. A letter has
-- number, entry, reason, answer, attempts (text), and keep: how many the channel keeps.
local max_dead_bytes = 8388608

local function add_dead_letters(letters, trim_at_most)
  local sum = newest_sum(dead)
  for _, letter in ipairs(letters) do
    sum = sum + #letter.entry + item_overhead
    call('XADD', dead, 'MAXLEN', '=', letter.keep, '*', 'number', letter.number, 'entry', letter.entry,
      'reason', letter.reason or '', 'answer', letter.answer or '', 'attempts', letter.attempts, 'sum', int(sum))
  end
  trim(dead, 'entry', max_dead_bytes, sum, trim_at_most)
end
-- part entry/shown: store that the message is in Slack, and where, for its resolves and repeats.
local function mark_shown()
  local text = call('HGET', posted, number)
  if not text then return end
  local message = cjson.decode(text)
  message.ts, message.channel, message.shown = options.ts, options.channel, true
  local updated = cjson.encode(message)
  call('HINCRBY', posted, 'bytes', #updated - #text)
  call('HSET', posted, number, updated)
end
-- part posted_names: delete the names that stand for a posted message. Names of newer messages stay.
local function delete_names(message_number, message)
  local function delete(name)
    if call('HGET', posted, name) == message_number then call('HDEL', posted, name) end
  end
  for _, event in ipairs(message.events or {}) do
    if event.f then delete('f:' .. event.f) end
  end
  for fingerprint in pairs(message.members or {}) do delete('f:' .. fingerprint) end
  delete('c:' .. (message.category or ''))
  delete('b:' .. (message.bundle or ''))
end
-- part entry/forgotten: delete the posted message of a message that certainly never appeared.
local function forget_message()
  local text = call('HGET', posted, number)
  if not text then return end
  call('HINCRBY', posted, 'bytes', -#text)
  delete_names(number, cjson.decode(text))
  call('HDEL', posted, number)
  call('ZREM', aged, number)
end

-- send_copy puts a copy of the entry into another channel's outbox.
local function send_copy()
  local payload = string.match(entry, '^%d+ %S+ (.*)$')
  if not payload then return end
  local copied = int(call('HINCRBY', copy_entries, 'seq', 1))
  call('HSET', copy_entries, copied, int(now) .. ' copy ' .. payload)
  call('ZADD', copy_extras, int(now), copied)
  look_now('send', copy_extras)
end

remove_entry('failed')
local letter = { number = number, entry = entry, reason = options.reason, answer = options.answer }
letter.attempts, letter.keep = attempts, options.keep
add_dead_letters({ letter }, 8)
if copy_extras then send_copy() end
if options.forget then forget_message() else mark_shown() end
leave_backlog()
return DONE
