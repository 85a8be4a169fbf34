-- part messages/closed: note the lead of a group, and a drop.
if messages then
  local is_lead = event.bundle ~= '' and not lead and not is_attached
  local is_dropped = COUNTED_AS[outcome] == 'dropped'
  if is_lead or is_dropped then
    event.outcome, event.refused, event.retry_at, event.window = outcome, refused, retry_at, window
    if is_lead then messages.lead(event, route) end
    if is_dropped then messages.add_drop(event, refusing) end
  end
end
