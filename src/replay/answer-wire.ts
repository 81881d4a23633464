/** The file format for what happened before a tool ran. */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { freezeJson } from '../base/json.ts';
import { Fields, given } from '../call/fields.ts';
import { readDirectIdentity } from '../call/identity.ts';
import type { Preview } from '../tool/preview.ts';
import type { RecordedAnswer, RecordedPreview, RecordedVersion } from './cassette.ts';

export const answerToWire = (answer: RecordedAnswer): JsonObject => ({
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

export function answerFromWire(value: JsonValue): RecordedAnswer {
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

export const previewToWire = ({ input, versions, problem }: RecordedPreview): JsonObject => ({
  ...given({ input }),
  versions: versions.map(({ preview, snapshot, expiresInMs }) => ({
    preview: preview as JsonObject, // read from JSON
    ...(Object.keys(snapshot).length > 0 && { snapshot }),
    ...given({ expires_in_ms: expiresInMs }),
  })),
  ...given({ problem }),
});

export function previewFromWire(value: JsonValue): RecordedPreview {
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
