-- part messages/remember_promoted: note that an event that waited was admitted. A group that waited is a message
-- already.
function messages.remember(event, number)
  event.number = number
  admitted[event.category] = true
  entered[number], is_queued[number] = #waiting, true
  open_archive().remember(event)
end

function messages.is_still_waiting(event) return open_editor().is_still_waiting(event) end

function messages.has_waited_too_long(event) return open_editor().has_waited_too_long(event) end

function messages.leave(event) open_editor().leave(event) end
