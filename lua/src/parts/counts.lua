-- part counts: count a category's events, by the hour (series) and by the minute. Both hashes are bounded: what is new
-- when one is full is counted under "other". Numbers are passed as text, which costs Redis less than to convert them.
local counts_ms = 90000000 -- 25 h: the current hour and the 24 before it
local minute_text = int(floor(now / 60000000)) -- since 1970

-- count_in_hour returns the category under which it counted. A category that is new gets both of its fields.
local function count_in_hour(category, name, n)
  local max_categories = 1000
  local field, sibling = ':admitted', ':dropped'
  if name == 'dropped' then field, sibling = sibling, field end
  if call('HINCRBY', series, category .. field, int(n)) ~= n then return category end
  if call('HSETNX', series, category .. sibling, 0) == 0 then return category end
  call('PEXPIRE', series, counts_ms)
  if category == 'other' or call('HLEN', series) <= 2 * max_categories then return category end
  call('HDEL', series, category .. field, category .. sibling)
  call('HINCRBY', series, 'other' .. field, int(n))
  call('HSETNX', series, 'other' .. sibling, 0)
  return 'other'
end

local function count_in_minute(category, name, n)
  local max_fields = 6000
  local minute = minute_text .. (name == 'admitted' and ':a:' or ':d:')
  if call('HINCRBY', minutes, minute .. category, int(n)) ~= n then return end
  local fields = call('HLEN', minutes)
  if fields == 1 then call('PEXPIRE', minutes, counts_ms) end
  if fields > max_fields and category ~= 'other' then
    call('HDEL', minutes, minute .. category)
    call('HINCRBY', minutes, minute .. 'other', int(n))
  end
end
