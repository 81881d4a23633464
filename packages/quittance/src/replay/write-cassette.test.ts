import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readJsonText } from '../base/json.ts';
import { anyJson, anyJsonObject, anyOutcome, anyText } from '../../../../test/arbitrary-outcome.ts';
import { contentBytes, contentDigest } from '../base/content-digest.ts';
import { canonicalJson } from '../base/canonical.ts';
import type {
  Cassette,
  CassetteArtifact,
  RecordedAnswer,
  RecordedCall,
  RecordedPreview,
  RecordedRun,
} from './cassette.ts';
import { readCassette, sealCassette, writeCassette } from './write-cassette.ts';

const anyRun: fc.Arbitrary<RecordedRun> = fc.record({
  outcome: anyOutcome,
  unsettled: fc.boolean(),
  costMicros: fc.nat(),
  reached: fc.array(anyText, { maxLength: 2 }),
  log: fc.array(
    fc.oneof(fc.record({ message: anyText }), fc.record({ message: anyText, fields: anyJsonObject })),
    {
      maxLength: 2,
    },
  ),
  partial: fc.option(anyJsonObject, { nil: undefined }),
  late: fc.option(
    fc.oneof(
      fc.record({ type: fc.constant('returned' as const), output: anyJson }),
      fc.record({ type: fc.constant('threw' as const), error: anyText }),
    ),
    { nil: undefined },
  ),
  rules: fc.array(
    fc.record(
      {
        ruleId: anyText,
        action: fc.constantFrom('block', 'ask', 'warn', 'redact'),
        message: anyText,
        tags: fc.array(anyText, { maxLength: 2 }),
        metadata: anyJsonObject,
        observed: fc.constant(true as const),
        policyError: fc.constant(true as const),
      },
      { requiredKeys: ['ruleId', 'action', 'message'] },
    ),
    { maxLength: 2 },
  ),
  reportedAgain: fc.array(anyText, { maxLength: 2 }),
  unkept: fc.array(
    fc.record({
      boundary: fc.constantFrom('artifact', 'settle'),
      error: anyText,
      keptIn: fc.constantFrom('record', 'spill', 'nowhere'),
    }),
    { maxLength: 1 },
  ),
});

const maybe = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined });

const asked = { input: maybe(anyJsonObject), reason: maybe(anyText) };
const anyAnswer: fc.Arbitrary<RecordedAnswer> = fc.oneof(
  fc.record({ ...asked, decision: fc.constant('approve' as const), by: anyText }),
  fc.record({ ...asked, decision: fc.constant('deny' as const), by: maybe(anyText) }),
  fc.record({ ...asked, decision: fc.constant('edit' as const), by: anyText, arguments: anyJsonObject }),
  fc.record({ ...asked, decision: fc.constant('respond' as const), by: anyText, response: anyText }),
  fc.record({ input: maybe(anyJsonObject), decision: fc.constant('expired' as const), afterMs: fc.nat() }),
  fc.record({ input: maybe(anyJsonObject), decision: fc.constant('withdrawn' as const) }),
);

const anyPreview: fc.Arbitrary<RecordedPreview> = fc.record({
  input: maybe(anyJsonObject),
  versions: fc.array(
    fc.record({
      preview: fc.record({ kind: fc.constant('text' as const), text: anyText }),
      snapshot: anyJsonObject,
      expiresInMs: maybe(fc.nat()),
    }),
    { maxLength: 2 },
  ),
  problem: maybe(anyText),
});

/** The outcomes of a call carry its id and tool. */
const ofCall = (call: RecordedCall): RecordedCall => {
  const own = { callId: call.callId, toolName: call.toolName };
  return {
    ...call,
    outcome: { ...call.outcome, ...own },
    runs: call.runs.map((run) => ({ ...run, outcome: { ...run.outcome, ...own } })),
  };
};

const anyCall: fc.Arbitrary<RecordedCall> = fc
  .record({
    callId: anyText,
    turn: fc.nat(),
    toolName: anyText,
    requestedInput: anyJson,
    effectiveInput: fc.option(anyJsonObject, { nil: undefined }),
    hidden: fc.array(anyText, { maxLength: 2 }),
    schemaDigest: maybe(anyText),
    policyVersion: maybe(anyText),
    previews: fc.array(anyPreview, { maxLength: 2 }),
    answers: fc.array(anyAnswer, { maxLength: 2 }),
    runs: fc.array(anyRun, { maxLength: 2 }),
    outcome: anyOutcome,
  })
  .map(ofCall);

