-- part messages/remember_admitted: note that an event was admitted, and keep its message where a later event may
-- concern it.
function messages.remember(event, number)
  event.number = number
  admitted[event.category] = true
  entered[number], is_queued[number] = #waiting, true
  local is_firing = event.status ~= 'resolved' and event.fingerprint ~= ''
  if event.thread or is_firing or options.overflow == 'merge' then open_archive().remember(event) end
end
