import { given } from '../call/fields.ts';
import { contentBytes, contentDigest } from '../base/content-digest.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { freezeJson } from '../base/json.ts';
import type { RuleMark } from '../call/event.ts';
import { Fields } from '../call/fields.ts';
import { isPersistenceBoundary, persistenceBoundaries } from '../call/persistence-boundary.ts';
import { outcomeFromWire } from '../call/outcome-wire.ts';
import type {
  Cassette,
  CassetteArtifact,
  CassetteTool,
  RecordedCall,
  RecordedLate,
  RecordedRun,
} from './cassette.ts';
import { answerFromWire, previewFromWire } from './answer-wire.ts';
import { invalidCassette } from './invalid-cassette.ts';

/** The cassette in a parsed file. Throws `cassette.invalid` if a field is wrong. */
export function cassetteFromWire(content: JsonObject): Cassette {
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
