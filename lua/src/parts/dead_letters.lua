-- part dead_letters: add to the channel's dead letters, which are bounded in number and in bytes. A letter has
-- number, entry, reason, answer, attempts (text), and keep: how many the channel keeps.
local max_dead_bytes = 8388608

local function add_dead_letters(letters, trim_at_most)
  local sum = newest_sum(dead)
  for _, letter in ipairs(letters) do
    sum = sum + #letter.entry + item_overhead
    call('XADD', dead, 'MAXLEN', '=', letter.keep, '*', 'number', letter.number, 'entry', letter.entry,
      'reason', letter.reason or '', 'answer', letter.answer or '', 'attempts', letter.attempts, 'sum', int(sum))
  end
  trim(dead, 'entry', max_dead_bytes, sum, trim_at_most)
end
