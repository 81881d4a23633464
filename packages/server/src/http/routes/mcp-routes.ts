import { proposeMode, classifyListed } from '../../mcp-reviews/listed-tool.ts';
import { identityOf } from '../actor.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from 'quittance/internal/base/json';
import { describeIdentity } from 'quittance/internal/call/describe-identity';
import { keptPart } from '../../mcp-reviews/review-content.ts';
import type { PastAnswer } from '../../mcp-reviews/review-content.ts';
import type { ListedServerTool } from '../../mcp-reviews/tool-reviews.ts';
import { toolWarningTexts } from '../../mcp-reviews/tool-warnings.ts';
import type { SeenGateway } from '../../mcp-reviews/gateway-board.ts';
import type { ServerReport } from '../../mcp-reviews/gateway-report.ts';
import type {
  McpGatewayRow,
  McpServerDetail,
  McpServerRow,
  McpToolAnswer,
  McpToolCounts,
  McpToolDetail,
  McpToolRow,
} from '../api/mcp.ts';
import type { KnownServer } from '../mcp-servers.ts';
import { HttpRefusal } from '../problem.ts';
import type { Asker } from '../reader.ts';
import type { Service } from '../service.ts';

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

/** Rows about MCP servers and their tools. */

/** Larger tools are shown by the command line only. */
const mostToolBytes = 4_194_304;

/** The figures of calls by the name of their tool. */
type CallFigures = ReadonlyMap<string, Figures>;
type Figures = Pick<McpToolRow, 'calls' | 'errors' | 'timeouts'>;

const noFigures: Figures = { calls: 0, errors: 0, timeouts: 0 };
const add = (one: Figures, other: Figures): Figures => ({
  calls: one.calls + other.calls,
  errors: one.errors + other.errors,
  timeouts: one.timeouts + other.timeouts,
});
type Board = {
  readonly all: readonly KnownServer[];
  readonly figures: CallFigures;
  /** The servers whose tools have calls of this name. */
  readonly serversOf: ReadonlyMap<string, ReadonlySet<KnownServer>>;
};

async function readBoard({ mcp, reader }: Service, asked: Asker): Promise<Board> {
  const all = await mcp.list();
  const serversOf = new Map<string, Set<KnownServer>>();
  for (const server of all)
    for (const tool of server.listed?.tools ?? [])
      for (const name of callNamesOf(server, tool))
        serversOf.set(name, (serversOf.get(name) ?? new Set()).add(server));
  if (all.length === 0) return { all, figures: new Map(), serversOf };
  const rows = await reader.value('tools', { toolName: undefined }, asked, { isRemembered: true });
  const figures = rows.map(({ toolName, calls, outcomes: { failed, timedOut, indeterminate } }) => {
    return [toolName, { calls, errors: failed + indeterminate, timeouts: timedOut }] as const;
  });
  return { all, figures: new Map(figures), serversOf };
}

async function listMcpServers(service: Service, asked: Asker): Promise<readonly McpServerRow[]> {
  const board = await readBoard(service, asked);
  return board.all.map((server) => toServerRow(server, board));
}

async function readMcpServer(service: Service, serverId: string, asked: Asker): Promise<McpServerDetail> {
  const board = await readBoard(service, asked);
  const server = await service.mcp.find(serverId, board.all);
  return {
    server: toServerRow(server, board),
    tools: (server.listed?.tools ?? []).map((tool) => toToolRow(service, server, tool, board)),
    changes: (server.listed?.changes ?? []).map(({ tool, how, at }) => ({ tool, how, at })).toReversed(),
  };
}

async function readMcpTool(
  service: Service,
  serverId: string,
  name: string,
  asked: Asker,
): Promise<McpToolDetail> {
  const board = await readBoard(service, asked);
  const server = await service.mcp.find(serverId, board.all);
  const tool = server.listed?.tools.find(({ listed }) => listed.name === name);
  if (tool === undefined)
    throw new HttpRefusal(
      'http.not_found',
      `The server ${JSON.stringify(server.name)} lists no tool ${JSON.stringify(name.slice(0, 100))}.`,
    );
  const { review, history } = tool;
  const listed = keptPart(tool.listed) as unknown as JsonObject; // it came as JSON
  const approved = review.status === 'changed' ? keptPart(review.approved) : undefined;
  const bytes = JSON.stringify([listed, approved]).length;
  if (bytes > mostToolBytes)
    throw new HttpRefusal(
      'http.too_large',
      `The texts of this tool have ${bytes} characters. \`quittance mcp review\` shows them.`,
    );
  return {
    server: toServerRow(server, board),
    tool: toToolRow(service, server, tool, board),
    listed,
    approved: isDeepStrictEqual(approved, listed) ? undefined : (approved as unknown as JsonObject), // so did this
    answer: tool.answer?.by === undefined ? undefined : toAnswer({ ...tool.answer, tool: name }),
    history: history.map(toAnswer).toReversed(),
  };
}

