/**
 * The door `quittance/mcp`: tools of MCP servers as governed tools, tools of a runtime as an MCP server, and the gateway
 * in front of servers.
 */
export { governMcp } from './mcp/govern/govern-mcp.ts';
export type { GovernMcpOptions } from './mcp/govern/govern-mcp.ts';
export type { McpClient } from './mcp/govern/mcp-client.ts';
export { serveMcp } from './mcp/serve/serve-mcp.ts';
export type { McpServing, ServeMcpOptions } from './mcp/serve/serve-mcp.ts';
export type { McpEra, McpPeer } from './mcp/serve/mcp-fetch.ts';
export { createMcpGateway } from './mcp/gateway/create-gateway.ts';
export type { McpGateway, McpHttpOptions } from './mcp/gateway/create-gateway.ts';
export type { GatewayOptions, GatewayStatus } from './mcp/gateway/gateway.ts';
export type { HttpAccess, OAuthAccess } from './mcp/gateway/authenticate.ts';
export type { OAuthRole } from './mcp/gateway/auth-role.ts';
export type { Caller } from './mcp/gateway/client-request.ts';
export { readMcpConfig } from './mcp/config/read-mcp-config.ts';
export type { ReadMcpConfigOptions } from './mcp/config/read-mcp-config.ts';
export type {
  GatewayConfig,
  OAuthSetting,
  ServerAddress,
  ServerEntry,
  ToolSetting,
} from './mcp/config/server-entry.ts';
