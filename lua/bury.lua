-- bury.lua: an entry can never be delivered: take it out, count it, and keep it as a dead letter.
--
-- An entry is named by its number and the time of its admission: a Redis that came back older than it was gives
-- numbers again. Where the name does not fit, the entry is gone, and nothing is written: a repeat is harmless.
--
-- Refused where another sender has the lease, or where another claim followed the caller's: its attempt may have been
-- posted.
--
-- KEYS[1] lease    (r) hash: owner, until (microseconds)
-- KEYS[2] outbox   (rw) sorted set of the numbers of messages
-- KEYS[3] extras   (rw) sorted set of the numbers of extras
-- KEYS[4] entries  (rw) hash of entries
-- KEYS[5] ledger   (rw) hash of totals: a message counts under its result, an extra under "<kind>:<result>"
-- KEYS[6] posted   (rw) hash of the messages that a resolve or a repeat may find (admit.lua)
-- KEYS[7] aged     (rw) sorted set of their numbers, by when each was last touched
-- KEYS[8] dead     (rw) stream of dead letters: number, entry, reason, answer, attempts, sum (bytes)
-- KEYS[9] digest   (-)  not used here
-- KEYS[10], [11]   only with copy: extras (w) and entries (w) of the outbox that gets a copy
-- then, optional: backlog (rw) a level of strategy backlog, stream or list, which the entry leaves
--
-- ARGV[1] owner    who claimed it
-- ARGV[2] number   the entry's number
-- ARGV[3] at       when the entry was admitted, microseconds, as the claim returned it; 0 = it is not the relay's
-- ARGV[4] claims   how often it was claimed by then, the caller's claim included
-- ARGV[5] options, JSON, each optional but keep:
--   reason, answer, keep   of a dead letter, and how many the channel keeps; the oldest go first
--   copy             true: put a copy into the outbox of KEYS[10]
--   forget           true: the message certainly never appeared: what is kept of it goes; else it counts as shown
--
-- Reply: 1 done, 0 the entry is gone, or the number is another entry's (nothing written), -1 another sender has the
--   lease, or claimed the entry since (nothing written)
--
-- By hand:
--   redis-cli --eval lua/bury.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:ledger:demo' 'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' \
--     'relay:{demo}:dead:demo' 'relay:{demo}:digest:demo' , \
--     me 1 1700000000000000 1 '{"reason":"channel_not_found","keep":1000}'
--
-- Code generated from lua/src/bury.lua by go generate ./lua; DO NOT EDIT.

-- part entry/arguments: what the scripts that take out an entry have in common.
local lease, outbox, extras, entries, ledger = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, number, named_at, claims = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local call = redis.call

local decoded, more = pcall(cjson.decode, ARGV[5] or '')
if not decoded or type(more) ~= 'table' or not claims then
  return redis.error_reply('ARG an owner, a number, a time, a number of claims and JSON are needed')
end
local posted, aged, dead = KEYS[6], KEYS[7], KEYS[8]
local copy_extras, copy_entries = nil, nil
if more.copy then copy_extras, copy_entries = KEYS[10], KEYS[11] end
local backlog = KEYS[more.copy and 12 or 10]
local max = math.max
if not more.keep or more.keep < 1 then
  return redis.error_reply('ARG the number of dead letters to keep must be 1 or more')
end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

for _, set in ipairs({ outbox, extras, aged, copy_extras }) do call('ZCARD', set) end -- another type fails here
for _, hash in ipairs({ entries, ledger, posted, copy_entries }) do call('HLEN', hash) end
call('XLEN', dead)
-- part entry/backlog: a level of strategy backlog, which the entry leaves. It is a stream or a list.
local backlog_is_list = backlog and call('TYPE', backlog).ok == 'list'
if backlog and not backlog_is_list then call('XLEN', backlog) end

local function leave_backlog()
  if backlog_is_list then
    call('LREM', backlog, 1, number)
  elseif backlog then
    call('XDEL', backlog, number .. '-1')
  end
end
-- part entry/claimed: find the entry that the caller claimed. The script ends here where another sender has the lease,
-- or where the number and the time of admission do not name an entry: a Redis that came back older than it was gives
-- numbers again.
local DONE, GONE, LOST = 1, 0, -1

local lease_owner = call('HGET', lease, 'owner')
if lease_owner and lease_owner ~= owner and tonumber(call('HGET', lease, 'until')) > now then return LOST end

local entry = call('HGET', entries, number) or ''
local admitted_at = string.match(entry, '^([1-9]%d*) [^ ]* ') or '0'
if #admitted_at > 18 then admitted_at = '0' end
local is_message = call('ZSCORE', outbox, number)
local is_extra = not is_message and call('ZSCORE', extras, number)
if admitted_at ~= named_at or not (is_message or is_extra) then return GONE end
-- part entry/latest_claim: the script ends here where another claim followed the caller's: its attempt may have been
-- posted.
local attempts = call('HGET', entries, number .. ':attempts') or '0'
if (tonumber(attempts) or 0) > claims then return LOST end
-- part entry/remove: take the entry out, and count its result. An extra counts under "<kind>:<result>".
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
-- part entry/shown: note that the message is in Slack, and where, so that a resolve or a repeat finds it there.
local function mark_shown()
  local text = call('HGET', posted, number)
  if not text then return end
  local message = cjson.decode(text)
  message.ts, message.channel, message.shown = more.ts, more.channel, true
  local updated = cjson.encode(message)
  call('HINCRBY', posted, 'bytes', #updated - #text)
  call('HSET', posted, number, updated)
end
-- part posted_names: delete the names that stand for a posted message, where no newer one has taken them.
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
-- part entry/forgotten: nothing is kept of a message that certainly never appeared.
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
end

remove_entry('failed')
add_dead_letters({
  { number = number, entry = entry, reason = more.reason, answer = more.answer, attempts = attempts, keep = more.keep },
}, 8)
if copy_extras then send_copy() end
if more.forget then forget_message() else mark_shown() end
leave_backlog()
return DONE
