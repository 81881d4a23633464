/** Reads a document of kind Workflow and reports all its problems at once. */
import { describeUnknownName, quote, nearestNames } from '../../base/nearest.ts';
import type { ClosedObject, DocumentReader } from './document-reader.ts';
import { compileGlob } from '../regex/glob.ts';
import type { RegexReading } from '../regex/linear-regex.ts';
import { parseRegex as parseLinear } from '../regex/linear-regex.ts';
import { readApproval } from './read-approval.ts';
import { apiVersions, approvalShape, keysOf } from '../language/rule-shape.ts';
import type { Stage, StageCheck, StageCondition, StageGate, Workflow } from '../language/workflow.ts';

const nameLimits = {
  pattern: /^[a-z0-9][a-z0-9._-]*$/,
  patternWords: 'lower-case letters, digits, ".", "_" and "-", beginning with a letter or digit',
};
const messageLimits = { most: 500 };
/** One call may pass through many stages and looks ahead at all of them, so their number is bounded. */
const mostStages = 500;
const stageKeys = ['id', 'description', 'entry', 'exit', 'tools', 'checks', 'approval', 'terminal'] as const;
type StageKey = (typeof stageKeys)[number];
/** A stage that others follow needs one of these, because otherwise no call could leave it. */
const waysOn: readonly StageKey[] = ['tools', 'checks', 'exit', 'approval'];
const checkTypes = ['command_matches', 'command_not_matches'] as const;

type ParseRegex = (pattern: string) => RegexReading;

/** Undefined if there is no usable workflow; check the problems of the reading in any case. */
export function readWorkflow(
  document: DocumentReader,
  stamp: string,
  parseRegex: ParseRegex = parseLinear,
): Workflow | undefined {
  const fields = document.closed(['apiVersion', 'kind', 'metadata', 'stages']);
  fields?.required('apiVersion')?.oneOf(apiVersions);
  fields?.required('kind')?.oneOf(['Workflow']);
  const metadata = fields?.required('metadata')?.closed(['name', 'description', 'version']);
  const name = metadata?.required('name')?.text(nameLimits);
  const description = metadata?.optional('description')?.text({ least: 0 });
  const version = metadata?.optional('version')?.text();
  const places = fields?.required('stages')?.items(1, 'stages');
  if (places === undefined) return undefined;
  if (places.length > mostStages)
    return document.refuse(`stages has ${places.length} items; expected at most ${mostStages}.`);
  const stages = places.map((place, index) => readStage(place, index === places.length - 1, parseRegex));
  const known = refuseDuplicates(stages);
  for (const stage of stages)
    for (const { at, condition } of stage?.conditions ?? []) refuseUnknownStage(at, condition, known);
  if (name === undefined) return undefined;
  return { name, description, version, stages: stages.flatMap((each) => each?.stage ?? []), stamp };
}

type PlacedCondition = { readonly at: DocumentReader; readonly condition: StageCondition };
type ReadStage = {
  readonly stage: Stage | undefined;
  readonly id: { readonly at: DocumentReader; readonly text: string } | undefined;
  readonly conditions: readonly PlacedCondition[];
};

function readStage(at: DocumentReader, isLast: boolean, parseRegex: ParseRegex): ReadStage | undefined {
  const fields = at.closed(stageKeys);
  if (fields === undefined) return undefined;
  const idAt = fields.required('id');
  const id = idAt?.text(nameLimits);
  const conditions: PlacedCondition[] = [];
  const stage = {
    description: fields.optional('description')?.text({ least: 0 }),
    entry: readGates(fields.optional('entry'), conditions, parseRegex),
    exit: readGates(fields.optional('exit'), conditions, parseRegex),
    tools: (fields.optional('tools')?.texts() ?? []).map(compileGlob),
    checks: (fields.optional('checks')?.items(0, 'checks') ?? []).flatMap(
      (item) => readCheck(item, parseRegex) ?? [],
    ),
    ...readStageApproval(fields.optional('approval')),
    terminal: readTerminal(fields, isLast),
  };
  if (!isLast && !stage.terminal && !waysOn.some((key) => hasContent(fields, key)))
    at.refuse(
      `Stage ${quote(id ?? at.name)} has none of tools, checks, exit and approval, so no call could ` +
        'leave it; only the last stage may be empty.',
    );
  return {
    stage: id === undefined ? undefined : { id, ...stage },
    id: id === undefined || idAt === undefined ? undefined : { at: idAt, text: id },
    conditions,
  };
}

/** Its message, and who must approve, which extends the public language. */
function readStageApproval(at: DocumentReader | undefined): Pick<Stage, 'approvalMessage' | 'approval'> {
  if (at === undefined) return { approvalMessage: undefined };
  const fields = at.shaped({ required: ['message'], optional: [], added: keysOf(approvalShape) });
  const approvalMessage = fields?.required('message')?.text(messageLimits);
  const says = fields !== undefined && keysOf(approvalShape).some((key) => fields.has(key));
  const approval = says ? readApproval(at, {}, ['message']) : undefined;
  return { approvalMessage, ...(approval !== undefined && { approval }) };
}

