/** Reads contract documents from the text of a file, or from a value given by a program. */
import { canonicalJson } from '../../base/canonical.ts';
import { formatPath, toJson } from '../../base/json.ts';
import type { ContractsProblem } from '../language/contracts-problem.ts';
import { contractsError } from '../language/contracts-problem.ts';
import { listWords } from './describe-node.ts';
import type { DocumentNode } from './document-node.ts';
import { nodeFromJson } from './document-node.ts';
import type { DocumentReading } from './document-reading.ts';
import { DocumentReader } from './document-reader.ts';
import { readDocumentText } from './document-text.ts';
import type { ReadOptions, ReadSettings } from './read-options.ts';
import { createReadSettings } from './read-options.ts';
import { readWorkflow } from './read-workflow.ts';
import type { ApiVersion, ObjectShape } from '../language/rule-shape.ts';
import {
  apiVersions,
  keysOf,
  limitsShape,
  olderKeys,
  ruleIdPattern,
  ruleModes,
  ruleShapes,
  ruleTypes,
  defaultsShape,
  metadataShape,
  namePattern,
  rulesetShape,
  sideEffects,
  toolFactsShape,
  unlistedEffects,
  actionsOf,
  allowsShape,
  chainWords,
  notAllowsShape,
  olderActions,
  defaultTimeout,
  longestMessage,
  longestTimeout,
  olderTimeoutEffects,
  thenShapes,
  timeoutEffects,
} from '../language/rule-shape.ts';
import type {
  Ruleset,
  PerToolLimit,
  PostRule,
  PreRule,
  Rule,
  RuleMode,
  SessionLimits,
  SessionRule,
  RulePosition,
  ToolFacts,
  SandboxRule,
  AskTimeout,
} from '../language/ruleset.ts';
import { sha256Hex } from '../language/join-versions.ts';
import type { Workflow } from '../language/workflow.ts';
import { readYamlDocument } from './yaml-document.ts';
import type { ClosedObject } from './document-reader.ts';
import type { Expression } from '../language/expression.ts';
import { readExpression } from './read-expression.ts';
import type { JsonObject } from '../../base/json.ts';
import { quote } from '../../base/nearest.ts';
import type { ApprovalPolicy } from '../../call/approval-policy.ts';
import { readApproval } from './read-approval.ts';

export type ParsedDocument =
  | { readonly kind: 'Ruleset'; readonly source: string; readonly ruleset: Ruleset }
  | { readonly kind: 'Workflow'; readonly source: string; readonly workflow: Workflow };

/** A document, or all of its problems. */
export type DocumentResult =
  | { readonly ok: true; readonly document: ParsedDocument }
  | { readonly ok: false; readonly problems: readonly ContractsProblem[] };

/** Reads the text of one document. Throws only `config.invalid`, for words that a host may not register. */
export function readDocument(
  text: string | Uint8Array,
  source: string,
  options?: ReadOptions,
): DocumentResult {
  const settings = createReadSettings(options);
  const problems: ContractsProblem[] = [];
  const given = readDocumentText(text, source, problems);
  const node = given && readYamlDocument(given.text, given.reading);
  const document = node && readKind(node, given.reading, settings, given.version);
  return conclude(document, problems, source);
}

/** The same for a document given as a value. Its version is the digest of its canonical JSON. */
export function readDocumentValue(value: unknown, source: string, options?: ReadOptions): DocumentResult {
  const settings = createReadSettings(options);
  const problems: ContractsProblem[] = [];
  const reading: DocumentReading = { source, locate: () => ({ line: 1, column: 1 }), problems };
  const json = toJson(value);
  if (!json.ok) {
    const field = formatPath(json.path).replace(/^\$\.?/, '');
    const message = `The document is not plain data: ${json.problem}.`;
    return { ok: false, problems: [{ source, line: undefined, column: undefined, field, message }] };
  }
  const version = sha256Hex(canonicalJson(json.value));
  return conclude(readKind(nodeFromJson(json.value), reading, settings, version), problems, source);
}

/** Reads the text of one document, or throws `contracts.invalid` with every problem. */
export function parseDocument(
  text: string | Uint8Array,
  source: string,
  options?: ReadOptions,
): ParsedDocument {
  const result = readDocument(text, source, options);
  if (!result.ok) throw contractsError(result.problems);
  return result.document;
}

