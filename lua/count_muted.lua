-- count_muted.lua: count events that a rule or a silence muted.
--
-- KEYS[1] ledger   (w)  hash of totals of the channel
--
-- ARGV[1] n        how many
--
-- Reply: [1]
--
-- Example:
--   redis-cli --eval lua/count_muted.lua 'relay:{demo}:ledger:demo' , 3
--
-- Code generated from lua/src/count_muted.lua by go generate ./lua; DO NOT EDIT.

local ledger = KEYS[1]
local n = tonumber(ARGV[1])

if not n or n < 1 then return redis.error_reply('ARG a number of 1 or more is needed') end
redis.call('HINCRBY', ledger, 'received', n)
redis.call('HINCRBY', ledger, 'muted', n)
return { 1 }
