/**
 * Which calls show something to a workflow: a file that was read, a command that ran, a result of an MCP server.
 * Whatever cannot be told for sure shows nothing: a call must not be able to claim more than it did.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import { cutText } from '../tool/cut-text.ts';
import { ownValue } from '../tool/own-value.ts';
import { compileGlob } from './glob.ts';
import type { PolicyCall } from './policy-call.ts';
import type { NotedAction } from './workflow-state.ts';

/** What a workflow looks at of a call. */
export type WorkflowCall = Pick<PolicyCall, 'toolName' | 'input'> & {
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

const defaults: Readonly<Record<string, ToolEvidence>> = {
  Read: { reads: ['file_path', 'filePath', 'path'] },
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

/** The command a call would run; `unclear` where the tool runs one and the call does not say which. */
export function commandOf(call: WorkflowCall, sources: EvidenceSources): CallCommand | undefined {
  const argument = sources(call.toolName)?.command;
  if (argument === undefined) return undefined;
  const text = ownValue(call.input, argument);
  return typeof text === 'string' ? { type: 'clear', text } : { type: 'unclear', argument };
}

export type CallCommand =
  { readonly type: 'clear'; readonly text: string } | { readonly type: 'unclear'; readonly argument: string };

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
  const command = commandOf(call, sources);
  const summary = command?.type === 'clear' ? command.text : (readPathOf(call, sources) ?? call.toolName);
  const timestamp = call.at === undefined ? undefined : timestampOf(call.at);
  return {
    tool: call.toolName,
    summary: cutText(summary, 500),
    ...(timestamp === undefined ? {} : { timestamp }),
  };
}

function timestampOf(at: number): string | undefined {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
