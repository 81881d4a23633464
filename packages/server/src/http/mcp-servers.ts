/**
 * The MCP servers of this ledger: what gateways reported about them, what they list, and what people answered. Gateways
 * are often other processes, so all of it comes from the ledger's documents.
 */
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { openReviewDocuments } from '../mcp-reviews/review-documents.ts';
import type { ListedServer, ListedServerTool } from '../mcp-reviews/tool-reviews.ts';
import { ToolReviews } from '../mcp-reviews/tool-reviews.ts';
import type { ToolWarning } from '../mcp-reviews/tool-warnings.ts';
import { findToolWarnings } from '../mcp-reviews/tool-warnings.ts';
import type { SeenGateway } from '../mcp-reviews/gateway-board.ts';
import { GatewayBoard } from '../mcp-reviews/gateway-board.ts';
import { HttpRefusal } from './problem.ts';

/** A server that gateways reported, or whose tools they listed. */
export type KnownServer = {
  readonly serverId: string;
  readonly name: string;
  /** Digest of its address. */
  readonly address: string;
  /** Newest report first. */
  readonly gateways: readonly SeenGateway[];
  /** Undefined if no gateway got a list of its tools yet. */
  readonly listed: ListedServer | undefined;
};

export class McpServers {
  readonly reviews: ToolReviews;
  readonly #board: GatewayBoard;
  /** Tools are examined once for each list. */
  readonly #warnings = new WeakMap<ListedServerTool, readonly ToolWarning[]>();

  constructor(ledger: OpenLedger, ledgerPath: string | undefined) {
    const now = (): number => ledger.now();
    this.reviews = new ToolReviews(openReviewDocuments(ledger, ledgerPath), now);
    this.#board = new GatewayBoard(openReviewDocuments(ledger, ledgerPath, 'gateways'), ledger, now);
  }

  /** By name. */
  async list(): Promise<readonly KnownServer[]> {
    const [gateways, listed] = [await this.#board.list(), await this.reviews.list()];
    const found = new Map<string, KnownServer>();
    const add = (name: string, address: string, more: Partial<KnownServer>): void => {
      const serverId = serverIdOf(name, address);
      const known = found.get(serverId) ?? { serverId, name, address, gateways: [], listed: undefined };
      found.set(serverId, { ...known, ...more });
    };
    for (const each of listed) add(each.server.name, each.server.address, { listed: each });
    for (const seen of gateways)
      for (const { name, address } of seen.report.servers)
        add(name, address, {
          gateways: [...(found.get(serverIdOf(name, address))?.gateways ?? []), seen],
        });
    return [...found.values()].toSorted((one, other) => (one.serverId < other.serverId ? -1 : 1));
  }

  async find(serverId: string, all?: readonly KnownServer[]): Promise<KnownServer> {
    const found = (all ?? (await this.list())).find((server) => server.serverId === serverId);
    if (found !== undefined) return found;
    throw new HttpRefusal(
      'http.not_found',
      `No gateway of this ledger has a server ${JSON.stringify(serverId.slice(0, 100))}. GET /v1/mcp/servers lists them.`,
    );
  }

  /** `all`: every server, because a tool may take the name of another server's tool. */
  warningsOf(
    { name }: KnownServer,
    tool: ListedServerTool,
    all: readonly KnownServer[],
  ): readonly ToolWarning[] {
    const known = this.#warnings.get(tool);
    if (known !== undefined) return known;
    const others = all.filter((server) => server.name !== name).flatMap(({ listed }) => listed?.tools ?? []);
    const found = findToolWarnings(tool.listed, new Set(others.map(({ listed }) => listed.name)));
    this.#warnings.set(tool, found);
    return found;
  }
}

/** A name, and enough of its address to tell servers of one name apart. */
const serverIdOf = (name: string, address: string): string =>
  `${name}~${address.replace(/^[\w-]+:/, '').slice(0, 8)}`;
