/** The MCP servers behind the gateways of this ledger, and reviews of their tools. */
import type { JsonObject } from 'quittance/internal/base/json';
import type { ToolMode } from 'quittance/internal/tool/mode';
import type { Integer, Timestamp } from './scalar.ts';

/** `GET /v1/mcp/servers`. */
export type McpServerList = { readonly rows: readonly McpServerRow[] };

/** One server. Two clients may use one name for two servers, so the address belongs to the identity. */
export type McpServerRow = {
  readonly serverId: string;
  readonly name: string;
  /**
   * `connected`, `starting`, `idle` and `failing` are reported by a running gateway. `stale`: a gateway runs, and did not
   * report lately. `disconnected`: no gateway runs.
   */
  readonly state: 'connected' | 'starting' | 'idle' | 'failing' | 'stale' | 'disconnected';
  /** The time of the last report. Undefined if no gateway of this version reported the server. */
  readonly seenAt: Timestamp | undefined;
  readonly transport: 'stdio' | 'http' | 'sse' | undefined;
  /** The command line or URL, without secrets. */
  readonly address: string;
  /** May its annotations lower the risk of a tool? */
  readonly trusted: boolean;
  /** Newest report first. */
  readonly gateways: readonly McpGatewayRow[];
  readonly tools: McpToolCounts;
  /** Calls of its tools in this ledger. */
  readonly calls: Integer;
  /** Calls that failed, or whose effect is unknown. */
  readonly errors: Integer;
  readonly timeouts: Integer;
  /** Changes of its tools since the first list. */
  readonly changes: Integer;
  readonly changedAt: Timestamp | undefined;
};

/** The number of tools in each state of review. */
export type McpToolCounts = {
  readonly listed: Integer;
  readonly approved: Integer;
  readonly blocked: Integer;
  /** No answer yet. */
  readonly unknown: Integer;
  /** Changed since the answer. */
  readonly changed: Integer;
};

/** A gateway in front of the server, as it last reported. */
export type McpGatewayRow = {
  readonly gatewayId: string;
  /** `silent`: it did not report lately. `lost`: its process ended without a report. Only `live` is current. */
  readonly state: 'live' | 'silent' | 'ended' | 'lost';
  readonly startedAt: Timestamp;
  readonly seenAt: Timestamp;
  /** Names that connected clients gave themselves. */
  readonly clients: readonly string[];
  /** Does it run tools that would ask? */
  readonly observes: boolean;
  readonly status: 'idle' | 'starting' | 'ready' | 'failed';
  readonly protocol: string | undefined;
  readonly connections: Integer;
  readonly failures: Integer;
  readonly restarts: Integer;
  readonly lastError: string | undefined;
  /** When it may start the server again. */
  readonly retryAt: Timestamp | undefined;
  /** Messages of the server that violate the protocol. */
  readonly oddities: Integer;
};

/** `GET /v1/mcp/servers/{serverId}`. */
export type McpServerDetail = {
  readonly server: McpServerRow;
  readonly tools: readonly McpToolRow[];
  /** Newest first. */
  readonly changes: readonly McpToolChange[];
};
export type McpToolChange = {
  readonly tool: string;
  readonly how: 'added' | 'changed' | 'removed';
  readonly at: Timestamp;
};

export type McpToolRow = {
  readonly name: string;
  /** The names of its calls in the ledger. */
  readonly callNames: readonly string[];
  /** Other servers whose tools have calls of the same name. The figures then count the calls of all. */
  readonly sharedWith: readonly string[];
  readonly status: 'approved' | 'blocked' | 'unknown' | 'changed';
  /** For `changed`: is it the tool that changed, or the address of its server? */
  readonly changed: 'tool' | 'server' | undefined;
  /** The mode of the answer. Undefined without an answer. */
  readonly mode: ToolMode | undefined;
  /** Does every call ask, whatever the mode says? */
  readonly asks: boolean;
  readonly proposed: ToolMode;
  /** `annotated`: by annotations of the server. `inferred`: by the words of the name. `default`: nothing is known. */
  readonly origin: 'annotated' | 'inferred' | 'default';
  readonly warnings: readonly McpToolWarning[];
  /** Of the description, schemas, title and annotations. */
  readonly digest: string;
  readonly calls: Integer;
  readonly errors: Integer;
  readonly timeouts: Integer;
};
export type McpToolWarning = { readonly code: string; readonly text: string };

/** The query of `GET /v1/mcp/servers/{serverId}/tool`. */
export type McpToolQuery = {
  /** The name that the server lists. */
  readonly name: string;
};

/** One tool with everything that the model reads about it. The texts come from the server: show them, do not obey them. */
export type McpToolDetail = {
  readonly server: McpServerRow;
  readonly tool: McpToolRow;
  /** As the server lists it now. */
  readonly listed: JsonObject;
  /** As it was when a person answered, if it is another tool now. */
  readonly approved: JsonObject | undefined;
  /** The answer of a person. Undefined if only the configuration answered. */
  readonly answer: McpToolAnswer | undefined;
  /** Answers of people, newest first. */
  readonly history: readonly McpToolAnswer[];
};
export type McpToolAnswer = {
  readonly verdict: 'allow' | 'ask' | 'block' | 'forgotten';
  readonly mode: ToolMode;
  readonly by: string;
  /** How the person was identified. Undefined if the name was not verified. */
  readonly identity: string | undefined;
  readonly at: Timestamp;
  readonly digest: string;
};

/** `POST /v1/mcp/servers/{serverId}/review`; the answer is the `McpToolDetail` after it. */
export type NewToolReview =
  /** It runs as its mode says. */
  | (ToolReviewTerms & { readonly verdict: 'allow'; readonly mode: ToolMode })
  /** A person decides about every call. */
  | (ToolReviewTerms & { readonly verdict: 'ask'; readonly mode?: ToolMode })
  /** It never runs, and clients do not see it. It stays blocked if it changes. */
  | (ToolReviewTerms & { readonly verdict: 'block' });
type ToolReviewTerms = {
  /** The name that the server lists. */
  readonly tool: string;
  /** The digest of the tool as it was shown. Another text or schema is not answered. */
  readonly digest: string;
};

/** `POST /v1/mcp/servers/{serverId}/forget`; the answer is the `McpToolDetail` after it. */
export type ToolReviewToForget = {
  /** The name that the server lists. */
  readonly tool: string;
};
