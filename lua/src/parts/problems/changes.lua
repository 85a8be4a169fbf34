-- part problems/changes: read the changes, and write one.
local margin_ms = 60000 -- the keys outlive their documents by this

-- read_changes returns nothing if a document has another version, and a fault if an argument is not valid.
local function read_changes()
  local list, differs = {}, false
  for at = first, #ARGV, width do
    local change = {
      name = ARGV[at], version = tonumber(ARGV[at + 1]), data = ARGV[at + 2], wake = tonumber(ARGV[at + 3]),
      keep = tonumber(ARGV[at + 4]),
    }
    if not change.version or not change.wake or not change.keep or change.keep < 0 then
      return nil, 'ARG a change needs a name, a version, data, a wake time and how long to keep it'
    end
    local present = read_problem(change.name)
    differs = differs or tonumber(present and present.version or 0) ~= change.version
    change.is_new = not present
    change.bytes_before = #(call('HGET', problems, change.name) or '')
    change.ends_at = change.wake > 0 and change.wake + overdue or now + change.keep
    list[#list + 1] = change
  end
  if differs then return nil end
  return list
end

local function text_of(change, version)
  if change.data == '' then return '' end
  return int(version) .. ' ' .. int(change.wake) .. ' ' .. int(change.ends_at) .. ' ' .. change.data
end

local function remove_problem(name)
  local size = #(call('HGET', problems, name) or '')
  call('HINCRBY', problems, 'bytes', int(-size))
  call('HDEL', problems, name)
  for _, set in ipairs({ names, wakes, ends }) do call('ZREM', set, name) end
end

local function write_change(change, version)
  remove_problem(change.name)
  local text = text_of(change, version)
  if text ~= '' then
    call('HSET', problems, change.name, text)
    call('HINCRBY', problems, 'bytes', #text)
    call('ZADD', names, 0, change.name)
    if change.wake > 0 then
      call('ZADD', wakes, int(change.wake), change.name)
    else
      call('ZADD', ends, int(change.ends_at), change.name)
    end
  end
  local last_ms = max(0, ceil((change.ends_at - now) / 1000)) + margin_ms
  for _, key in ipairs({ problems, names, wakes, ends }) do expire(key, last_ms) end
end
