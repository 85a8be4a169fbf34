-- part entry/forgotten: delete the posted message of a message that certainly never appeared.
local function forget_message()
  local text = call('HGET', posted, number)
  if not text then return end
  call('HINCRBY', posted, 'bytes', -#text)
  delete_names(number, cjson.decode(text))
  call('HDEL', posted, number)
  call('ZREM', aged, number)
end
