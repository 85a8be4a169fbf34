-- part messages/promoted: a delayed event that is decided again.

-- is_still_waiting returns whether an event is still delayed. A server that restarted from an older snapshot may
-- have given its number to another event.
function messages.is_still_waiting(event)
  local number = event.delayed
  return call('ZSCORE', delayed, number .. ' ' .. event.category)
    and payload_of(call('HGET', entries, number) or '') == event.entry
end

-- drops_at returns until when an event may be delayed.
function messages.drops_at(event)
  local at = tonumber(string.match(call('HGET', entries, event.delayed) or '', '^%d+') or 0)
  return at + options.age
end

function messages.leave(event) open_editor().leave(event) end
