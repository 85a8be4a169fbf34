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
