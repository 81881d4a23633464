/** The door `quittance/mcp`: tools of MCP servers as governed tools, and tools of a runtime as an MCP server. */
export { governMcp } from './mcp/govern/govern-mcp.ts';
export type { GovernMcpOptions } from './mcp/govern/govern-mcp.ts';
export type { McpClient } from './mcp/govern/mcp-client.ts';
export { serveMcp } from './mcp/serve/serve-mcp.ts';
export type { McpServing, ServeMcpOptions } from './mcp/serve/serve-mcp.ts';
export type { McpEra, McpPeer } from './mcp/serve/mcp-fetch.ts';