function conclude(
  document: ParsedDocument | undefined,
  problems: readonly ContractsProblem[],
  source: string,
): DocumentResult {
  if (problems.length > 0) return { ok: false, problems };
  if (document !== undefined) return { ok: true, document };
  // A reader that returns nothing reports why. If one forgets, the document is still rejected.
  const message = 'The document could not be read.';
  return { ok: false, problems: [{ source, line: undefined, column: undefined, field: '', message }] };
}

/** The version of the language, as the document says it. */
function versionOf(node: DocumentNode): ApiVersion | undefined {
  const found = node.type === 'map' ? node.entries.find(({ key }) => key === 'apiVersion')?.value : undefined;
  return apiVersions.find((each) => found?.type === 'scalar' && found.value === each);
}

/** The kind decides which other fields may follow, so a document of unknown kind is not read further. */
function readKind(
  node: DocumentNode,
  reading: DocumentReading,
  settings: ReadSettings,
  version: string,
): ParsedDocument | undefined {
  const language = versionOf(node);
  // An unknown version is a problem of its own. The rest is then read as the larger language.
  const isPublic = language === 'edictum/v1' && !settings.recorded;
  const at = new DocumentReader(node, { ...reading, isPublic });
  const { source } = reading;
  const members = at.members('an object with apiVersion, kind and metadata');
  if (members === undefined) return undefined;
  const kindAt = members.find(({ key }) => key === 'kind')?.value;
  const kind = kindAt
    ? kindAt.oneOf(['Ruleset', 'Workflow'], { ContractBundle: 'Ruleset' })
    : at.refuse('kind is missing: expected Ruleset or Workflow.');
  if (kind === 'Workflow') {
    const workflow = readWorkflow(at, version, settings.parseRegex);
    return workflow && { kind, source, workflow };
  }
  const versionAt = members.find(({ key }) => key === 'apiVersion')?.value;
  if (versionAt === undefined) at.refuse(`apiVersion is missing: expected ${listWords(apiVersions, 'or')}.`);
  else versionAt.oneOf(apiVersions);
  // If the kind is missing or misspelt, it is most likely this one, and its other problems are worth reporting.
  const looksLikeRules = members.some(({ key }) => key === 'rules' || key === 'contracts');
  if (kind === undefined && !looksLikeRules) return undefined;
  const ruleset = readRuleset(at, settings, version);
  return ruleset && { kind: 'Ruleset', source, ruleset };
}

/** Reads one rule of a document. */

type ReadRule = {
  readonly id: string;
  readonly enabled: boolean;
  /** Undefined if it has problems. */
  readonly rule: Rule | undefined;
};

/** The fields of every type of rule. */
type RuleHead = { readonly id: string; readonly mode: RuleMode | undefined };

/** Undefined if even the id is unknown. */
function readRule(at: DocumentReader, settings: ReadSettings): ReadRule | undefined {
  // The type decides which fields are allowed, so it is read before they are checked.
  const known = peekType(at);
  const object = at.shaped(known === undefined ? anyRuleShape : ruleShapes[known], olderKeys);
  if (object === undefined) return undefined;
  const id = object.required('id')?.text({
    pattern: ruleIdPattern,
    patternWords: 'an id of a-z, 0-9, "-" and "_" that begins with a letter or a digit',
  });
  const type = object.required('type')?.oneOf(ruleTypes);
  const enabled = object.optional('enabled')?.flag() ?? true;
  const mode = object.optional('mode')?.oneOf(ruleModes);
  // The rest is read even if the id is wrong, so that all problems are reported at once.
  const rule = type && readBody(object, type, { id: id ?? '', mode }, settings);
  return id === undefined ? undefined : { id, enabled, rule };
}

const anyRuleShape: ObjectShape = {
  required: [],
  optional: [...new Set(Object.values(ruleShapes).flatMap(keysOf))],
};

function peekType({ node }: DocumentReader): Rule['type'] | undefined {
  const found = node.type === 'map' ? node.entries.find(({ key }) => key === 'type')?.value : undefined;
  const word = found?.type === 'scalar' ? found.value : undefined;
  return ruleTypes.find((each) => each === word);
}

