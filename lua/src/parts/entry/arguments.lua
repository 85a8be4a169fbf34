-- part entry/arguments: what the scripts that take out an entry have in common.
local lease, outbox, extras, entries, ledger = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, number, named_at, claims, result = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local call = redis.call

local decoded, more = pcall(cjson.decode, ARGV[6] or '')
if not decoded or type(more) ~= 'table' or not claims then
  return redis.error_reply('ARG an owner, a number, a time, a number of claims, a result and JSON are needed')
end
