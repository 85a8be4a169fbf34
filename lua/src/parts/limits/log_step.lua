-- part limits/log_step: move the units of the log that lie ahead of now.
local args = {}
for _, member in ipairs(call('ZRANGEBYSCORE', level.key, '(' .. now_text, '+inf')) do
  args[#args + 1], args[#args + 2] = now_text, member
end
for from = 1, #args, max_args do
  call('ZADD', level.key, unpack(args, from, min(from + max_args - 1, #args)))
end