function readBody(
  object: ClosedObject<string>,
  type: Rule['type'],
  head: RuleHead,
  settings: ReadSettings,
): Rule | undefined {
  switch (type) {
    case 'pre':
      return readPreRule(object, head, settings);
    case 'post':
      return readPostRule(object, head, settings);
    case 'session':
      return readSessionRule(object, head);
    case 'sandbox':
      return readSandboxRule(object, head);
  }
}

/** The condition of a rule without one: it always holds. */
const always: Expression = { type: 'all', of: [] };

function readPreRule(
  object: ClosedObject<string>,
  head: RuleHead,
  settings: ReadSettings,
): PreRule | undefined {
  const tool = object.required('tool')?.text();
  const whenAt = object.relaxed('when');
  const when = whenAt === undefined ? always : readExpression(whenAt, { ruleType: 'pre', settings });
  const then = readThen(object.required('then'), 'pre');
  if (tool === undefined || when === undefined || then === undefined) return undefined;
  const { fields, ...said } = then;
  const timeout = readAskTimeout(fields);
  const approval = readAskApproval(fields, said.action, timeout);
  return {
    type: 'pre',
    ...head,
    tool,
    when,
    ...said,
    ...timeout,
    ...(approval !== undefined && { approval }),
  };
}

function readPostRule(
  object: ClosedObject<string>,
  head: RuleHead,
  settings: ReadSettings,
): PostRule | undefined {
  const tool = object.required('tool')?.text();
  const whenAt = object.required('when');
  const when = whenAt && readExpression(whenAt, { ruleType: 'post', settings });
  const then = readThen(object.required('then'), 'post');
  if (tool === undefined || when === undefined || then === undefined) return undefined;
  const { fields: _, ...said } = then;
  return { type: 'post', ...head, tool, when, ...said };
}

function readSessionRule(object: ClosedObject<string>, head: RuleHead): SessionRule | undefined {
  const limitsAt = object.required('limits');
  const limits = limitsAt && readLimits(limitsAt);
  const then = readThen(object.required('then'), 'session');
  if (limits === undefined || then === undefined) return undefined;
  const { fields: _, ...said } = then;
  return { type: 'session', ...head, limits, ...said };
}

function readLimits(at: DocumentReader): SessionLimits | undefined {
  const limits = at.shaped(limitsShape);
  if (limits === undefined) return undefined;
  const whole = (key: string): number | undefined => limits.optional(key)?.integer({ least: 1 });
  const perTool = (key: string): PerToolLimit | undefined => readPerTool(key, limits.optional(key));
  const maxToolCalls = whole('max_tool_calls');
  const maxAttempts = whole('max_attempts');
  const maxCallsPerTool = perTool('max_calls_per_tool') ?? [];
  const maxFailures = whole('max_failures');
  const maxConsecutiveFailures = whole('max_consecutive_failures');
  const maxFailuresPerTool = perTool('max_failures_per_tool');
  const maxConsecutiveFailuresPerTool = perTool('max_consecutive_failures_per_tool');
  if (!keysOf(limitsShape).some((key) => limits.has(key)))
    return at.refuse(`limits has no limit; expected at least one of ${keysOf(limitsShape).join(', ')}.`);
  return {
    maxToolCalls,
    maxAttempts,
    maxCallsPerTool,
    ...(maxFailures !== undefined && { maxFailures }),
    ...(maxConsecutiveFailures !== undefined && { maxConsecutiveFailures }),
    ...(maxFailuresPerTool !== undefined && { maxFailuresPerTool }),
    ...(maxConsecutiveFailuresPerTool !== undefined && { maxConsecutiveFailuresPerTool }),
  };
}

function readPerTool(name: string, at: DocumentReader | undefined): PerToolLimit | undefined {
  const perTool = at?.members('an object of tool names and numbers');
  if (perTool?.length === 0) at?.expected('at least one tool name with a number');
  return perTool?.flatMap(({ key, keyAt, value }) => {
    if (key === '') keyAt.refuse(`${name} has an empty tool name; expected a name or a glob.`);
    const limit = value.integer({ least: 1 });
    return limit === undefined ? [] : [[key, limit] as const];
  });
}

/** Reads a document of kind Ruleset, or of its older kind ContractBundle. */

