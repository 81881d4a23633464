/** Reads one rule of a document. */
import type { ClosedObject, DocumentReader } from './document-reader.ts';
import type { Expression } from '../language/expression.ts';
import { readExpression } from './read-expression.ts';
import type { ReadSettings } from './read-options.ts';
import { readSandboxRule } from './read-sandbox-rule.ts';
import { readAskApproval, readAskTimeout, readThen } from './read-then.ts';
import type { ObjectShape } from '../language/rule-shape.ts';
import {
  keysOf,
  limitsShape,
  olderKeys,
  ruleIdPattern,
  ruleModes,
  ruleShapes,
  ruleTypes,
} from '../language/rule-shape.ts';
import type {
  PerToolLimit,
  PostRule,
  PreRule,
  Rule,
  RuleMode,
  SessionLimits,
  SessionRule,
} from '../language/ruleset.ts';

export type ReadRule = {
  readonly id: string;
  readonly enabled: boolean;
  /** Undefined if it has problems. */
  readonly rule: Rule | undefined;
};

/** The fields of every type of rule. */
type RuleHead = { readonly id: string; readonly mode: RuleMode | undefined };

/** Undefined if even the id is unknown. */
export function readRule(at: DocumentReader, settings: ReadSettings): ReadRule | undefined {
  // The type decides which fields are allowed, so it is read before they are checked.
  const known = peekType(at);
  const object = at.closed(keysOf(known === undefined ? anyRuleShape : ruleShapes[known]), olderKeys);
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
  const whenAt = object.optional('when');
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
  const limits = at.closed(keysOf(limitsShape));
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
