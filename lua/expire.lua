-- expire.lua: remove a message that waited longer than its time to live and was certainly never posted, and count it.
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
-- KEYS[8] dead     (-)  not used here
-- KEYS[9] digest   (rw) hash of what the next digest will report
-- KEYS[10] due     (w)  sorted set of the work of channels (see due.lua)
-- then, optional: backlog (rw) the stream or list of a level with the strategy backlog, which the entry leaves
--
-- ARGV[1] owner    the sender that claimed the entry
-- ARGV[2] number   the entry's number
-- ARGV[3] at       admission time of the entry in microseconds, as the claim returned it; 0 = another program added it
-- ARGV[4] claims   how often the entry had been claimed, including the caller's claim
-- ARGV[5] options, JSON, each optional:
--   noted            counts for the next digest: {"x:<category>:<severity>:<status>": n, "t:<title>": n}
--
-- Reply: 1 done, 0 the entry is gone, or the number is another entry's (nothing is written), -1 another sender has the
--   lease, or the entry was claimed again (nothing is written)
--
-- Example:
--   redis-cli --eval lua/expire.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:ledger:demo' 'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' \
--     'relay:{demo}:dead:demo' 'relay:{demo}:digest:demo' relay:due , \
--     me 1 1700000000000000 1 '{}'
--
-- Code generated from lua/src/expire.lua by go generate ./lua; DO NOT EDIT.

-- part entry/arguments: the arguments of the scripts that remove an entry.
local lease, outbox, extras, entries, ledger = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, number, named_at, claims = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local call = redis.call

local decoded, options = pcall(cjson.decode, ARGV[5] or '')
if not decoded or type(options) ~= 'table' or not claims then
  return redis.error_reply('ARG an owner, a number, a time, a number of claims and JSON are needed')
end
local posted, aged, digest, due = KEYS[6], KEYS[7], KEYS[9], KEYS[10]
local backlog = KEYS[11]

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

for _, set in ipairs({ outbox, extras, aged, due }) do call('ZCARD', set) end -- a wrong type fails before any write
for _, hash in ipairs({ entries, ledger, posted, digest }) do call('HLEN', hash) end
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
-- part expire: keep a key for a time from now on. An expiry that is less than 10 s too early is not renewed.
local slack_ms = 10000

local function expire(key, ms)
  if call('PTTL', key) < ms - slack_ms then call('PEXPIRE', key, int(ms)) end
end
-- part due/work: the name of a channel's work in the due index. key is any key of the channel.
local function work_of(work_kind, key)
  return work_kind .. ' ' .. (string.gsub(key, '^relay:{([^}]*)}:%l+:', '%1:'))
end
-- part due/now: let senders look at a channel now, because it may have more to do than before.
local function look_now(work_kind, key) call('ZADD', due, 'LT', int(now), work_of(work_kind, key)) end
-- part digest_counts: add counts to the next digest. Of drops: "d:<category>:<severity>:<status>:<level>", where
-- level is the level or the reason that refused. Of expired messages: "x:<category>:<severity>:<status>". Of
-- both: "t:<title>". The number of fields is bounded, and for titles the bound is lower. Beyond it, events count
-- under "other", and titles are not stored.
local function count_for_digest(counts)
  local max_fields, max_fields_for_title = 1000, 300
  local digest_ms = 5356800000 -- 62 days: twice the longest interval
  local events = 0
  for field, n in pairs(counts) do
    local prefix = string.sub(field, 1, 2)
    local is_title = prefix == 't:'
    local most = is_title and max_fields_for_title or max_fields
    if not is_title then events = events + n end
    if call('HLEN', digest) < most or call('HEXISTS', digest, field) == 1 then
      call('HINCRBY', digest, field, int(n))
    elseif not is_title then
      call('HINCRBY', digest, prefix .. 'other:warning', int(n))
    end
  end
  if events <= 0 then return end
  call('HINCRBY', digest, 'noted', int(events))
  if call('HSETNX', digest, 'since', int(now)) == 1 then look_now('send', digest) end
  call('HSET', digest, 'last', int(now))
  expire(digest, digest_ms)
end

remove_entry('expired')
forget_message()
count_for_digest(options.noted or {})
leave_backlog()
return DONE
