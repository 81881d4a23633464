import type { JsonObject, JsonValue } from '../../base/json.ts';
import { formatPath, toJson } from '../../base/json.ts';
import type { InputChange } from '../../call/event.ts';
import { coerce } from '../../tool/coerce.ts';
import type { SchemaCheck } from '../../tool/schema.ts';
import type { SchemaIssue } from '../../tool/schema-issue.ts';
import { fillArtifacts, namesArtifact } from '../artifact-arguments.ts';
import type { CallInHand } from '../call-in-hand.ts';
import { clean } from '../clean.ts';
import { formatIssues } from '../format-issues.ts';
import { keepInput } from '../kept-input.ts';
import { repairInput } from '../repair-input.ts';
import type { Gate, Stop } from './gate.ts';

/** Does the input fit the schema: as it is, else coerced by listed rules, else repaired? */
export const validateGate: Gate = {
  name: 'validate',
  check(hand) {
    const { input } = hand.request;
    if (!input.ok) return repair(hand, { input: input.raw, issues: [{ path: [], message: input.problem }] });
    if (namesArtifact(input.arguments)) return judge(hand, input.arguments, []);
    const result = hand.knownTool.input.check(copyOf(input.arguments));
    if ('then' in result) return judge(hand, input.arguments, []);
    if (!result.ok) return judge(hand, input.arguments, []);
    hand.prepared = {
      effective: hand.requested,
      effectiveInput: input.arguments,
      checked: input.arguments,
      executed: result.value,
      changes: [],
    };
    return undefined;
  },
};

/** After a person agreed: the input they saw must still fit, as it is. */
export const revalidateGate: Gate = {
  name: 'validate',
  async check(hand) {
    const result = await hand.knownTool.input.check(copyOf(hand.input.checked));
    if (!result.ok) return refuse(hand, result.issues);
    hand.prepared = { ...hand.input, executed: result.value };
    return undefined;
  },
};

async function judge(
  hand: CallInHand,
  input: JsonObject,
  earlier: readonly InputChange[],
): Promise<Stop | undefined> {
  const filled = await fillArtifacts(input, (artifactId) =>
    hand.engine.ledger.readArtifact(hand.turn.sessionId, artifactId),
  );
  if (!filled.ok) return refuse(hand, [{ path: filled.path, message: filled.problem }]);
  const schema = hand.knownTool.input;
  const result: SchemaCheck = await schema.check(copyOf(filled.value));
  if (result.ok)
    return take(hand, { input, checked: filled.value, executed: result.value, changes: earlier });
  const coerced = await coerce(filled.value, schema, { frozenPaths: filled.paths });
  if (!coerced.ok) return repair(hand, { input, issues: coerced.issues });
  // Coercion leaves filled-in artifacts alone, so naming them again gives the input as it is kept.
  const named = filled.nameAgain(coerced.input);
  return take(hand, {
    input: named,
    checked: coerced.input,
    executed: coerced.value,
    changes: [...earlier, ...coerced.changes],
  });
}

type Accepted = {
  readonly input: JsonObject;
  readonly checked: JsonObject;
  readonly executed: unknown;
  readonly changes: readonly InputChange[];
};

function take(hand: CallInHand, { input, checked, executed, changes }: Accepted): undefined {
  const { engine, knownTool } = hand;
  const effective =
    changes.length === 0
      ? hand.requested
      : keepInput(input, knownTool.redact?.input, engine.redactor, engine.seal, [
          ...hand.requested.secrets,
          ...hand.facts.hidden,
        ]);
  // A path is made of keys, and a key may hold a secret.
  const kept = changes.map(({ path, rule }) => ({ path: clean(hand, path), rule }));
  hand.prepared = { effective, effectiveInput: input, checked, executed, changes: kept };
  if (kept.length > 0)
    hand.note(
      `Arguments were mended before the call: ${kept.map(({ path, rule }) => `${path} (${rule})`).join(', ')}.`,
    );
}

async function repair(
  hand: CallInHand,
  failed: { readonly input: JsonValue; readonly issues: readonly SchemaIssue[] },
): Promise<Stop | undefined> {
  const repaired = await repairInput(hand, failed);
  if (repaired === undefined) return refuse(hand, failed.issues);
  return judge(hand, repaired, [{ path: '$', rule: 'repair' }]);
}

const refuse = (hand: CallInHand, issues: readonly SchemaIssue[]): Stop => ({
  type: 'deny',
  reason: 'validation',
  code: 'tool.invalid_input',
  details: clean(hand, formatIssues(issues)),
});

/** The schema's reading goes to the body, which may do with it what it likes: never hand out our own object. */
function copyOf(input: JsonObject): JsonValue {
  const copy = toJson(input);
  if (!copy.ok)
    throw new TypeError(`Arguments stopped being JSON at ${formatPath(copy.path)}: ${copy.problem}`);
  return copy.value;
}
