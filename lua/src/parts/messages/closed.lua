-- part messages/closed: note the lead of a group, and what was dropped.
if messages and (event.bundle ~= '' or outcome ~= ADMITTED) then
  event.outcome, event.refused, event.retry_at, event.window = outcome, refused, retry_at, window
  messages.close(event)
end