const anyArtifact: fc.Arbitrary<CassetteArtifact> = fc
  .record({
    artifactId: anyText,
    mimeType: anyText,
    content: fc.oneof(anyText, fc.uint8Array({ maxLength: 20 })),
    kept: fc.boolean(),
  })
  .map(({ content, kept, ...artifact }) => ({
    ...artifact,
    digest: contentDigest(content),
    sizeBytes: contentBytes(content).byteLength,
    content: kept ? content : undefined,
  }));

const anyCassette: fc.Arbitrary<Cassette> = fc.record({
  sessionId: anyText,
  createdAt: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  tools: fc.array(fc.record({ name: anyText, schemaDigest: fc.option(anyText, { nil: undefined }) }), {
    maxLength: 2,
  }),
  artifacts: fc.array(anyArtifact, { maxLength: 2 }),
  calls: fc.array(anyCall, { maxLength: 3 }),
});

const sample = (text = 'x'): Cassette => ({
  sessionId: 's',
  createdAt: 0,
  tools: [{ name: 't', schemaDigest: undefined }],
  artifacts: [],
  calls: [
    {
      callId: 'c',
      turn: 1,
      toolName: 't',
      schemaDigest: undefined,
      policyVersion: undefined,
      previews: [],
      requestedInput: { text },
      effectiveInput: undefined,
      hidden: [],
      answers: [],
      runs: [],
      outcome: {
        type: 'ToolDenied',
        callId: 'c',
        toolName: 't',
        code: 'policy.hook',
        reason: 'pre_hook',
        details: 'no',
      },
    },
  ],
});

/** As JSON with sorted keys, so that only content is compared. */
const inOrder = (value: unknown): string => canonicalJson(readJsonText(JSON.stringify(value)));

describe('a cassette', () => {
  test('reads back any content as it was written', () => {
    fc.assert(
      fc.property(anyCassette, (cassette) => {
        const text = writeCassette(cassette);
        expect(writeCassette(readCassette(text))).toBe(text);
        expect(JSON.stringify(readCassette(text))).toBe(
          JSON.stringify(readCassette(writeCassette(readCassette(text)))),
        );
        const told = ({ calls }: Cassette): unknown =>
          calls.map(({ schemaDigest, policyVersion, requestedInput, previews, answers, runs }) => [
            schemaDigest,
            policyVersion,
            inOrder(requestedInput),
            inOrder(previews),
            inOrder(answers),
            inOrder(runs.map(({ rules, reportedAgain, unkept }) => [rules, reportedAgain, unkept])),
          ]);
        expect(told(readCassette(text))).toEqual(told(cassette));
      }),
      { numRuns: 200 },
    );
  });

  test('may be reformatted without counting as changed', () => {
    const text = writeCassette(sample());
    expect(readCassette(JSON.stringify(JSON.parse(text)))).toEqual(readCassette(text));
  });

  test('is rejected after any change, and accepted once it is sealed again', () => {
    const text = writeCassette(sample());
    const changed = text.replace('"no"', '"yes"');
    expect(() => readCassette(changed)).toThrow(/changed after it was sealed/);
    expect(readCassette(sealCassette(changed)).calls).toMatchObject([{ outcome: { details: 'yes' } }]);
  });

  test.each([
    ['', /not JSON/],
    ['[]', /not an object/],
    ['{}', /does not begin with/],
    ['{"quittance_cassette": 2}', /newer version/],
    ['{"quittance_cassette": 1}', /"created".*must be text/],
    [writeCassette(sample()).replace('"ToolDenied"', '"ToolMaybe"'), /ToolMaybe/],
    [writeCassette(sample()).replace('"turn": 1', '"turn": "1"'), /"turn"/],
    [writeCassette(sample()).replace(/"outcome": \{[^}]*\}/, '"hidden": []'), /neither "runs" nor "outcome"/],
    [
      writeCassette(sample()).replace('"call": "c"', '"call": "c", "answers": [{"decision": "approve"}]'),
      /"by"/,
    ],
    [
      writeCassette(sample()).replace('"call": "c"', '"call": "c", "answers": [{"decision": "perhaps"}]'),
      /approve, deny, edit, respond, expired, withdrawn/,
    ],
    [writeCassette(sample()).replace('"created": "1970', '"created": "x1970'), /must be a time/],
  ])('does not accept the text of case %#', (text, says) => {
    expect(() => sealCassette(text)).toThrow(says);
    expect(() => readCassette(text)).toThrow(/This cassette cannot be played/);
  });
});
