import { proposeMode } from '../../mcp/tools/listed-tool.ts';
import { identityOf } from '../actor.ts';
import { listMcpServers, readMcpServer, readMcpTool } from '../read-mcp-servers.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';

const path = '/v1/mcp/servers/{serverId}';

export const mcpRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/mcp/servers',
    access: 'viewer',
    summary: 'Lists the MCP servers behind the gateways of this ledger, with their state.',
    answer: 'McpServerList',
    handle: async ({ service, ...asked }) => ({ rows: await listMcpServers(service, asked) }),
  }),
  defineRoute({
    method: 'GET',
    path,
    access: 'viewer',
    summary: 'Shows one MCP server, its tools and their changes.',
    answer: 'McpServerDetail',
    handle: ({ service, params, ...asked }) => readMcpServer(service, params.serverId, asked),
  }),
  defineRoute({
    method: 'GET',
    path: `${path}/tool`,
    access: 'viewer',
    summary: 'Shows one tool of an MCP server for review, with what changed since the last answer.',
    query: 'McpToolQuery',
    answer: 'McpToolDetail',
    handle: ({ service, params, query, ...asked }) =>
      readMcpTool(service, params.serverId, query.name, asked),
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/review`,
    access: 'approver',
    summary: 'Answers what a tool may do. The answer is bound to the digest of the tool that was shown.',
    body: 'NewToolReview',
    answer: 'McpToolDetail',
    async handle({ service, params, body, ...asked }) {
      const { mcp } = service;
      const { actor } = asked;
      const { name, address, listed } = await mcp.find(params.serverId);
      const tool = listed?.tools.find((each) => each.listed.name === body.tool);
      const proposed = tool && proposeMode(tool.listed, { isTrusted: listed?.server.isTrusted === true });
      await mcp.reviews.approve({
        server: name,
        address,
        tool: body.tool,
        digest: body.digest,
        verdict: body.verdict,
        mode: ('mode' in body ? body.mode : undefined) ?? proposed ?? 'external',
        by: actor.name,
        identity: identityOf(actor),
      });
      return readMcpTool(service, params.serverId, body.tool, asked);
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/forget`,
    access: 'approver',
    summary: 'Withdraws the answer about a tool, so that it asks again.',
    body: 'ToolReviewToForget',
    answer: 'McpToolDetail',
    async handle({ service, params, body, ...asked }) {
      const { name, address } = await service.mcp.find(params.serverId);
      const { actor } = asked;
      const identity = identityOf(actor);
      await service.mcp.reviews.forget({ server: name, address, tool: body.tool, by: actor.name, identity });
      return readMcpTool(service, params.serverId, body.tool, asked);
    },
  }),
];
