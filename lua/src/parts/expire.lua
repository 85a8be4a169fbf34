-- part expire: keep a key for a time from now on. An expiry that has run down by less than 10 s is left as it is.
local slack_ms = 10000

local function expire(key, ms)
  if call('PTTL', key) < ms - slack_ms then call('PEXPIRE', key, int(ms)) end
end
