-- part messages/attached: a message or a group may decide the event before any level is asked.
if messages and messages.attach(event) then
  outcome = event.outcome
  if event.lead and not event.is_attached then
    refused, retry_at, window = event.lead.refused, event.lead.retry_at, event.lead.window
  end
end
