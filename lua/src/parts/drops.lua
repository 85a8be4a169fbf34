-- part drops: add to the drop log, which is bounded in number and in bytes. A drop has event, category, level,
-- used, limit and retry_us (numbers as text). keep is the size of the drop log.
local max_drop_bytes = 16777216
local drops_ms = 604800000 -- 7 days after the last drop

local function record_drops(list, keep)
  local sum, keep_text = newest_sum(drops), int(keep)
  for _, drop in ipairs(list) do
    sum = sum + #drop.event + item_overhead
    call('XADD', drops, 'MAXLEN', '=', keep_text, '*', 'event', drop.event, 'category', drop.category,
      'level', drop.level, 'used', drop.used, 'limit', drop.limit, 'retry_us', drop.retry_us, 'sum', int(sum))
  end
  trim(drops, 'event', max_drop_bytes, sum, 2 * #list + 1)
  expire(drops, drops_ms)
end
