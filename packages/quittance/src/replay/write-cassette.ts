/**
 * The file format of a cassette: indented JSON, one block per call, keys in a fixed order, so that a review can read
 * changes. Its digest covers the content and not the layout. A file that differs from its seal is rejected until a
 * person seals it again.
 */
import { hash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, readJsonText, freezeJson } from '../base/json.ts';
import type { RuleMark } from '../call/event.ts';
import { outcomeToWire, outcomeFromWire } from '../call/outcome-wire.ts';
import type {
  Cassette,
  CassetteArtifact,
  RecordedCall,
  RecordedRun,
  CassetteTool,
  RecordedLate,
  RecordedAnswer,
  RecordedPreview,
  RecordedVersion,
} from './cassette.ts';
import { given, Fields } from '../call/fields.ts';
import { contentBytes, contentDigest } from '../base/content-digest.ts';
import { isPersistenceBoundary, persistenceBoundaries } from '../call/persistence-boundary.ts';
import { readDirectIdentity } from '../call/identity.ts';
import type { Preview } from '../tool/preview.ts';
import { QuittanceError } from '../base/error.ts';

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

/** The cassette in a parsed file. Throws `cassette.invalid` if a field is wrong. */
function cassetteFromWire(content: JsonObject): Cassette {
  try {
    const fields = new Fields(content, 'A cassette');
    const createdAt = Date.parse(fields.text('created'));
    if (Number.isNaN(createdAt)) throw new TypeError('"created" of a cassette must be a time.');
    const tools = fields.list('tools').map(toolFromWire);
    return {
      sessionId: fields.text('session'),
      createdAt,
      tools,
      artifacts: fields.list('artifacts').map(artifactFromWire),
      calls: fields.list('calls').map((call) => callFromWire(call, tools)),
    };
  } catch (cause) {
    if (cause instanceof TypeError) throw invalidCassette(cause.message.replace(/\.$/, ''), {}, cause);
    throw cause;
  }
}

function toolFromWire(value: JsonValue): CassetteTool {
  const fields = new Fields(value, 'A tool of a cassette');
  return {
    name: fields.text('name'),
    schemaDigest: fields.maybe('schema_digest', (key) => fields.text(key)),
  };
}

function callFromWire(value: JsonValue, tools: readonly CassetteTool[]): RecordedCall {
  const fields = new Fields(value, 'A call of a cassette');
  const [callId, toolName] = [fields.text('call'), fields.text('tool')];
  const outcome = (wire: JsonObject): RecordedCall['outcome'] =>
    frozen(outcomeFromWire({ ...wire, call_id: callId, tool_name: toolName }));
  const runs = (fields.maybe('runs', (key) => fields.list(key)) ?? []).map((run) =>
    runFromWire(run, outcome),
  );
  const end = fields.maybe('outcome', (key) => outcome(fields.object(key))) ?? runs.at(-1)?.outcome;
  if (end === undefined)
    throw new TypeError(`Call ${JSON.stringify(callId)} has neither "runs" nor "outcome".`);
  return {
    callId,
    turn: fields.number('turn'),
    toolName,
    schemaDigest:
      fields.get('schema_digest') === null
        ? undefined
        : (fields.maybe('schema_digest', (key) => fields.text(key)) ??
          tools.find(({ name }) => name === toolName)?.schemaDigest),
    policyVersion: fields.maybe('policy_version', (key) => fields.text(key)),
    requestedInput: frozen(fields.json('input')),
    effectiveInput: fields.maybe('effective_input', (key) => frozen(fields.object(key))),
    hidden: texts(fields, 'hidden'),
    previews: (fields.maybe('previews', (key) => fields.list(key)) ?? []).map(previewFromWire),
    answers: (fields.maybe('answers', (key) => fields.list(key)) ?? []).map(answerFromWire),
    runs,
    outcome: end,
  };
}

/** Frozen, because it is returned many times. */
const frozen = <Value>(value: Value): Value => freezeJson(value as Value & JsonValue);