const toAnswer = ({ verdict, mode, by, identity, at, digest }: PastAnswer): McpToolAnswer => ({
  verdict,
  mode,
  by: by ?? '',
  identity: identity === undefined ? undefined : describeIdentity(identity),
  at,
  digest,
});

function toServerRow(server: KnownServer, board: Board): McpServerRow {
  const { serverId, name, gateways, listed } = server;
  const reports = gateways.map((seen) => ({ seen, report: reportOf(server, seen) }));
  const latest = reports[0];
  const figures = (listed?.tools ?? []).map((tool) => figuresOf(server, tool, board));
  return {
    serverId,
    name,
    state: stateOf(reports),
    seenAt: latest?.seen.report.seenAt,
    transport: latest?.report.transport,
    address: latest?.report.place ?? listed?.server.place ?? '',
    trusted: latest?.report.isTrusted ?? listed?.server.isTrusted ?? false,
    gateways: reports.map(({ seen, report }) => toGatewayRow(seen, report)),
    tools: countTools(listed?.tools ?? []),
    ...figures.reduce(add, noFigures),
    changes: listed?.changes.length ?? 0,
    changedAt: listed?.changes.at(-1)?.at,
  };
}

type Reported = readonly { readonly seen: SeenGateway; readonly report: ServerReport }[];

/** The worst state that a running gateway reports; or how long ago one did. */
function stateOf(reports: Reported): McpServerRow['state'] {
  const statuses = new Set(
    reports.flatMap(({ seen, report }) => (seen.state === 'live' ? [report.status] : [])),
  );
  if (statuses.has('failed')) return 'failing';
  if (statuses.has('ready')) return 'connected';
  if (statuses.has('starting')) return 'starting';
  if (statuses.has('idle')) return 'idle';
  return reports.some(({ seen }) => seen.state === 'silent') ? 'stale' : 'disconnected';
}

/** A listed server of this gateway, by name and address. */
function reportOf({ name, address }: KnownServer, { report }: SeenGateway): ServerReport {
  const found = report.servers.find((each) => each.name === name && each.address === address);
  if (found === undefined) throw new TypeError(`The gateway did not report ${name}.`);
  return found;
}

const toGatewayRow = (
  { state, report: { gatewayId, startedAt, seenAt, clients, observes } }: SeenGateway,
  { status, era, connections, failures, restarts, lastError, retryAt, oddities }: ServerReport,
): McpGatewayRow => ({
  gatewayId,
  state,
  startedAt,
  seenAt,
  clients,
  observes,
  status,
  protocol: era,
  connections,
  failures,
  restarts,
  lastError,
  retryAt,
  oddities,
});

function countTools(tools: readonly ListedServerTool[]): McpToolCounts {
  const counts = { listed: tools.length, approved: 0, blocked: 0, unknown: 0, changed: 0 };
  for (const { review } of tools) counts[review.status]++;
  return counts;
}

function callNamesOf(server: KnownServer, { listed }: ListedServerTool): readonly string[] {
  const prefixes = new Set(server.gateways.map((seen) => reportOf(server, seen).prefix));
  return [...prefixes].map((prefix) => `${prefix}${listed.name}`);
}

const figuresOf = (server: KnownServer, tool: ListedServerTool, { figures }: Board): Figures =>
  callNamesOf(server, tool)
    .flatMap((name) => figures.get(name) ?? [])
    .reduce(add, noFigures);

function toToolRow({ mcp }: Service, server: KnownServer, tool: ListedServerTool, board: Board): McpToolRow {
  const { review, listed } = tool;
  const { mode, origin } = classifyListed(listed, {
    isTrusted: server.listed?.server.isTrusted === true,
  });
  const callNames = callNamesOf(server, tool);
  const sharing = new Set(callNames.flatMap((name) => [...(board.serversOf.get(name) ?? [])]));
  return {
    name: listed.name,
    callNames,
    sharedWith: [...sharing].flatMap((other) => (other === server ? [] : [other.name])),
    status: review.status,
    changed: review.status === 'changed' ? review.changed : undefined,
    mode: review.status === 'unknown' ? undefined : review.mode,
    asks: review.status === 'approved' && review.asks,
    proposed: mode,
    origin,
    warnings: mcp.warningsOf(server, tool, board.all).map((code) => ({ code, text: toolWarningTexts[code] })),
    digest: review.digest,
    ...figuresOf(server, tool, board),
  };
}
