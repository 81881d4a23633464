/** The servers behind a gateway, after a configuration of any client was read. */
import type { ToolMode } from 'quittance/internal/tool/mode';

/** One server of a configuration. */
export type ServerEntry = {
  /** Key in the configuration, and prefix of tool names. What the server calls itself is never used. */
  readonly name: string;
  /** Annotations may make the tools of a trusted server safer. */
  readonly isTrusted: boolean;
  /** Settings of single tools, by the name that the server lists. The object has no prototype. */
  readonly tools: Readonly<Record<string, ToolSetting>>;
  readonly isDisabled: boolean;
  /** Clients see only these tools. Undefined: all. */
  readonly onlyTools?: readonly string[];
  /** Clients do not see these tools. */
  readonly hiddenTools?: readonly string[];
  /** Only these callers see the server: `user:ID` or `group:NAME`. Undefined: all. */
  readonly onlyFor?: readonly string[];
} & ServerAddress;

/** How a server is reached. */
export type ServerAddress = StdioAddress | HttpAddress;

export type StdioAddress = {
  readonly type: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  /** The variables that the configuration names. The process gets these and a few harmless ones, such as PATH. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
};

export type HttpAddress = {
  readonly type: 'http' | 'sse';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** How the gateway signs in. Undefined: as a client that registers itself, after `quittance mcp login`. */
  readonly oauth?: OAuthSetting;
};

/** A client of OAuth 2.1 that was registered by hand. */
export type OAuthSetting = {
  /** `client_credentials`: the gateway signs in for itself, without a person. */
  readonly grant: 'authorization_code' | 'client_credentials';
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** The secret goes to this issuer only. */
  readonly issuer?: string;
  readonly scope?: string;
};

/** What the configuration says about one tool. */
export type ToolSetting = {
  readonly mode?: ToolMode;
  /** Name of the argument that holds the idempotency key. */
  readonly idempotencyKey?: string;
  /** The person at the client may decide calls that are held because of this tool, by elicitation. */
  readonly ask?: 'in_client';
  /** Only these callers see the tool: `user:ID` or `group:NAME`. Undefined: all who see its server. */
  readonly onlyFor?: readonly string[];
};

export type GatewayConfig = {
  readonly servers: readonly ServerEntry[];
  /** Tools without an answer run, and are recorded as what would have been asked. */
  readonly observe: boolean;
  /** Ids of rules of contracts whose questions the person at the client may answer too. Default: none. */
  readonly askInClient?: readonly string[];
  /** Longer text becomes an artifact, in characters of JSON. Default: 100,000. */
  readonly textLimit?: number;
  /** Larger files become a link, in bytes. Default: 4 MiB. */
  readonly mediaLimit?: number;
};
