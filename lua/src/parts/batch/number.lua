-- part batch/number: give an admitted event its number, and remember its id.
begin()
last_number = last_number + 1
local number = int(last_number)
admitted_ids[id] = true
remembered[#remembered + 1], remembered[#remembered + 2] = now_text, id