function readTerminal(fields: ClosedObject<StageKey>, isLast: boolean): boolean {
  const at = fields.optional('terminal');
  const terminal = at?.flag() ?? false;
  if (terminal && !isLast)
    at?.refuse('terminal is true on a stage that is not the last; only the last may be terminal.');
  return terminal;
}

/** Present, and not an empty list. An invalid value was already reported. */
function hasContent(fields: ClosedObject<StageKey>, key: StageKey): boolean {
  const node = fields.optional(key)?.node;
  return node !== undefined && !(node.type === 'list' && node.items.length === 0);
}

function readGates(
  at: DocumentReader | undefined,
  conditions: PlacedCondition[],
  parseRegex: ParseRegex,
): readonly StageGate[] {
  return (at?.items(0, 'gates') ?? []).flatMap((item) => {
    const fields = item.closed(['condition', 'message']);
    const conditionAt = fields?.required('condition');
    const text = conditionAt?.text();
    const message = fields?.optional('message')?.text(messageLimits);
    if (conditionAt === undefined || text === undefined) return [];
    const reading = parseCondition(text, parseRegex);
    if (!reading.ok) return conditionAt.refuse(`condition is wrong: ${reading.problem}`) ?? [];
    conditions.push({ at: conditionAt, condition: reading.condition });
    return { condition: reading.condition, message: message ?? defaultMessage(reading.condition) };
  });
}

function readCheck(at: DocumentReader, parseRegex: ParseRegex): StageCheck | undefined {
  const fields = at.closed([...checkTypes, 'message']);
  if (fields === undefined) return undefined;
  const message = fields.required('message')?.text(messageLimits);
  const [type, another] = checkTypes.filter((each) => fields.has(each));
  if (type === undefined || another !== undefined)
    return at.refuse(
      `${at.name} has ${type === undefined ? 'neither' : 'both'} of command_matches and command_not_matches; expected exactly one of them.`,
    );
  const patternAt = fields.optional(type);
  const pattern = patternAt?.text();
  if (patternAt === undefined || pattern === undefined || message === undefined) return undefined;
  const reading = parseRegex(pattern);
  if (!reading.ok) return patternAt.refuse(`${type} is an invalid regex: ${reading.problem}`);
  return { type, regex: reading.regex, message };
}

function refuseDuplicates(stages: readonly (ReadStage | undefined)[]): readonly string[] {
  const known = new Set<string>();
  for (const stage of stages) {
    if (stage?.id === undefined) continue;
    if (known.has(stage.id.text))
      stage.id.at.refuse(`id ${quote(stage.id.text)} is a duplicate: every stage needs a unique id.`);
    known.add(stage.id.text);
  }
  return [...known];
}

function refuseUnknownStage(at: DocumentReader, condition: StageCondition, known: readonly string[]): void {
  if (condition.type !== 'stage_complete' && condition.type !== 'approval') return;
  if (condition.stageId === undefined || known.includes(condition.stageId)) return;
  at.refuse(`condition names an unknown stage. ${describeUnknownName('stage', condition.stageId, known)}`);
}

/** For a gate without its own message. */
function defaultMessage(condition: StageCondition): string {
  switch (condition.type) {
    case 'stage_complete':
      return `Stage ${quote(condition.stageId)} must be complete first`;
    case 'file_read':
      return `Read ${quote(condition.path)} first`;
    case 'approval':
      return condition.stageId === undefined
        ? 'This stage must be approved first'
        : `Stage ${quote(condition.stageId)} must be approved first`;
    case 'command_matches':
      return `A command that matches ${quote(condition.regex.source)} must have succeeded first`;
    case 'command_not_matches':
      return `A command that matches ${quote(condition.regex.source)} was run, which this gate forbids`;
    case 'mcp_result_matches':
      return (
        `${quote(condition.tool)} must first return a result whose ${quote(condition.field)} is ` +
        `${quote(condition.value)}`
      );
    case 'exec':
      return `${quote(condition.command)} must first end with exit code ${condition.exitCode}`;
  }
}

/**
 * Parses the conditions of stage gates: a name and its arguments, `exec("npm test", exit_code=0)`. Texts are in
 * double quotes with JSON escapes, so a backslash of a regular expression is written twice.
 */

export type ConditionReading =
  | { readonly ok: true; readonly condition: StageCondition }
  | { readonly ok: false; readonly problem: string };

/** The syntax of each condition. */
const forms = {
  stage_complete: 'stage_complete("stage")',
  file_read: 'file_read("path")',
  approval: 'approval() or approval("stage")',
  command_matches: 'command_matches("pattern")',
  command_not_matches: 'command_not_matches("pattern")',
  mcp_result_matches: 'mcp_result_matches("tool", "field", "value")',
  exec: 'exec("command", exit_code=0)',
} as const;
type ConditionName = StageCondition['type'];

const isConditionName = (name: string): name is ConditionName => Object.hasOwn(forms, name);

