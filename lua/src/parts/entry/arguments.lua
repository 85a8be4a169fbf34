-- part entry/arguments: the arguments of the scripts that remove an entry.
local lease, outbox, extras, entries, ledger = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, number, named_at, claims = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local call = redis.call

local decoded, options = pcall(cjson.decode, ARGV[5] or '')
if not decoded or type(options) ~= 'table' or not claims then
  return redis.error_reply('ARG an owner, a number, a time, a number of claims and JSON are needed')
end
