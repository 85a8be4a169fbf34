-- part messages/count_on_last: count an event without a slot on the last message of its category.
local function count_on_last(event)
  local number, message = find('c:' .. event.category)
  if not number or is_unreachable(message) then return nil end
  message.held, message.held_at, message.held_title = (message.held or 0) + 1, now_text, event.title
  edit(number, message, next_edit(message))
  remember_id(event.id)
  return MERGED
end
