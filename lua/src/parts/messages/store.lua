-- part messages/store: write the posted messages. They are bounded in bytes and in age: the oldest are deleted
-- first.
local max_posted_bytes = 33554432
local max_erased = 2000 -- alerts of messages that one call erases; the next call continues
local grown = 0 -- by how many bytes

local function size_of(number) return #(call('HGET', posted, number) or '') end

--- @include parts/posted_names

-- erase deletes a message and its names, and returns how many events it reported.
local function erase(number)
  local text = call('HGET', posted, number)
  local message = text and cjson.decode(text) or {}
  delete_names(number, message)
  grown = grown - #(text or '')
  call('HDEL', posted, number)
  call('ZREM', aged, number)
  return count_alerts(message)
end

local function erase_oldest(bytes)
  local erased = 0
  while bytes + grown > max_posted_bytes and erased < max_erased do
    local oldest = call('ZRANGE', aged, 0, 0)[1]
    if not oldest then break end
    erased = erased + 1 + erase(oldest)
  end
end

local function store_changed()
  for number in pairs(changed) do
    local text = cjson.encode(loaded[number])
    grown = grown + #text - size_of(number)
    call('HSET', posted, number, text)
    call('ZADD', aged, now_text, number)
  end
  for name, number in pairs(renamed) do
    if number then call('HSET', posted, name, number) else call('HDEL', posted, name) end
  end
  for number in pairs(deleted) do
    grown = grown - size_of(number)
    call('HDEL', posted, number)
    call('ZREM', aged, number)
    call('HDEL', entries, number .. ':attempts', number .. ':faults', number .. ':name')
  end
end

-- store writes all changes. too_old are the numbers of expired messages, bytes is the length of all messages.
function archive.store(too_old, bytes)
  if editor then editor.store() end
  store_changed()
  local erased = 0
  for _, number in ipairs(too_old) do
    if erased > max_erased then break end
    if not changed[number] then erased = erased + erase(number) end
  end
  erase_oldest(bytes)
  if grown ~= 0 then call('HSET', posted, 'bytes', int(max(0, bytes + grown))) end
  if next(changed) then
    keep_us(posted, options.posted)
    keep_us(aged, options.posted)
  end
end

function archive.finish()
  if editor then editor.finish() end
end

function archive.check_types()
  if editor then editor.check_types() end
end

function archive.editor()
  editor = editor or make_editor()
  return editor
end
