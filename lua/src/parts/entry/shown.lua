-- part entry/shown: store that the message is in Slack, and where, for its resolves and repeats.
local function mark_shown()
  local text = call('HGET', posted, number)
  if not text then return end
  local message = cjson.decode(text)
  message.ts, message.channel, message.shown = options.ts, options.channel, true
  local updated = cjson.encode(message)
  call('HINCRBY', posted, 'bytes', #updated - #text)
  call('HSET', posted, number, updated)
end
