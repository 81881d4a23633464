/** The reviews of one server as one text: its last list of tools, and the answers about them. */
import { basename } from 'node:path/posix';
import { digestJson } from 'quittance/internal/base/canonical';
import { QuittanceError } from 'quittance/internal/base/error';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject, readJsonText, toJson } from 'quittance/internal/base/json';
import type { DirectIdentity } from 'quittance/internal/call/identity';
import { readDirectIdentity } from 'quittance/internal/call/identity';
import type { ToolMode } from 'quittance/internal/tool/mode';
import { isToolMode } from 'quittance/internal/tool/mode';
import type { ServerAddress, ServerEntry, ToolSetting } from './server-entry.ts';
import type { ListedTool } from './listed-tool.ts';

/**
 * What a tool may do. `allow`: it runs as its mode says. `ask`: a person decides about every call. `block`: it never
 * runs, and clients do not see it.
 */
export type ToolVerdict = 'allow' | 'ask' | 'block';

/** An answer about a tool. The listed tool and its digest are what the person saw. */
export type ToolAnswer = {
  readonly verdict: ToolVerdict;
  readonly mode: ToolMode;
  readonly digest: string;
  /** Digest of the address of the server that listed it. */
  readonly server: string;
  readonly listed: ListedTool;
  /** The person. Undefined: the configuration settled it. */
  readonly by: string | undefined;
  /** How the person was identified. */
  readonly identity: DirectIdentity | undefined;
  readonly at: number;
};

/** An earlier answer, or one that was withdrawn. */
export type PastAnswer = Pick<ToolAnswer, 'mode' | 'digest' | 'by' | 'identity' | 'at'> & {
  readonly tool: string;
  readonly server: string;
  readonly verdict: ToolVerdict | 'forgotten';
};

/** A difference between two lists of one server. */
export type ToolChange = {
  readonly tool: string;
  readonly how: 'added' | 'changed' | 'removed';
  readonly at: number;
  /** Digest of the tool since then. Of a removed tool: before. */
  readonly digest: string;
};

/** The parts of a listed tool that a person reviews. */
export type SeenTool = ListedTool;

/** The parts of a server that decide about its tools. */
export type ReviewedServer = {
  readonly name: string;
  readonly isTrusted: boolean;
  readonly tools: Readonly<Record<string, ToolSetting>>;
  /** Digest of its address. */
  readonly address: string;
  /** The program or host, for people. */
  readonly place: string;
};

/** A server under the name, with its last list of tools. Two clients may use one name for two servers. */
export type SeenServer = {
  readonly server: ReviewedServer;
  readonly tools: readonly SeenTool[];
  /** Oldest first. */
  readonly changes: readonly ToolChange[];
};

export type ReviewContent = {
  /** By `answerKey`. */
  readonly answers: ReadonlyMap<string, ToolAnswer>;
  /** By address. */
  readonly seen: ReadonlyMap<string, SeenServer>;
  /** Answers of people, oldest first, with those in force. */
  readonly history: readonly PastAnswer[];
};

export const noReviews: ReviewContent = { answers: new Map(), seen: new Map(), history: [] };

export const answerKey = (address: string, tool: string): string => `${address} ${tool}`;

export const toReviewedServer = (server: ServerEntry): ReviewedServer => ({
  name: server.name,
  isTrusted: server.isTrusted,
  tools: server.tools,
  address: addressDigest(server),
  place: server.type === 'stdio' ? basename(server.command.replaceAll('\\', '/')) : server.url.host,
});

/**
 * Everything that decides which program answers: for a process its folder and its variables too, for a URL its query.
 * Values are only in the digest. Headers do not count: a new token is not a new server.
 */
function addressDigest(address: ServerAddress): string {
  if (address.type === 'stdio') {
    const { command, args, cwd, env } = address;
    const variables = Object.fromEntries(Object.entries(env));
    return digestJson({
      command,
      args: [...args],
      ...(cwd !== undefined && { cwd }),
      ...(Object.keys(variables).length > 0 && { env: variables }),
    });
  }
  const { origin, pathname, search } = address.url;
  return digestJson({ url: `${origin}${pathname}${search}` });
}

