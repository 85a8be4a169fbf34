-- part messages/remember_waiting: keep the message of an event that waited. That of a group exists already.
local function is_group(event) return string.find(event.entry, '\n', 1, true) ~= nil end

function archive.remember(event)
  local number = event.number
  link_thread(number, event)
  local group = is_group(event) and load_message(event.delayed)
  if group then archive.editor().adopt(event, group) else archive.remember_new(number, event) end
end
