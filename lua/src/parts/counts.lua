-- part counts: count a category's events in the current minute, and in the current hour (series). Both hashes are
-- bounded: what is new when one is full counts under "other". Numbers are passed as text, which costs Redis less
-- than to convert them.
local counts_ms = 90000000 -- 25 h: the current hour and the 24 before it
local minute_text = int(floor(now / 60000000)) -- since 1970

local function count_in_minute(category, total, n)
  local max_fields = 6000
  local minute = minute_text .. (total == 'admitted' and ':a:' or ':d:')
  if call('HINCRBY', minutes, minute .. category, int(n)) ~= n then return end
  local fields = call('HLEN', minutes)
  if fields == 1 then call('PEXPIRE', minutes, counts_ms) end
  if fields > max_fields and category ~= 'other' then
    call('HDEL', minutes, minute .. category)
    call('HINCRBY', minutes, minute .. 'other', int(n))
  end
end

-- count_category counts n events under a total, admitted or dropped. A category that is new in the hour gets both
-- fields.
local function count_category(category, total, n)
  local max_categories = 1000
  count_in_minute(category, total, n)
  local field, sibling = ':admitted', ':dropped'
  if total == 'dropped' then field, sibling = sibling, field end
  if call('HINCRBY', series, category .. field, int(n)) ~= n then return end
  if call('HSETNX', series, category .. sibling, 0) == 0 then return end
  call('PEXPIRE', series, counts_ms)
  if category == 'other' or call('HLEN', series) <= 2 * max_categories then return end
  call('HDEL', series, category .. field, category .. sibling)
  call('HINCRBY', series, 'other' .. field, int(n))
  call('HSETNX', series, 'other' .. sibling, 0)
end
