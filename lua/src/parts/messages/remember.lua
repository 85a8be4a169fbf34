-- part messages/remember: keep a message so that later events find it.
archive = { find = find }

-- link_thread stores the message that an event replies to. A resolve marks the alert there as resolved.
local function link_thread(number, event)
  local thread, is_resolve = event.thread, event.status == 'resolved'
  if not thread then return end
  if is_resolve then archive.editor().end_alert(thread, load_message(thread), event.fingerprint) end
  if not is_resolve or options.resolves == 'reply' then archive.editor().enter(number .. ':thread', thread) end
end

-- keep stores a message, with overflow merge as the last one of its category.
local function keep(number, event, message)
  if options.overflow == 'merge' then point('c:' .. event.category, number) end
  change(number, message)
end

-- is_group returns whether a delayed event is several, which have a message already.
local function is_group(event) return string.find(event.entry, '\n', 1, true) ~= nil end

-- remember keeps what an event posts, if a later event may concern it. at is the text of when it was admitted.
function archive.remember(event, at)
  local number, status, fingerprint = event.number, event.status, event.fingerprint
  link_thread(number, event)
  local group = MODE == 'promote' and is_group(event) and load_message(event.delayed)
  if group then return archive.editor().adopt(event, group) end
  if status == 'resolved' or fingerprint == '' and options.overflow ~= 'merge' then return end
  local message = new_message(event.category, payload_of(event.entry), status, fingerprint)
  message.at = at
  if fingerprint ~= '' then follow(number, message, fingerprint) end
  keep(number, event, message)
end
