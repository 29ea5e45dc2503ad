-- The configuration of the server, which `vim.lsp.enable('tirlens')` finds (Neovim 0.11).
-- The code of a project is run only below the folders in `vim.g.tirlens_trusted`. The settings of
-- docs/editor.md, without "tirlens.", are in `vim.g.tirlens_settings`.

local markers = { "pyproject.toml", ".git" }

local function is_trusted(folder)
  for _, trusted in ipairs(vim.g.tirlens_trusted or {}) do
    local root = vim.fs.normalize(vim.fn.fnamemodify(trusted, ":p"))
    if folder == root or vim.startswith(folder .. "/", root:gsub("/*$", "/")) then
      return true
    end
  end
  return false
end

return {
  cmd = { "tirlens", "serve" },
  filetypes = { "python" },
  -- The plugin handles what Neovim 0.11 does not: requests to display the lenses again.
  capabilities = { workspace = { codeLens = { refreshSupport = true } } },
  root_dir = function(buffer, start)
    local file = vim.api.nvim_buf_get_name(buffer)
    start(vim.fs.root(buffer, markers) or vim.fs.dirname(file))
  end,
  before_init = function(params, config)
    local folder = vim.fs.normalize(config.root_dir or vim.uv.cwd())
    params.initializationOptions = vim.tbl_extend("keep", params.initializationOptions or {}, {
      trusted = is_trusted(folder),
      settings = vim.g.tirlens_settings,
    })
  end,
}
