-- part expire: keep a key for a time from now on. An expiry that is less than 10 s too early is not renewed.
local slack_ms = 10000

local function expire(key, ms)
  if call('PTTL', key) < ms - slack_ms then call('PEXPIRE', key, int(ms)) end
end
