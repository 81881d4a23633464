/**
 * The door `@quittance/mcp`: tools of MCP servers as governed tools, tools of a runtime as an MCP server, and the gateway
 * in front of servers.
 */
export { governMcp } from './govern/govern-mcp.ts';
export type { GovernMcpOptions } from './govern/govern-mcp.ts';
export type { McpClient } from './govern/mcp-client.ts';
export { serveMcp } from './serve/serve-mcp.ts';
export type { McpServing, ServeMcpOptions } from './serve/serve-mcp.ts';
export type { McpEra, McpPeer } from './serve/mcp-fetch.ts';
export { createMcpGateway } from './gateway/create-gateway.ts';
export type { McpGateway, McpHttpOptions } from './gateway/create-gateway.ts';
export type { GatewayOptions, GatewayStatus } from './gateway/gateway.ts';
export type { HttpAccess, OAuthAccess } from './gateway/authenticate.ts';
export type { OAuthRole } from './gateway/auth-role.ts';
export type { Caller } from './gateway/client-request.ts';
export { readMcpConfig } from './config/read-mcp-config.ts';
export type { ReadMcpConfigOptions } from './config/read-mcp-config.ts';
export type {
  GatewayConfig,
  OAuthSetting,
  ServerAddress,
  ServerEntry,
  ToolSetting,
} from '@quittance/server/internal/mcp-reviews/server-entry';
