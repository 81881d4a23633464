/** The reviews of one server as one text: its last list of tools, and the answers about them. */
import { basename } from 'node:path/posix';
import { digestJson } from '../../base/canonical.ts';
import { QuittanceError } from '../../base/error.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject, readJsonText, toJson } from '../../base/json.ts';
import type { ToolMode } from '../../tool/mode.ts';
import { isToolMode } from '../../tool/mode.ts';
import type { ServerAddress, ServerEntry, ToolSetting } from '../config/server-entry.ts';
import type { ListedTool } from '../tools/listed-tool.ts';

/** An answer about a tool. */
export type ToolAnswer = {
  readonly mode: ToolMode;
  readonly digest: string;
  /** Digest of the address of the server that listed it. */
  readonly server: string;
  readonly listed: ListedTool;
  /** The person. Undefined: the configuration settled it. */
  readonly by: string | undefined;
  readonly at: number;
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
export type SeenServer = { readonly server: ReviewedServer; readonly tools: readonly SeenTool[] };

export type ReviewContent = {
  /** By `answerKey`. */
  readonly answers: ReadonlyMap<string, ToolAnswer>;
  /** By address. */
  readonly seen: ReadonlyMap<string, SeenServer>;
};

export const noReviews: ReviewContent = { answers: new Map(), seen: new Map() };

export const answerKey = (address: string, tool: string): string => `${address} ${tool}`;

export const toReviewedServer = (server: ServerEntry): ReviewedServer => ({
  name: server.name,
  isTrusted: server.isTrusted,
  tools: server.tools,
  address: addressDigest(server),
  place: server.type === 'stdio' ? basename(server.command.replaceAll('\\', '/')) : server.url.host,
});

/** Only the address counts, without secrets: a new token is not a new server. */
function addressDigest(address: ServerAddress): string {
  return digestJson(
    address.type === 'stdio'
      ? { command: address.command, args: [...address.args] }
      : { url: `${address.url.origin}${address.url.pathname}` },
  );
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

export const writeReviews = ({ answers, seen }: ReviewContent): string =>
  JSON.stringify({ version: 1, seen: [...seen.values()], answers: Object.fromEntries(answers) });

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
    const { tools } = each;
    seen.set(server.address, { server, tools: Array.isArray(tools) ? tools.flatMap(parseSeen) : [] });
  }
  return { answers, seen };
}

function parseAnswer({ mode, digest, server, listed, by, at }: JsonObject): ToolAnswer | undefined {
  const [tool] = parseSeen(listed);
  if (!isToolMode(mode) || typeof digest !== 'string' || typeof server !== 'string') return undefined;
  if (tool === undefined || typeof at !== 'number') return undefined;
  return { mode, digest, server, listed: tool, by: typeof by === 'string' ? by : undefined, at };
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