export function parseCondition(
  text: string,
  parseRegex: (pattern: string) => RegexReading,
): ConditionReading {
  const name = /^\s*([A-Za-z_]\w*)\s*\(/.exec(text);
  if (name?.[1] === undefined)
    return refuse(`${quote(text)} is not a condition; expected one of ${formList()}.`);
  if (!isConditionName(name[1])) {
    const [nearest] = nearestNames(name[1], Object.keys(forms), 1);
    const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
    return refuse(`There is no condition named ${quote(name[1])}.${meant} Known conditions: ${formList()}.`);
  }
  const read = readArguments(text, name[0].length);
  if (typeof read === 'string') return refuse(`${read} Expected ${forms[name[1]]}.`);
  return build(name[1], read.texts, read.exitCode, parseRegex);
}

function build(
  name: ConditionName,
  texts: readonly string[],
  exitCode: number | undefined,
  parseRegex: (pattern: string) => RegexReading,
): ConditionReading {
  const [first, second, third] = texts;
  const takes = name === 'mcp_result_matches' ? 3 : 1;
  if (exitCode !== undefined && name !== 'exec')
    return refuse(`${name} takes no exit_code; expected ${forms[name]}.`);
  if (name === 'approval' && texts.length < 2) return accept({ type: name, stageId: first || undefined });
  if (texts.length !== takes || first === undefined)
    return refuse(
      `${name} has ${texts.length} ${texts.length === 1 ? 'text' : 'texts'}; expected ${forms[name]}.`,
    );
  switch (name) {
    case 'stage_complete':
      return accept({ type: name, stageId: first });
    case 'file_read':
      return first === '' ? refuse('file_read has an empty path.') : accept({ type: name, path: first });
    case 'approval':
      return accept({ type: name, stageId: first });
    case 'command_matches':
    case 'command_not_matches': {
      // In JSON text `\b` is a backspace: the pattern could never match, and the check would never apply.
      if (/[\b\f]/.test(first))
        return refuse(
          `The pattern of ${name} contains a backspace or form feed; a word boundary is written \\\\b.`,
        );
      const reading = parseRegex(first);
      if (!reading.ok) return refuse(`The regex ${quote(first)} of ${name} is invalid: ${reading.problem}`);
      return accept({ type: name, regex: reading.regex });
    }
    case 'mcp_result_matches':
      return accept({ type: name, tool: first, field: second ?? '', value: third ?? '' });
    case 'exec':
      return first.trim() === ''
        ? refuse('exec has an empty command.')
        : accept({ type: name, command: first, exitCode: exitCode ?? 0 });
  }
}

type Arguments = { readonly texts: readonly string[]; readonly exitCode: number | undefined };

/** Texts, then an optional exit code, then the closing parenthesis; else the problem. */
function readArguments(source: string, start: number): Arguments | string {
  const texts: string[] = [];
  let exitCode: number | undefined;
  let at = skipSpace(source, start);
  if (source[at] === ')') return endsAt(source, at) ?? { texts, exitCode };
  for (;;) {
    if (source[at] === '"') {
      const end = endOfText(source, at);
      if (end === undefined) return 'A text has no closing quotation mark.';
      const text = unescape(source.slice(at, end));
      if (text === undefined)
        return `${quote(source.slice(at, end))} is not a valid JSON string; a backslash is written twice.`;
      texts.push(text);
      at = end;
    } else {
      const code = /^exit_code\s*=\s*(\d{1,10})(?!\w)/.exec(source.slice(at, at + 64));
      if (code?.[1] === undefined)
        return `Found ${quote(source.slice(at, at + 20))}; expected a text in double quotes.`;
      exitCode = Number(code[1]);
      at += code[0].length;
    }
    at = skipSpace(source, at);
    if (source[at] === ')') return endsAt(source, at) ?? { texts, exitCode };
    if (source[at] !== ',' || exitCode !== undefined) return 'The condition has no closing parenthesis.';
    at = skipSpace(source, at + 1);
  }
}

function endsAt(source: string, parenthesis: number): string | undefined {
  const rest = source.slice(parenthesis + 1).trim();
  return rest === '' ? undefined : `${quote(rest)} follows the condition; a gate has exactly one condition.`;
}

function skipSpace(source: string, start: number): number {
  let at = start;
  while (source[at] === ' ' || source[at] === '\t' || source[at] === '\n' || source[at] === '\r') at++;
  return at;
}

/** The position after the closing quotation mark. */
function endOfText(source: string, start: number): number | undefined {
  for (let at = start + 1; at < source.length; at++)
    if (source[at] === '\\') at++;
    else if (source[at] === '"') return at + 1;
  return undefined;
}

function unescape(quoted: string): string | undefined {
  try {
    const text: unknown = JSON.parse(quoted);
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}

const formList = (): string => Object.values(forms).join(', ');
const accept = (condition: StageCondition): ConditionReading => ({ ok: true, condition });
const refuse = (problem: string): ConditionReading => ({ ok: false, problem });
