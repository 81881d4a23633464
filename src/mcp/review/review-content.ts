/** The reviews of one server as one text: its last list of tools, and the answers about them. */
import { digestJson } from '../../base/canonical.ts';
import { QuittanceError } from '../../base/error.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject, readJsonText, toJson } from '../../base/json.ts';
import type { ToolMode } from '../../tool/mode.ts';
import { isToolMode } from '../../tool/mode.ts';
import type { ServerAddress, ToolSetting } from '../config/server-entry.ts';
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

export type ReviewContent = {
  readonly answers: ReadonlyMap<string, ToolAnswer>;
  /** Undefined until a gateway listed the tools. */
  readonly server:
    | {
        readonly name: string;
        readonly isTrusted: boolean;
        readonly tools: Readonly<Record<string, ToolSetting>>;
        readonly address: string;
      }
    | undefined;
  readonly seen: readonly SeenTool[];
};

export const noReviews: ReviewContent = { answers: new Map(), server: undefined, seen: [] };

/** Only the address counts, without secrets: a new token is not a new server. */
export function addressDigest(address: ServerAddress): string {
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

export const writeReviews = ({ answers, server, seen }: ReviewContent): string =>
  JSON.stringify({ version: 1, server, seen, answers: Object.fromEntries(answers) });

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
  const { server, seen } = value;
  return { answers, server: parseServer(server), seen: Array.isArray(seen) ? seen.flatMap(parseSeen) : [] };
}

function parseAnswer({ mode, digest, server, listed, by, at }: JsonObject): ToolAnswer | undefined {
  const [tool] = parseSeen(listed);
  if (!isToolMode(mode) || typeof digest !== 'string' || typeof server !== 'string') return undefined;
  if (tool === undefined || typeof at !== 'number') return undefined;
  return { mode, digest, server, listed: tool, by: typeof by === 'string' ? by : undefined, at };
}

const parseSeen = (tool: JsonValue | undefined): SeenTool[] =>
  isJsonObject(tool) && typeof tool['name'] === 'string' ? [{ ...tool, name: tool['name'] }] : [];

function parseServer(server: JsonValue | undefined): ReviewContent['server'] {
  if (!isJsonObject(server)) return undefined;
  const { name, isTrusted, tools, address } = server;
  if (typeof name !== 'string' || typeof address !== 'string') return undefined;
  // Written by `writeReviews` from settings that were checked when they were read.
  const settings = (isJsonObject(tools) ? tools : {}) as Readonly<Record<string, ToolSetting>>;
  return {
    name,
    address,
    isTrusted: isTrusted === true,
    tools: Object.assign(Object.create(null), settings),
  };
}