/** The result may only be used if there are no problems. */
function readRuleset(at: DocumentReader, settings: ReadSettings, version: string): Ruleset | undefined {
  const document = at.shaped(rulesetShape, olderKeys);
  if (document === undefined) return undefined;
  const metadata = document.required('metadata')?.shaped(metadataShape);
  const name = metadata?.required('name')?.text({
    pattern: namePattern,
    patternWords: 'a name of a-z, 0-9, ".", "_" and "-" that begins with a letter or a digit',
  });
  const description = metadata?.optional('description')?.text({ least: 0 });
  const defaults = document.required('defaults')?.shaped(defaultsShape);
  const mode = defaults?.required('mode')?.oneOf(ruleModes);
  const unlistedTools = defaults?.optional('unlisted_tools')?.oneOf(unlistedEffects);
  const parent = document.optional('extends')?.text();
  const { rules, disabled, positions } = readRules(document, settings);
  return {
    name: name ?? '',
    description,
    mode: mode ?? 'enforce',
    unlistedTools,
    rules,
    disabled,
    tools: readToolFacts(document.optional('tools')),
    observability: readObservability(document.optional('observability')),
    observeAlongside: document.optional('observe_alongside')?.flag() ?? false,
    extends: parent,
    version,
    source: at.reading.source,
    positions,
  };
}

type ReadRules = Pick<Ruleset, 'rules' | 'disabled' | 'positions'>;

function readRules(document: ClosedObject<string>, settings: ReadSettings): ReadRules {
  const rules: Rule[] = [];
  const disabled: string[] = [];
  const positions = new Map<string, RulePosition>();
  const extended = document.has('extends');
  const at = extended ? document.optional('rules') : document.required('rules');
  for (const item of at?.items(extended ? 0 : 1, 'rules') ?? []) {
    const read = readRule(item, settings);
    if (read === undefined) continue;
    const earlier = positions.get(read.id);
    if (earlier !== undefined) {
      const where = earlier.line === undefined ? '' : `(the other is on line ${earlier.line})`;
      item.refuse(`Duplicate id ${quote(read.id)}: every rule needs its own id${where}.`);
      continue;
    }
    positions.set(read.id, { source: item.reading.source, line: item.line });
    if (!read.enabled) disabled.push(read.id);
    else if (read.rule !== undefined) rules.push(read.rule);
  }
  return { rules, disabled, positions };
}

/** Kept, not used. `edictum/v1` says what it may contain. */
function readObservability(at: DocumentReader | undefined): JsonObject | undefined {
  if (at?.reading.isPublic === true) {
    const fields = at.closed(['otel', 'stdout', 'file']);
    const otel = fields?.optional('otel');
    const exporter = otel?.closed([
      'enabled',
      'endpoint',
      'protocol',
      'service_name',
      'insecure',
      'resource_attributes',
    ]);
    fields?.optional('stdout')?.flag();
    const file = fields?.optional('file');
    if (file !== undefined && file.json() !== null) file.text({ least: 0 });
    exporter?.optional('enabled')?.flag();
    exporter?.optional('insecure')?.flag();
    exporter?.optional('endpoint')?.text({ least: 0 });
    exporter?.optional('service_name')?.text({ least: 0 });
    exporter?.optional('protocol')?.oneOf(['grpc', 'http']);
    for (const { value } of exporter?.optional('resource_attributes')?.members() ?? [])
      value.text({ least: 0 });
  }
  return at?.object();
}

function readToolFacts(at: DocumentReader | undefined): readonly ToolFacts[] {
  return (at?.members('an object of tool names') ?? []).flatMap(({ key, keyAt, value }) => {
    if (key === '') keyAt.refuse('tools has an empty tool name; expected a name or a glob.');
    const facts = value.shaped(toolFactsShape);
    if (facts === undefined) return [];
    return [
      {
        tool: key,
        sideEffect: facts.relaxed('side_effect')?.oneOf(sideEffects),
        idempotent: facts.optional('idempotent')?.flag(),
      },
    ];
  });
}

/** Reads a rule that limits the paths, commands and domains that a call may name. */

