-- discard.lua: remove an extra that is no longer needed, and count it.
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
-- KEYS[6] posted   (-)  not used here
-- KEYS[7] aged     (-)  not used here
-- KEYS[8] dead     (-)  not used here
-- KEYS[9] digest   (-)  not used here
-- KEYS[10] due     (-)  not used here
-- then, optional: backlog (rw) the stream or list of a level with the strategy backlog, which the entry leaves
--
-- ARGV[1] owner    the sender that claimed the entry
-- ARGV[2] number   the entry's number
-- ARGV[3] at       admission time of the entry in microseconds, as the claim returned it; 0 = another program added it
-- ARGV[4] claims   how often the entry had been claimed, including the caller's claim
-- ARGV[5] options, JSON; none is used here
--
-- Reply: 1 done, 0 the entry is gone, or the number is another entry's (nothing is written), -1 another sender has the
--   lease, or the entry was claimed again (nothing is written)
--
-- Example:
--   redis-cli --eval lua/discard.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:ledger:demo' 'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' \
--     'relay:{demo}:dead:demo' 'relay:{demo}:digest:demo' relay:due , \
--     me 1 1700000000000000 1 '{}'
--
-- Code generated from lua/src/discard.lua by go generate ./lua; DO NOT EDIT.

-- part entry/arguments: the arguments of the scripts that remove an entry.
local lease, outbox, extras, entries, ledger = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, number, named_at, claims = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local call = redis.call

local decoded, options = pcall(cjson.decode, ARGV[5] or '')
if not decoded or type(options) ~= 'table' or not claims then
  return redis.error_reply('ARG an owner, a number, a time, a number of claims and JSON are needed')
end
local backlog = KEYS[11]

-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

for _, set in ipairs({ outbox, extras }) do call('ZCARD', set) end -- a wrong type fails before any write
for _, hash in ipairs({ entries, ledger }) do call('HLEN', hash) end
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
if is_message then return redis.error_reply('ARG a message is delivered, buried or expired, and never discarded') end
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

remove_entry('gone')
leave_backlog()
return DONE