const texts = (fields: Fields, key: string): readonly string[] =>
  (fields.maybe(key, () => fields.list(key)) ?? []).map((item) => {
    if (typeof item !== 'string') throw new TypeError(`"${key}" of a cassette must be a list of texts.`);
    return item;
  });

function runFromWire(value: JsonValue, outcome: (wire: JsonObject) => RecordedCall['outcome']): RecordedRun {
  const fields = new Fields(value, 'A run of a cassette');
  const costMicros = fields.maybe('cost_micros', (key) => fields.number(key)) ?? 0;
  if (!Number.isSafeInteger(costMicros) || costMicros < 0)
    throw new TypeError('"cost_micros" of a cassette must be a whole number of at least 0.');
  return {
    outcome: outcome(fields.object('outcome')),
    unsettled: fields.maybe('unsettled', (key) => fields.flag(key)) ?? false,
    costMicros,
    reached: texts(fields, 'reached'),
    log: (fields.maybe('log', (key) => fields.list(key)) ?? []).map((line) => {
      const inLine = new Fields(line, 'A log line of a cassette');
      return {
        message: inLine.text('message'),
        ...given({ fields: inLine.maybe('fields', (key) => frozen(inLine.object(key))) }),
      };
    }),
    partial: fields.maybe('partial', (key) => frozen(fields.object(key))),
    late: fields.maybe('late', (key) => lateFromWire(fields.object(key))),
    rules: (fields.maybe('rules', (key) => fields.list(key)) ?? []).map(markFromWire),
    reportedAgain: texts(fields, 'reported_again'),
    unkept: (fields.maybe('unkept', (key) => fields.list(key)) ?? []).map(unkeptFromWire),
  };
}

function markFromWire(value: JsonValue): RuleMark {
  const fields = new Fields(value, 'A rule of a cassette');
  const flag = (key: string): true | undefined => (fields.get(key) === true ? true : undefined);
  return {
    ruleId: fields.text('rule'),
    action: fields.word('action', isAction, actions),
    message: fields.text('message'),
    ...given({
      tags: fields.get('tags') === undefined ? undefined : texts(fields, 'tags'),
      metadata: fields.maybe('metadata', (key) => frozen(fields.object(key))),
      observed: flag('observed'),
      policyError: flag('policy_error'),
    }),
  };
}

const actions = ['block', 'ask', 'warn', 'redact'] as const;
const isAction = (value: unknown): value is RuleMark['action'] => actions.some((word) => word === value);

function unkeptFromWire(value: JsonValue): RecordedRun['unkept'][number] {
  const fields = new Fields(value, 'A storage failure of a cassette');
  return {
    boundary: fields.word('boundary', isPersistenceBoundary, boundaries),
    error: fields.text('error'),
    keptIn: fields.word('kept_in', isKeptIn, keptIns),
  };
}

const boundaries = Object.keys(persistenceBoundaries).filter(isPersistenceBoundary);
const keptIns = ['spill', 'record', 'nowhere'] as const;
const isKeptIn = (value: unknown): value is (typeof keptIns)[number] =>
  keptIns.some((word) => word === value);

function lateFromWire(value: JsonObject): RecordedLate {
  const fields = new Fields(value, 'A late result of a cassette');
  const type = fields.word('type', isLateType, ['returned', 'threw']);
  return type === 'returned'
    ? { type, output: frozen(fields.json('output')) }
    : { type, error: fields.text('error') };
}

const isLateType = (value: unknown): value is RecordedLate['type'] =>
  value === 'returned' || value === 'threw';

function artifactFromWire(value: JsonValue): CassetteArtifact {
  const fields = new Fields(value, 'An artifact of a cassette');
  const base64 = fields.maybe('base64', (key) => fields.text(key));
  const content =
    base64 === undefined ? fields.maybe('text', (key) => fields.text(key)) : Buffer.from(base64, 'base64');
  return {
    artifactId: fields.text('artifact'),
    mimeType: fields.text('mime_type'),
    // Recomputed from the content, because a person may have changed and resealed it.
    digest: content === undefined ? fields.text('digest') : contentDigest(content),
    sizeBytes: content === undefined ? fields.number('size_bytes') : contentBytes(content).byteLength,
    content: content === undefined || typeof content === 'string' ? content : Uint8Array.from(content),
  };
}

