-- part messages/attached: a message or a group may decide the event before any level is checked.
local is_attached, lead, refusing = false, nil, route -- refusing is the route whose levels refuse
if messages then
  outcome, is_attached, lead = messages.attach(event)
  if lead and not is_attached then
    refused, retry_at, window, refusing = lead.refused, lead.retry_at, lead.window, lead.route
  end
end
