-- part messages/promoted: an event that waits for a slot, and is asked for again.

-- is_still_waiting: the number may have been given again since it was listed, where this server came back older
-- than it was.
function messages.is_still_waiting(event)
  local number = event.delayed
  return call('ZSCORE', delayed, number .. ' ' .. event.category)
    and payload_of(call('HGET', entries, number) or '') == event.entry
end

-- has_waited_too_long returns whether an event is older than what may wait.
function messages.has_waited_too_long(event)
  local at = tonumber(string.match(call('HGET', entries, event.delayed) or '', '^%d+') or 0)
  return now - at > options.age
end

function messages.leave(event) open_editor().leave(event) end
