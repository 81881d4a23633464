/** Where MCP clients keep their configurations. */
import { posix, win32 } from 'node:path';

export const mcpClients = ['claude-desktop', 'claude-code', 'cursor', 'vscode', 'codex', 'copilot'] as const;
export type McpClient = (typeof mcpClients)[number];

export type ClientSystem = {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  /** Folder of the project, whose own configuration counts too. */
  readonly project: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** The files that a client may read, those of the user first. Any of them may be missing. */
export function clientPaths(
  client: McpClient,
  { platform, home, project, env }: ClientSystem,
): readonly string[] {
  const path = platform === 'win32' ? win32 : posix;
  const roaming = env['APPDATA'] || path.join(home, 'AppData', 'Roaming');
  const settings =
    platform === 'win32'
      ? roaming
      : platform === 'darwin'
        ? path.join(home, 'Library', 'Application Support')
        : env['XDG_CONFIG_HOME'] || path.join(home, '.config');
  const own = (variable: string, folder: string): string => env[variable] || path.join(home, folder);
  switch (client) {
    case 'claude-desktop':
      return [path.join(settings, 'Claude', 'claude_desktop_config.json')];
    case 'claude-code':
      return [path.join(env['CLAUDE_CONFIG_DIR'] || home, '.claude.json'), path.join(project, '.mcp.json')];
    case 'cursor':
      return [path.join(home, '.cursor', 'mcp.json'), path.join(project, '.cursor', 'mcp.json')];
    case 'vscode':
      return [path.join(settings, 'Code', 'User', 'mcp.json'), path.join(project, '.vscode', 'mcp.json')];
    case 'codex':
      return [
        path.join(own('CODEX_HOME', '.codex'), 'config.toml'),
        path.join(project, '.codex', 'config.toml'),
      ];
    case 'copilot':
      return [
        path.join(own('COPILOT_HOME', '.copilot'), 'mcp-config.json'),
        path.join(project, '.github', 'mcp.json'),
      ];
  }
}
