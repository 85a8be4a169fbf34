-- part messages/firing: whether any alert of a message is firing. See the part messages/alerts.
local function is_any_firing(message)
  for _, alert in ipairs(message.events or {}) do
    if alert.f and not alert.r then return true end
  end
  for _, over_at in pairs(message.members or {}) do
    if over_at == 0 then return true end
  end
  return message.members ~= nil and (message.more or 0) > 0
end
