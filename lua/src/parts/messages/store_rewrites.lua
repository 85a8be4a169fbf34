-- part messages/store_rewrites: write the rewritten entries, the queue and the edits.

-- store_moved writes the events that joined or left the queue, and returns by how many bytes it grew.
local function store_moved()
  local bytes = 0
  for _, item in ipairs(moved) do
    local number, member = item.number, item.number .. ' ' .. item.category
    local length = #(call('HGET', entries, number) or '')
    if item.has_left then
      bytes = bytes - length
      call('ZREM', delayed, member)
      call('HDEL', entries, number)
    else
      bytes = bytes + length
      call('ZADD', delayed, number, member)
      look_now('promote', delayed)
    end
  end
  return bytes
end

-- check_types fails if a key that will be written has a wrong type.
function editor.check_types()
  if next(edits) then call('ZCARD', extras) end
  if next(edits) or moved[1] then call('ZCARD', due) end
end

function editor.store()
  local bytes = 0
  for number, entry in pairs(rewritten) do
    if growing[number] then bytes = bytes + #entry - #(call('HGET', entries, number) or '') end
    call('HSET', entries, number, entry)
  end
  store_edits()
  bytes = bytes + store_moved()
  if bytes ~= 0 then call('HINCRBY', entries, 'delayed', bytes) end
  if bytes < 0 and call('ZCARD', delayed) == 0 then call('HDEL', entries, 'delayed') end
end
