-- Scripts that run inside Redis: Lua 5.1 with these globals.
std = "lua51"
read_globals = { "redis", "cjson", "KEYS", "ARGV" }
max_line_length = 120
-- The sources are parts of a script, which use each other's names: those are checked where the parts are put together.
files["lua/src"] = { only = { "011", "4..", "6.." } }
-- What a part defines, and not every script with the part needs.
ignore = {
  "211/[A-Z_]+", "211/entry", "211/forget", "211/remember_id", "211/remember_us", "211/max_step", "211/stepped",
  "211/drops", "221/fairness", "221/messages", "211/digest", "211/last_admitted", "211/delayed", "211/extras",
  "231/needs_strategies", "241/entered", "241/is_queued", "241/admitted_ids", "311/outcome",
}