const reviewed = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** A tool without the parts that are not reviewed, as JSON. */
export function keptPart(tool: ListedTool): SeenTool {
  const kept: Record<string, JsonValue> = {};
  for (const key of reviewed) {
    const json = tool[key] === undefined ? undefined : toJson(tool[key]);
    if (json?.ok === true) kept[key] = json.value;
  }
  return { ...kept, name: tool.name };
}

export const writeReviews = ({ answers, seen, history }: ReviewContent): string =>
  JSON.stringify({ version: 1, seen: [...seen.values()], answers: Object.fromEntries(answers), history });

export function parseReviews(text: string, name: string): ReviewContent {
  const damaged = (): QuittanceError<'ledger.damaged'> =>
    new QuittanceError('ledger.damaged', `The stored reviews of ${JSON.stringify(name)} cannot be read.`);
  const value = readJsonText(text);
  if (!isJsonObject(value) || value['version'] !== 1 || !isJsonObject(value['answers'])) throw damaged();
  const answers = new Map<string, ToolAnswer>();
  for (const [tool, answer] of Object.entries(value['answers'])) {
    const read = isJsonObject(answer) ? parseAnswer(answer) : undefined;
    if (read === undefined) throw damaged();
    answers.set(tool, read);
  }
  const seen = new Map<string, SeenServer>();
  for (const each of Array.isArray(value['seen']) ? value['seen'] : []) {
    const server = isJsonObject(each) ? parseServer(each['server']) : undefined;
    if (!isJsonObject(each) || server === undefined) throw damaged();
    const { tools, changes } = each;
    seen.set(server.address, {
      server,
      tools: listOf(tools).flatMap(parseSeen),
      changes: listOf(changes).flatMap(parseChange),
    });
  }
  return { answers, seen, history: listOf(value['history']).flatMap(parsePast) };
}

const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);

const isVerdict = (value: JsonValue | undefined): value is ToolVerdict =>
  value === 'allow' || value === 'ask' || value === 'block';

function parseAnswer(answer: JsonObject): ToolAnswer | undefined {
  const [past] = parsePast(answer);
  const [listed] = parseSeen(answer['listed']);
  if (past === undefined || listed === undefined || past.verdict === 'forgotten') return undefined;
  const { verdict, mode, digest, server, by, identity, at } = past;
  return { verdict, mode, digest, server, listed, by, identity, at };
}

function parsePast(answer: JsonValue): PastAnswer[] {
  if (!isJsonObject(answer)) return [];
  const { verdict = 'allow', mode, digest, server, by, at, tool, identity } = answer;
  if (!isToolMode(mode) || typeof digest !== 'string' || typeof server !== 'string') return [];
  if (typeof at !== 'number' || (!isVerdict(verdict) && verdict !== 'forgotten')) return [];
  const name = typeof by === 'string' ? by : undefined;
  const known = readDirectIdentity(identity);
  return [
    {
      tool: typeof tool === 'string' ? tool : '',
      verdict,
      mode,
      digest,
      server,
      by: name,
      identity: known,
      at,
    },
  ];
}

function parseChange(change: JsonValue): ToolChange[] {
  if (!isJsonObject(change)) return [];
  const { tool, how, at, digest } = change;
  if (typeof tool !== 'string' || typeof at !== 'number' || typeof digest !== 'string') return [];
  return how === 'added' || how === 'changed' || how === 'removed' ? [{ tool, how, at, digest }] : [];
}

const parseSeen = (tool: JsonValue | undefined): SeenTool[] =>
  isJsonObject(tool) && typeof tool['name'] === 'string' ? [{ ...tool, name: tool['name'] }] : [];

function parseServer(server: JsonValue | undefined): ReviewedServer | undefined {
  if (!isJsonObject(server)) return undefined;
  const { name, isTrusted, tools, address, place } = server;
  if (typeof name !== 'string' || typeof address !== 'string' || typeof place !== 'string') return undefined;
  // Written by `writeReviews` from settings that were checked when they were read.
  const settings = (isJsonObject(tools) ? tools : {}) as Readonly<Record<string, ToolSetting>>;
  const own = Object.assign(Object.create(null) as Record<string, ToolSetting>, settings);
  return { name, address, place, isTrusted: isTrusted === true, tools: own };
}
