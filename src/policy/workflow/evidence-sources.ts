/**
 * Which calls show something to a workflow: a file that was read, a command that ran, a result of an MCP server.
 * Whatever cannot be told for sure shows nothing: a call must not be able to claim more than it did.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import { cutText } from '../../base/cut-text.ts';
import { ownValue } from '../../tool/own-value.ts';
import { compileGlob } from '../regex/glob.ts';
import type { PolicyCall } from '../language/policy-call.ts';
import type { NotedAction } from './workflow-state.ts';

/** What a workflow looks at of a call. */
export type WorkflowCall = Pick<PolicyCall, 'toolName' | 'input'> & {
  /** Which arguments are commands, where the tool says so. */
  readonly resources?: PolicyCall['resources'];
  /** When it was made, for what is noted about it. Milliseconds since 1970. */
  readonly at?: number;
};

/** What calls of one tool show. */
export type ToolEvidence = {
  /** Arguments that may hold the path of the file it reads. A call that gives two of them different paths shows nothing. */
  readonly reads?: readonly string[];
  /** The argument that holds the command it runs. */
  readonly command?: string;
  /** Whether its results are kept for `mcp_result_matches`; true for tools whose name begins with `mcp__`. */
  readonly results?: boolean;
};

/** Undefined for a tool that shows nothing. */
export type EvidenceSources = (toolName: string) => ToolEvidence | undefined;

const pathNames = ['file_path', 'filePath', 'path'];

const defaults: Readonly<Record<string, ToolEvidence>> = {
  Read: { reads: pathNames },
  Bash: { command: 'command' },
};

/** The defaults with what the host says about tools, by name or glob; a name before a glob, else the first. */
export function evidenceSources(perTool: Readonly<Record<string, ToolEvidence>> = {}): EvidenceSources {
  const globs = Object.entries(perTool).map(([pattern, evidence]) => ({
    ...compileGlob(pattern),
    evidence,
  }));
  const byName = new Map([
    ...Object.entries(defaults),
    ...globs.flatMap(({ exact, evidence }) => (exact === undefined ? [] : [[exact, evidence] as const])),
  ]);
  return (toolName) => {
    const found = byName.get(toolName) ?? globs.find(({ matches }) => matches(toolName))?.evidence;
    return toolName.startsWith('mcp__') && found?.results === undefined ? { ...found, results: true } : found;
  };
}

/** What a call would run; unclear where its tool runs a command and the call has no text for it. */
export type CallCommands =
  | { readonly type: 'clear'; readonly texts: readonly string[] }
  | { readonly type: 'unclear'; readonly argument: string };

/** Undefined for a tool that runs no commands. What the tool itself declares counts as well. */
export function commandsOfCall(call: WorkflowCall, sources: EvidenceSources): CallCommands | undefined {
  const argument = sources(call.toolName)?.command;
  const texts: string[] = [];
  for (const place of call.resources?.commands ?? [])
    for (const value of valuesAt(call.input, place))
      if (typeof value === 'string') texts.push(value);
      else return { type: 'unclear', argument: place };
  if (argument !== undefined) {
    const text = ownValue(call.input, argument);
    if (typeof text === 'string') {
      if (!texts.includes(text)) texts.push(text);
    } else if (text !== undefined || texts.length === 0) return { type: 'unclear', argument };
  }
  return texts.length === 0 ? undefined : { type: 'clear', texts };
}

/** Below own keys only; `*` stands for every one of them. */
function valuesAt(input: JsonObject, dottedPath: string): readonly unknown[] {
  let values: readonly unknown[] = [input];
  for (const key of dottedPath.split('.'))
    values = values.flatMap((value) => {
      if (typeof value !== 'object' || value === null) return [];
      if (key === '*') return Object.values(value);
      return Object.hasOwn(value, key) ? [ownValue(value, key)] : [];
    });
  return values;
}

/** The file a call would read. */
export function readPathOf(call: WorkflowCall, sources: EvidenceSources): string | undefined {
  const given = (sources(call.toolName)?.reads ?? [])
    .map((argument) => ownValue(call.input, argument))
    .filter((value) => value !== undefined && value !== null);
  const [path] = given;
  return typeof path === 'string' && path !== '' && given.every((other) => other === path) ? path : undefined;
}

/** What an MCP tool gave, where that has fields: its structured content, else the result itself. */
export function structuredResultOf(
  call: WorkflowCall,
  output: JsonValue,
  sources: EvidenceSources,
): JsonObject | undefined {
  if (sources(call.toolName)?.results !== true || !isJsonObject(output)) return undefined;
  const structured = ownValue(output, 'structuredContent');
  const isEnvelope = Array.isArray(ownValue(output, 'content')) && isJsonObject(structured);
  return isEnvelope ? structured : output;
}

/** The call in a few words, for people. */
export function noteOf(call: WorkflowCall, sources: EvidenceSources): NotedAction {
  const commands = commandsOfCall(call, sources);
  const summary =
    commands?.type === 'clear'
      ? commands.texts.join('; ')
      : (readPathOf(call, sources) ?? namedPathOf(call) ?? call.toolName);
  const timestamp = call.at === undefined ? undefined : timestampOf(call.at);
  return {
    tool: call.toolName,
    summary: cutText(summary, 500),
    ...(timestamp === undefined ? {} : { timestamp }),
  };
}

/** The file a call is about, by the names arguments for it go by; good enough for people, and for no gate. */
const namedPathOf = ({ input }: WorkflowCall): string | undefined =>
  pathNames
    .map((name) => ownValue(input, name))
    .filter((value) => typeof value === 'string')
    .find((path) => path !== '');

function timestampOf(at: number): string | undefined {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
