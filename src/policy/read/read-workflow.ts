/** Reads a document of kind Workflow and reports all its problems at once. */
import { describeUnknownName, quote } from '../../base/nearest.ts';
import type { ClosedObject, DocumentReader } from './document-reader.ts';
import { compileGlob } from '../regex/glob.ts';
import type { RegexReading } from '../regex/linear-regex.ts';
import { parseRegex as parseLinear } from '../regex/linear-regex.ts';
import { parseCondition } from './parse-condition.ts';
import { readApproval } from './read-approval.ts';
import { approvalShape, keysOf } from '../language/rule-shape.ts';
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
  fields?.required('apiVersion')?.oneOf(['edictum/v1']);
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
  const fields = at.closed(['message', ...keysOf(approvalShape)]);
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