/** Undefined if there are problems. */
function readSandboxRule(
  rule: ClosedObject<string>,
  head: Pick<SandboxRule, 'id' | 'mode'>,
): SandboxRule | undefined {
  const tools = readTools(rule);
  const within = rule.optional('within')?.texts(1);
  const notWithin = rule.optional('not_within')?.texts();
  const allowsAt = rule.optional('allows');
  const allows = allowsAt?.shaped(allowsShape);
  const allowedCommands = allows?.optional('commands')?.texts(1);
  const allowedDomains = allows?.optional('domains')?.texts(1);
  const notAllows = rule.optional('not_allows')?.shaped(notAllowsShape);
  const deniedDomains = notAllows?.required('domains')?.texts(1);
  const chains = rule.optional('chains')?.oneOf(chainWords);
  const outside = rule.optional('outside')?.oneOf(actionsOf.sandbox, olderActions) ?? 'block';
  const timeout = readAskTimeout(rule);
  const approval = readAskApproval(rule, outside, timeout);
  const message = readRuleMessage(rule.required('message'));

  if (!rule.has('within') && !rule.has('allows'))
    rule.at.refuse('within and allows are both missing: a sandbox rule needs at least one of them.');
  if (allows !== undefined && !allows.has('commands') && !allows.has('domains'))
    allowsAt?.refuse('allows has neither commands nor domains; expected at least one of them.');
  if (rule.has('not_within') && !rule.has('within'))
    rule.optional('not_within')?.refuse('not_within needs within: it removes part of what within allows.');
  if (rule.has('not_allows') && !rule.has('allows'))
    rule.optional('not_allows')?.refuse('not_allows needs allows: it removes part of what allows permits.');
  else if (notAllows?.has('domains') === true && allows?.has('domains') === false)
    notAllows
      .optional('domains')
      ?.refuse('not_allows.domains needs allows.domains: it removes part of what that permits.');

  if (tools === undefined || message === undefined) return undefined;
  return {
    type: 'sandbox',
    ...head,
    message,
    tags: [],
    metadata: undefined,
    tools,
    within,
    notWithin: notWithin ?? [],
    allowedCommands,
    allowedDomains,
    deniedDomains: deniedDomains ?? [],
    chains,
    outside,
    ...timeout,
    ...(approval !== undefined && { approval }),
  };
}

function readTools(rule: ClosedObject<string>): readonly string[] | undefined {
  const one = rule.optional('tool');
  const several = rule.optional('tools');
  if (one !== undefined && several !== undefined)
    return several.refuse('tool and tools are both given; expected one of them.');
  if (several !== undefined) return several.texts(1);
  if (one === undefined) return rule.at.refuse('tool is missing: a sandbox rule needs tool or tools.');
  const name = one.text();
  return name === undefined ? undefined : [name];
}

type ThenType = keyof typeof thenShapes;

export type Then<Type extends ThenType> = {
  readonly action: (typeof actionsOf)[Type][number];
  readonly message: string;
  readonly tags: readonly string[];
  readonly metadata: JsonObject | undefined;
  /** The other fields of this type. */
  readonly fields: ClosedObject<string>;
};

/** Undefined if there are problems. */
export function readThen<Type extends ThenType>(
  at: DocumentReader | undefined,
  type: Type,
): Then<Type> | undefined {
  const fields = at?.shaped(thenShapes[type], olderKeys);
  if (fields === undefined) return undefined;
  const words: readonly Then<Type>['action'][] = actionsOf[type];
  const action = fields
    .required('action')
    ?.oneOf(words, olderActions as Record<string, Then<Type>['action']>);
  const message = readRuleMessage(fields.required('message'));
  const tags = fields.optional('tags')?.texts() ?? [];
  const metadata = fields.optional('metadata')?.object();
  if (action === undefined || message === undefined) return undefined;
  return { action, message, tags, metadata, fields };
}

export const readRuleMessage = (at: DocumentReader | undefined): string | undefined =>
  at?.text({ most: longestMessage });

export function readAskTimeout(fields: ClosedObject<string>): AskTimeout {
  const seconds = fields.optional('timeout')?.integer({ least: 1, most: longestTimeout });
  const effect = fields.optional('timeout_effect')?.oneOf(timeoutEffects, olderTimeoutEffects);
  return { timeoutSeconds: seconds ?? defaultTimeout, timeoutEffect: effect ?? 'block' };
}

/** An approval belongs to an ask. On a rule that blocks it would have no effect, which is probably a mistake. */
export function readAskApproval(
  fields: ClosedObject<string>,
  action: string,
  timeout: AskTimeout,
): ApprovalPolicy | undefined {
  const at = fields.optional('approval');
  if (at !== undefined && action !== 'ask')
    at.refuse('approval needs a rule that asks: this one blocks, so no person is asked.');
  return readApproval(at, timeout);
}
