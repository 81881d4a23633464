/** Configuration files as the clients write them and their documentation shows them, with their odd spots. */
export type ClientFile = { readonly client: string; readonly name: string; readonly text: string };

export const secret = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz';

export const clientFiles: readonly ClientFile[] = [
  {
    client: 'Claude Desktop on Windows, with CRLF and a byte order mark',
    name: 'claude_desktop_config.json',
    text: '\uFEFF'.concat(
      [
        '{',
        '  "globalShortcut": "Ctrl+Space",',
        '  "mcpServers": {',
        '    "filesystem": {',
        '      "command": "C:\\\\Program Files\\\\nodejs\\\\npx.cmd",',
        '      "args": ["-y", "@modelcontextprotocol/server-filesystem", "C:\\\\Users\\\\ada\\\\Desktop"]',
        '    },',
        '    "github": {',
        '      "command": "docker",',
        '      "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"],',
        `      "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "${secret}" }`,
        '    }',
        '  }',
        '}',
        '',
      ].join('\r\n'),
    ),
  },
  {
    client: 'Claude Code, a project',
    name: '.mcp.json',
    text: `{
  "mcpServers": {
    "shared-server": {
      "command": "/path/to/server",
      "args": [],
      "env": {}
    },
    "api": {
      "type": "http",
      "url": "\${API_BASE_URL:-https://api.example.com}/mcp",
      "headers": {
        "Authorization": "Bearer \${API_KEY}"
      }
    },
    "asana": { "type": "sse", "url": "https://mcp.asana.com/sse" }
  }
}
`,
  },
  {
    client: 'Claude Code, the file of the user',
    name: '.claude.json',
    text: `{
  "numStartups": 84,
  "tipsHistory": { "shift-enter": 3 },
  "mcpServers": { "sentry": { "type": "http", "url": "https://mcp.sentry.dev/mcp" } },
  "projects": {
    "/home/ada/shop": {
      "allowedTools": [],
      "mcpServers": {
        "db": { "type": "stdio", "command": "npx", "args": ["-y", "@bytebase/dbhub"], "env": { "DSN": "postgres://ada:${secret}@db/shop" } }
      }
    },
    "/home/ada/other": { "mcpServers": {} }
  },
  "oauthAccount": { "emailAddress": "ada@example.com" }
}`,
  },
  {
    client: 'Cursor',
    name: '.cursor/mcp.json',
    text: `{
	"mcpServers": {
		"local-server": {
			"command": "python",
			"args": ["\${workspaceFolder}/tools/mcp_server.py", "--home", "\${userHome}"],
			"env": { "API_KEY": "\${env:API_KEY}" }
		},
		"web-api": {
			"url": "https://api.example.com/mcp",
			"headers": { "Authorization": "Bearer \${env:API_KEY}" }
		}
	}
}
`,
  },
  {
    client: 'VS Code',
    name: '.vscode/mcp.json',
    text: `{
    // The key is asked for once.
    "inputs": [
        { "type": "promptString", "id": "perplexity-key", "description": "Perplexity API Key", "password": true },
        { "type": "pickString", "id": "region", "options": ["eu", "us"], "default": "eu" },
    ],
    "servers": {
        "perplexity": {
            "type": "stdio",
            "command": "npx", // from npm
            "args": ["-y", "server-perplexity-ask", "--region=\${input:region}"],
            "env": {
                "PERPLEXITY_API_KEY": "\${input:perplexity-key}",
            },
            "envFile": "\${workspaceFolder}/.env",
        },
        /* remote */
        "github": { "type": "http", "url": "https://api.githubcopilot.com/mcp/" },
        "playwright": { "command": "npx", "args": ["-y", "@playwright/mcp@latest"] },
    },
}
`,
  },
  {
    client: 'Copilot CLI',
    name: 'mcp-config.json',
    text: `{
  "mcpServers": {
    "playwright": {
      "type": "local",
      "command": "npx",
      "args": ["@playwright/mcp@latest"],
      "tools": ["*"]
    },
    "context7": {
      "type": "http",
      "url": "https://mcp.context7.com/mcp",
      "headers": { "CONTEXT7_API_KEY": "${secret}" },
      "tools": ["*"]
    }
  }
}
`,
  },
  {
    client: 'Codex',
    name: 'config.toml',
    text: `model = "gpt-5.2-codex"
approval_policy = """on-request"""

# Documentation
[mcp_servers.context7]
command = "npx" # from npm
args = [
  "-y",
  "@upstash/context7-mcp", # latest
]
env_vars = ["API_KEY", { name = "REGION", source = "local" }]
startup_timeout_sec = 20

[mcp_servers.context7.env]
MY_ENV_VAR = "[mcp_servers.fake]"

[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_OAUTH_TOKEN"
http_headers = { "X-Figma-Region" = "us-east-1" }

[mcp_servers."chrome devtools"]
url = "http://localhost:3000/mcp"
enabled_tools = ["open", "screenshot"]
enabled = false

[mcp_servers."chrome devtools".env_http_headers]
X-Key = "API_KEY"

[profiles.fast]
model = "gpt-5.2-mini"
`,
  },
];

export const clientFile = (client: string): ClientFile => {
  const found = clientFiles.find((each) => each.client.startsWith(client));
  if (found === undefined) throw new Error(`No file of ${client}.`);
  return found;
};
