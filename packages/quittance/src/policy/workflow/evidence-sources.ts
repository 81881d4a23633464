/**
 * Finds the calls that give a workflow evidence: a file that was read, a command that ran, a result of an MCP server.
 * Uncertain cases give no evidence: a call must not be able to claim more than it did.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject, ownValue } from '../../base/json.ts';
import { cutText } from '../../base/cut-text.ts';
import { compileGlob } from '../regex/glob.ts';
import type { PolicyCall } from '../language/policy-call.ts';
import type { NotedAction } from './workflow-state.ts';

/** The parts of a call that a workflow reads. */
export type WorkflowCall = Pick<PolicyCall, 'toolName' | 'input'> & {
  /** The arguments that are commands, if the tool declares them. */
  readonly resources?: PolicyCall['resources'];
  /** Time of the call, for notes about it. Milliseconds since 1970. */
  readonly at?: number;
};

/** The evidence that calls of one tool give. */
export type ToolEvidence = {
  /**
   * Arguments that may contain the path of the file it reads. A call with different paths in two of them gives no
   * evidence.
   */
  readonly reads?: readonly string[];
  /** The argument that contains the command it runs. */
  readonly command?: string;
  /** Are its results recorded for `mcp_result_matches`? Default: true for tools whose name starts with `mcp__`. */
  readonly results?: boolean;
};

/** Undefined for a tool that gives no evidence. */
export type EvidenceSources = (toolName: string) => ToolEvidence | undefined;

const pathNames = ['file_path', 'filePath', 'path'];

const defaults: Readonly<Record<string, ToolEvidence>> = {
  Read: { reads: pathNames },
  Bash: { command: 'command' },
};

/** The defaults plus the host's entries, by name or glob; a name beats a glob, else the first entry wins. */
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

/** The commands a call would run; unclear if its tool runs a command and the call has no text for it. */
export type CallCommands =
  | { readonly type: 'clear'; readonly texts: readonly string[] }
  | { readonly type: 'unclear'; readonly argument: string };

/** Undefined for a tool that runs no commands. The tool's own declaration counts too. */
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

/** Follows own keys only; `*` stands for every one of them. */
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

/** The result of an MCP tool, if it has fields: its structured content, else the result itself. */
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

/** A short description of the call, for people. */
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

/** The file of a call, by usual argument names; good enough for people, but not for a gate. */
const namedPathOf = ({ input }: WorkflowCall): string | undefined =>
  pathNames
    .map((name) => ownValue(input, name))
    .filter((value) => typeof value === 'string')
    .find((path) => path !== '');

function timestampOf(at: number): string | undefined {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
