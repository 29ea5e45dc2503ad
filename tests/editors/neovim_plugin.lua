-- Uses the plugin folder in headless Neovim as a user does, and writes what is seen, as JSON.
-- Run as: nvim --headless --clean -l neovim_plugin.lua '{"plugin": ..., "file": ..., "answer": ...}'

local given = vim.json.decode(arg[1])
local seen = { said = {} }

local function wait(what, ask)
  local answer
  local ok = vim.wait(60000, function()
    answer = ask()
    return answer ~= nil
  end, 50)
  assert(ok, "waited for " .. what)
  return answer
end

local messages = {}
-- Whether the server has shown a message with `text`.
local function told(text)
  return table.concat(messages, " "):find(text, 1, true) and true or nil
end

-- The titles of all lenses as soon as one of them has `text`.
local function lenses(text)
  return wait("a lens with " .. text, function()
    local titles = {}
    for _, lens in ipairs(vim.lsp.codelens.get(0)) do
      table.insert(titles, lens.command.title)
    end
    return table.concat(titles, " | "):find(text, 1, true) and titles or nil
  end)
end

local opened
vim.ui.open = function(uri)
  opened = uri
  return { wait = function() return { code = 0 } end }
end
vim.ui.select = function(items, options, choose)
  for index, item in ipairs(items) do
    if options.format_item(item):find("a100-80-sxm", 1, true) then
      return choose(item, index)
    end
  end
  error("no such device")
end
vim.lsp.handlers["window/showMessage"] = function(_, given_message)
  table.insert(messages, given_message.message)
end
vim.notify = function(message, level)
  if level == vim.log.levels.ERROR or level == vim.log.levels.WARN then
    table.insert(seen.said, message)
  end
end

local function run()
  vim.opt.runtimepath:prepend(given.plugin)
  vim.cmd.runtime("plugin/tirlens.lua")
  vim.cmd("filetype on")
  vim.cmd.edit(given.file)
  seen.untrusted = lenses("untrusted")
  vim.cmd.TirlensTrust()
  seen.lenses = lenses("h100-sxm")
  seen.hints = wait("hints", function()
    local found = vim.lsp.inlay_hint.get({ bufnr = 0 })
    return #found > 0 and #found or nil
  end)
  vim.api.nvim_win_set_cursor(0, { given.line, 0 })
  vim.cmd.TirlensReport()
  wait("the report", function() return opened end)
  seen.report = table.concat(vim.fn.readfile(vim.uri_to_fname(opened)), "\n")
  vim.cmd.TirlensCode()
  -- A file for each text, which is opened beside the kernel.
  for name, suffix in pairs({ cuda = "%.cu$", sass = "%.sass%.txt$" }) do
    seen[name] = wait(name, function()
      for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
        if vim.api.nvim_buf_get_name(buffer):find(suffix) and vim.api.nvim_buf_is_loaded(buffer) then
          return vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
        end
      end
    end)
  end
  vim.cmd.only()
  vim.cmd.TirlensDevice()
  seen.on_other_device = lenses("a100-80-sxm")

  vim.api.nvim_win_set_cursor(0, { given.line, 0 })
  vim.cmd.TirlensHottest()
  seen.hottest = wait("the hottest line", function()
    local line = vim.api.nvim_win_get_cursor(0)[1]
    return line ~= given.line and vim.api.nvim_get_current_line() or nil
  end)
  vim.cmd.TirlensToggle()
  seen.fewer_hints = wait("fewer hints", function()
    local found = vim.lsp.inlay_hint.get({ bufnr = 0 })
    return #found > 0 and #found < seen.hints and #found or nil
  end)
  vim.cmd.TirlensPin()
  wait("the baseline", function() return told("compared with pinned") end)
  vim.cmd("%s/1024/2048/g")
  vim.cmd.write()
  seen.compared = lenses("baseline")
  vim.cmd.TirlensUnpin()
  wait("no baseline", function() return told("last save only") end)
  vim.cmd("TirlensPin no-such-revision")
  wait("an error", function() return told("repository") end)
end

local ok, message = xpcall(run, debug.traceback)
seen.error = not ok and message or nil
local file = assert(io.open(given.answer, "w"))
file:write(vim.json.encode(seen))
file:close()
os.exit(ok and 0 or 1)
