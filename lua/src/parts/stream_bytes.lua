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
