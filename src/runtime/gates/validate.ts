import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import { readLenientJson } from '../../base/lenient-json.ts';
import type { InputChange } from '../../call/event.ts';
import type { SchemaIssue } from '../../tool/schema-issue.ts';
import type { Acceptance, RequestedInput } from '../accept/accept-input.ts';
import { acceptInput, prepare } from '../accept/accept-input.ts';
import { namesArtifact } from '../input/artifact-arguments.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { clean } from '../input/clean.ts';
import { formatIssues } from '../../tool/format-issues.ts';
import { copyOf } from '../input/hand-out.ts';
import type { PreparedInput } from '../input/prepared-input.ts';
import { noteRepaired, repairInput } from '../accept/repair-input.ts';
import { alteredStop } from '../state/altered-stop.ts';
import type { Gate, Stop } from '../state/gate.ts';

/**
 * Does the input fit the schema: as it is, else coerced by listed rules, else repaired? What the schema makes of it,
 * defaults and transforms included, is the input from here on.
 */
export const validateGate: Gate = {
  name: 'validate',
  check(hand) {
    const { input } = hand.request;
    if (!input.ok) {
      const mayMend = hand.knownTool.coerce ?? hand.engine.coerce;
      const mended =
        mayMend && typeof input.raw === 'string' ? readLenientJson(input.raw, 'json') : undefined;
      return mended?.ok === true && isJsonObject(mended.value)
        ? judge(hand, mended.value, [{ path: '$', rule: 'argument_text' }])
        : repair(hand, { input: input.raw, issues: [{ path: [], message: input.problem }] });
    }
    const { arguments: given } = input;
    if (namesArtifact(given)) return judge(hand, given, []);
    const { input: schema } = hand.knownTool;
    // A validator may change what it is given.
    const result = schema.check(schema.keepsValue === true ? given : copyOf(given));
    if ('then' in result || !result.ok) return judge(hand, given, []);
    const accepted = { accepted: given, checked: given, output: result.value, artifacts: [] };
    return take(hand, prepare(placeOf(hand), requestedOf(hand), accepted, []), given, []);
  },
};

const placeOf = ({ engine, knownTool, turn, facts }: CallInHand): Parameters<typeof prepare>[0] => ({
  engine,
  tool: knownTool,
  sessionId: turn.sessionId,
  known: facts.hidden,
});

/** Where the arguments were no object there is nothing exact to go by: what a repair gives stands alone. */
const requestedOf = ({ request: { input }, requested }: CallInHand): RequestedInput => ({
  input: input.ok ? input.arguments : {},
  kept: input.ok ? requested : { kept: {}, hidden: [], repeated: [], digest: '', secrets: requested.secrets },
});

async function judge(
  hand: CallInHand,
  input: JsonObject,
  earlier: readonly InputChange[],
): Promise<Stop | undefined> {
  return take(hand, await acceptInput(placeOf(hand), requestedOf(hand), input, true), input, earlier);
}

function take(
  hand: CallInHand,
  accepted: Acceptance,
  input: JsonObject,
  earlier: readonly InputChange[],
): Stop | undefined | Promise<Stop | undefined> {
  if (earlier.some(({ rule }) => rule === 'repair')) noteRepaired(hand, accepted.ok ? [] : accepted.issues);
  if (!accepted.ok) {
    if (accepted.unfilled === 'altered') return { ...alteredStop, error: alteredArtifact };
    return accepted.unfilled === undefined
      ? repair(hand, { input, issues: accepted.issues })
      : refuse(hand, accepted.issues);
  }
  takeUp(hand, accepted.prepared, earlier);
  return undefined;
}

const alteredArtifact =
  'The stored content of an artifact that the arguments name was changed after it was kept. The call was not run.';

/** Puts an accepted input in the call's hand. */
function takeUp(hand: CallInHand, prepared: PreparedInput, earlier: readonly InputChange[]): void {
  if (earlier.length === 0 && prepared.changes.length === 0) {
    hand.prepared = prepared;
    return;
  }
  hand.prepared = prepared;
  // A path is made of keys, and a key may hold a secret.
  const changes = [...earlier, ...prepared.changes].map(({ path, rule }) => ({
    path: clean(hand, path),
    rule,
  }));
  hand.prepared = { ...prepared, changes };
  hand.note(
    `Arguments were mended before the call: ${changes.map(({ path, rule }) => `${path} (${rule})`).join(', ')}.`,
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

export const refuse = (hand: CallInHand, issues: readonly SchemaIssue[]): Stop => ({
  type: 'deny',
  reason: 'validation',
  code: 'tool.invalid_input',
  details: clean(hand, formatIssues(issues)),
});
