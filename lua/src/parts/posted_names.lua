-- part posted_names: delete the names that stand for a posted message. Names of newer messages stay.
local function delete_names(message_number, message)
  local function delete(name)
    if call('HGET', posted, name) == message_number then call('HDEL', posted, name) end
  end
  for _, event in ipairs(message.events or {}) do
    if event.f then delete('f:' .. event.f) end
  end
  for fingerprint in pairs(message.members or {}) do delete('f:' .. fingerprint) end
  delete('c:' .. (message.category or ''))
  delete('b:' .. (message.bundle or ''))
end
