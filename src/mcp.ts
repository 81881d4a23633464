/** The door `quittance/mcp`: tools of MCP servers as governed tools. */
export { governMcp } from './mcp/govern/govern-mcp.ts';
export type { GovernMcpOptions } from './mcp/govern/govern-mcp.ts';
export type { McpClient } from './mcp/govern/mcp-client.ts';
