-- instances.lua: return the channels that templates made, if they changed. Writes nothing.
--
-- KEYS[1] all      (r)  hash: channel = "<template>\n<value>"
-- KEYS[2] counts   (r)  hash: revision = a number that rises with each change
--
-- ARGV[1] known    the revision that the caller knows
--
-- Reply: [revision, [channel, "<template>\n<value>", ...]]; the revision is text, "0" = there never were any. If it is
--   the one that the caller knows, there is no list
--
-- Example:
--   redis-cli --eval lua/instances.lua 'relay:{instances}:all' 'relay:{instances}:counts' , 0

local all, counts = KEYS[1], KEYS[2]
local known = ARGV[1]
local call = redis.call

if not tonumber(known) then return redis.error_reply('ARG a revision is needed') end

local revision = call('HGET', counts, 'revision') or '0'
if revision == known then return { revision } end
return { revision, call('HGETALL', all) }
