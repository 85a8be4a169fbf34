-- part messages/remember: keep a message so that later events find it.
archive = { find = find }

-- keep keeps a message, as the last of its category where later events are counted on that.
local function keep(number, event, message)
  if options.overflow == 'merge' then point('c:' .. event.category, number) end
  change(number, message)
end

-- remember_new keeps what an event posts, where a later event may concern it.
function archive.remember_new(number, event, at)
  local status, fingerprint = event.status, event.fingerprint
  if status == 'resolved' or fingerprint == '' and options.overflow ~= 'merge' then return end
  local message = new_message(event.category, payload_of(event.entry), status, fingerprint)
  message.at = at or now_text
  if fingerprint ~= '' then follow(number, message, fingerprint) end
  keep(number, event, message)
end
