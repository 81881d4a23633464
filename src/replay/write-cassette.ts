/**
 * The file format of a cassette: indented JSON, one block per call, keys in a fixed order, so that a review can read
 * changes. Its digest covers the content and not the layout. A file that differs from its seal is rejected until a
 * person seals it again.
 */
import { hash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, readJsonText } from '../base/json.ts';
import type { RuleMark } from '../call/event.ts';
import { outcomeToWire } from '../call/outcome-wire.ts';
import type { Cassette, CassetteArtifact, RecordedCall, RecordedRun } from './cassette.ts';
import { answerToWire, previewToWire } from './answer-wire.ts';
import { given } from '../call/fields.ts';
import { cassetteFromWire } from './cassette-from-wire.ts';
import { invalidCassette } from './invalid-cassette.ts';

const version = 1;

/** The cassette as text, sealed with its digest. */
export function writeCassette(cassette: Cassette): string {
  const content = toWire(cassette);
  return `${JSON.stringify({ quittance_cassette: version, digest: digestOf(content), ...content }, null, 2)}\n`;
}

/** Reads a cassette. Throws `cassette.invalid` if the text is not a cassette or does not match its seal. */
export function readCassette(text: string): Cassette {
  const { digest, ...content } = readHeader(text);
  const found = digestOf(content);
  if (digest !== found)
    throw invalidCassette(
      'it was changed after it was sealed. If the change is intended, run: quittance cassette seal FILE',
      { sealed: typeof digest === 'string' ? digest : '', found },
    );
  return cassetteFromWire(content);
}

/** The same cassette with the digest of its current content. It must still be a valid cassette. */
export function sealCassette(text: string): string {
  const { digest: _, ...content } = readHeader(text);
  return writeCassette(cassetteFromWire(content));
}

function readHeader(text: string): JsonObject {
  let value: JsonValue;
  try {
    value = readJsonText(text);
  } catch (cause) {
    throw invalidCassette('it is not JSON', {}, cause);
  }
  if (!isJsonObject(value)) throw invalidCassette('it is not an object');
  const { quittance_cassette: format, ...rest } = value;
  if (typeof format !== 'number') throw invalidCassette('it does not begin with "quittance_cassette"');
  if (format > version) throw invalidCassette('it was written by a newer version. Update the package');
  return rest;
}

const digestOf = (content: JsonObject): string => `sha256:${hash('sha256', JSON.stringify(content))}`;

const toWire = ({ sessionId, createdAt, tools, artifacts, calls }: Cassette): JsonObject => ({
  session: sessionId,
  created: new Date(createdAt).toISOString(),
  tools: tools.map(({ name, schemaDigest = null }) => ({ name, schema_digest: schemaDigest })),
  calls: calls.map((call) =>
    callToWire(call, tools.find(({ name }) => name === call.toolName)?.schemaDigest),
  ),
  artifacts: artifacts.map(artifactToWire),
});

const callToWire = (call: RecordedCall, usual: string | undefined): JsonObject => {
  const last = call.runs.at(-1);
  const outcome = outcomeToFile(call.outcome);
  const isSaid =
    last !== undefined && JSON.stringify(outcomeToFile(last.outcome)) === JSON.stringify(outcome);
  return {
    call: call.callId,
    turn: call.turn,
    tool: call.toolName,
    // Written if it differs from the tool's entry above, including a missing one.
    ...(call.schemaDigest !== usual && { schema_digest: call.schemaDigest ?? null }),
    ...given({ policy_version: call.policyVersion }),
    input: call.requestedInput,
    ...given({ effective_input: call.effectiveInput }),
    ...(call.hidden.length > 0 && { hidden: call.hidden }),
    ...(call.previews.length > 0 && { previews: call.previews.map(previewToWire) }),
    ...(call.answers.length > 0 && { answers: call.answers.map(answerToWire) }),
    ...(call.runs.length > 0 && { runs: call.runs.map(runToWire) }),
    // The last run already has it, unless the call ended differently.
    ...(!isSaid && { outcome }),
  };
};

/** The call id and the tool are written above. */
function outcomeToFile(outcome: RecordedCall['outcome']): JsonObject {
  const { call_id: _, tool_name: __, ...rest } = outcomeToWire(outcome);
  return rest;
}

const runToWire = ({
  outcome,
  unsettled,
  costMicros,
  reached,
  log,
  partial,
  late,
  rules,
  reportedAgain,
  unkept,
}: RecordedRun): JsonObject => ({
  outcome: outcomeToFile(outcome),
  ...(unsettled && { unsettled }),
  ...(costMicros !== 0 && { cost_micros: costMicros }),
  ...(reached.length > 0 && { reached }),
  ...(log.length > 0 && {
    log: log.map(({ message, fields }) => ({ message, ...given({ fields }) })),
  }),
  ...given({ partial, late }),
  ...(rules.length > 0 && { rules: rules.map(markToWire) }),
  ...(reportedAgain.length > 0 && { reported_again: reportedAgain }),
  ...(unkept.length > 0 && { unkept: unkept.map(({ keptIn, ...rest }) => ({ ...rest, kept_in: keptIn })) }),
});

const markToWire = ({ ruleId, policyError, ...rest }: RuleMark): JsonObject => ({
  rule: ruleId,
  ...(rest as JsonObject), // the rest is JSON under the same names
  ...(policyError === true && { policy_error: true }),
});

const artifactToWire = (artifact: CassetteArtifact): JsonObject => {
  const { artifactId, mimeType, digest, sizeBytes, content } = artifact;
  return {
    artifact: artifactId,
    mime_type: mimeType,
    digest,
    size_bytes: sizeBytes,
    ...given({
      text: typeof content === 'string' ? content : undefined,
      base64: content instanceof Uint8Array ? Buffer.from(content).toString('base64') : undefined,
    }),
  };
};
