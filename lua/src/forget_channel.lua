-- forget_channel.lua: delete what is kept of a channel and does not expire by itself, unless the channel has work, or
-- something that is still shown, or had events in this hour or the one before.
--
-- KEYS[1] outbox   (r)  sorted set of entry numbers
-- KEYS[2] extras   (r)  sorted set of the numbers of extras
-- KEYS[3] delayed  (r)  sorted set of the numbers of delayed events
-- KEYS[4] dead     (w)  stream of dead letters
-- KEYS[5] drops    (w)  stream of dropped events
-- KEYS[6] due      (r)  sorted set of the work of channels (see due.lua)
-- KEYS[7] minutes  (r)  hash of the counts in this hour
-- KEYS[8] minutes  (r)  the same of the hour before
-- KEYS[9] ledger   (w)  hash of totals
-- KEYS[10] entries (w)  hash of entries, with the number of the last one
-- KEYS[11] posted  (w)  hash of posted messages
-- KEYS[12] aged    (w)  sorted set of their numbers
-- KEYS[13] digest  (w)  hash of the counts of the next digest
-- KEYS[14] told    (w)  sorted set of categories by their last admission
--
-- ARGV    none
--
-- Reply: [1] nothing is left, [0] the channel is still needed
--
-- Example:
--   redis-cli --eval lua/forget_channel.lua 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:delayed:demo' \
--     'relay:{demo}:dead:demo' 'relay:{demo}:drops:demo' relay:due 'relay:{demo}:minutes:demo:0' \
--     'relay:{demo}:minutes:demo:1' 'relay:{demo}:ledger:demo' 'relay:{demo}:entries:demo' 'relay:{demo}:posted:demo' \
--     'relay:{demo}:aged:demo' 'relay:{demo}:digest:demo' 'relay:{demo}:told:demo'

local outbox, extras, delayed, dead, drops, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local minutes, minutes_before = KEYS[7], KEYS[8]
local ledger, entries, posted, aged, digest, last_admitted = KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local call = redis.call

if not last_admitted then return redis.error_reply('ARG fourteen keys are needed') end

--- @include parts/due/work

for _, work in ipairs({ 'send', 'promote', 'problem' }) do
  if call('ZSCORE', due, work_of(work, outbox)) then return { 0 } end
end
for _, set in ipairs({ outbox, extras, delayed }) do
  if call('ZCARD', set) > 0 then return { 0 } end
end
for _, stream in ipairs({ dead, drops }) do
  if call('XLEN', stream) > 0 then return { 0 } end
end
for _, hash in ipairs({ minutes, minutes_before }) do
  if call('HLEN', hash) > 0 then return { 0 } end
end
call('DEL', dead, drops, ledger, entries, posted, aged, digest, last_admitted)
return { 1 }
