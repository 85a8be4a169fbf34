-- part problems/room: which documents leave.
local at_once = 200 -- how many of each kind leave with one call

-- forgotten_problems returns documents that have ended.
local function forgotten_problems(changes)
  local changed, list = {}, {}
  for _, change in ipairs(changes) do changed[change.name] = true end
  for _, set in ipairs({ { ends, now }, { wakes, now - overdue } }) do
    for _, name in ipairs(call('ZRANGEBYSCORE', set[1], '-inf', int(set[2]), 'LIMIT', 0, at_once)) do
      if not changed[name] then list[#list + 1] = name end
    end
  end
  return list
end

-- make_room returns the documents that make room for the changes, or nothing if that is not enough. A change that needs
-- no more room than before always fits.
local function make_room(changes, leaving)
  local left, grows = {}, false
  local count, bytes = call('ZCARD', names), tonumber(call('HGET', problems, 'bytes') or 0)
  for _, change in ipairs(changes) do
    local size = #text_of(change, now)
    left[change.name] = true
    bytes = bytes + size - change.bytes_before
    grows = grows or size > change.bytes_before
    if change.bytes_before == 0 and size > 0 then count = count + 1 end
    if change.bytes_before > 0 and size == 0 then count = count - 1 end
  end
  local function leave(name)
    left[name] = true
    count = count - 1
    bytes = bytes - #(call('HGET', problems, name) or '')
  end
  for _, name in ipairs(leaving) do leave(name) end
  local list = {}
  for _, name in ipairs(call('ZRANGE', ends, 0, at_once - 1)) do
    if count <= most and bytes <= most_bytes then break end
    if not left[name] then
      leave(name)
      list[#list + 1] = name
    end
  end
  if grows and (count > most or bytes > most_bytes) then return nil end
  return list
end
