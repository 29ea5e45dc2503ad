-- Run after a user's init.lua, which has opened a file: waits for what it displays, as JSON.

local seen = {}
local answer = vim.env.ANSWER

local ok, message = xpcall(function()
  local displayed = vim.wait(60000, function()
    vim.cmd.redraw()
    vim.lsp.codelens.refresh({ bufnr = 0 })
    seen.hints = #vim.lsp.inlay_hint.get({ bufnr = 0 })
    seen.lenses = vim.iter(vim.lsp.codelens.get(0)):map(function(lens) return lens.command.title end):totable()
    return table.concat(seen.lenses, " "):find(vim.env.EXPECTED, 1, true) ~= nil
      and (seen.hints > 0 or vim.env.EXPECTED == "untrusted")
  end, 200)
  assert(displayed, "nothing is displayed: " .. vim.inspect(seen))
  assert(vim.lsp.inlay_hint.is_enabled({ bufnr = 0 }), "hints are switched on")
end, debug.traceback)
seen.error = not ok and message or nil
local file = assert(io.open(answer, "w"))
file:write(vim.json.encode(seen))
file:close()
vim.cmd("qall!")