/** The file format for what happened before a tool ran. */

const answerToWire = (answer: RecordedAnswer): JsonObject => ({
  ...decisionToWire(answer),
  ...given({ identity: answer.identity }),
});

function decisionToWire(answer: RecordedAnswer): JsonObject {
  const { decision, input } = answer;
  switch (answer.decision) {
    case 'approve':
    case 'deny':
      return { decision, ...given({ input, by: answer.by, reason: answer.reason }) };
    case 'edit':
      return {
        decision,
        ...given({ input, by: answer.by, reason: answer.reason }),
        arguments: answer.arguments,
      };
    case 'respond':
      return {
        decision,
        ...given({ input, by: answer.by, reason: answer.reason }),
        response: answer.response,
      };
    case 'expired':
      return { decision, ...given({ input }), after_ms: answer.afterMs };
    case 'withdrawn':
      return { decision, ...given({ input }) };
  }
}

function answerFromWire(value: JsonValue): RecordedAnswer {
  const fields = new Fields(value, 'An answer of a cassette');
  const identity = fields.maybe('identity', (key) => readDirectIdentity(fields.object(key)));
  return { ...decisionFromWire(fields), ...given({ identity }) };
}

function decisionFromWire(fields: Fields): RecordedAnswer {
  const input = fields.maybe('input', (key) => freezeJson(fields.object(key)));
  const reason = fields.maybe('reason', (key) => fields.text(key));
  const decision = fields.word('decision', isDecision, decisions);
  switch (decision) {
    case 'approve':
      // An approval always names a person.
      return { input, decision, by: fields.text('by'), reason };
    case 'deny':
      return { input, decision, by: fields.maybe('by', (key) => fields.text(key)), reason };
    case 'edit':
      return {
        input,
        decision,
        by: fields.text('by'),
        reason,
        arguments: freezeJson(fields.object('arguments')),
      };
    case 'respond':
      return { input, decision, by: fields.text('by'), reason, response: fields.text('response') };
    case 'expired': {
      const afterMs = fields.number('after_ms');
      if (!(afterMs >= 0)) throw new TypeError('"after_ms" of a cassette must be at least 0.');
      return { input, decision, afterMs };
    }
    case 'withdrawn':
      return { input, decision };
  }
}

const decisions: readonly RecordedAnswer['decision'][] = [
  'approve',
  'deny',
  'edit',
  'respond',
  'expired',
  'withdrawn',
];
const isDecision = (value: unknown): value is RecordedAnswer['decision'] =>
  decisions.some((word) => word === value);

const previewToWire = ({ input, versions, problem }: RecordedPreview): JsonObject => ({
  ...given({ input }),
  versions: versions.map(({ preview, snapshot, expiresInMs }) => ({
    preview: preview as JsonObject, // read from JSON
    ...(Object.keys(snapshot).length > 0 && { snapshot }),
    ...given({ expires_in_ms: expiresInMs }),
  })),
  ...given({ problem }),
});

function previewFromWire(value: JsonValue): RecordedPreview {
  const fields = new Fields(value, 'A preview of a cassette');
  return {
    input: fields.maybe('input', (key) => freezeJson(fields.object(key))),
    versions: fields.list('versions').map(versionFromWire),
    problem: fields.maybe('problem', (key) => fields.text(key)),
  };
}

function versionFromWire(value: JsonValue): RecordedVersion {
  const fields = new Fields(value, 'A version of a preview');
  return {
    // The reader checks it like any preview of a tool.
    preview: freezeJson(fields.object('preview')) as unknown as Preview,
    snapshot: freezeJson(fields.maybe('snapshot', (key) => fields.object(key)) ?? {}),
    expiresInMs: fields.maybe('expires_in_ms', (key) => fields.number(key)),
  };
}

/** The error for a text that is not a valid cassette. */
const invalidCassette = (
  problem: string,
  facts: Readonly<Record<string, string>> = {},
  cause?: unknown,
): QuittanceError =>
  new QuittanceError('cassette.invalid', `This cassette cannot be played: ${problem}.`, facts, cause);
