-- part entry/shown: note that the message is in Slack, and where, so that a resolve or a repeat finds it there.
local function mark_shown()
  local text = call('HGET', posted, number)
  if not text then return end
  local message = cjson.decode(text)
  message.ts, message.channel, message.shown = more.ts, more.channel, true
  local updated = cjson.encode(message)
  call('HINCRBY', posted, 'bytes', #updated - #text)
  call('HSET', posted, number, updated)
end
