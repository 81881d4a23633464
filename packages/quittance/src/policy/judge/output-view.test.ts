import fc from 'fast-check';
import { expect, test } from 'vitest';
import { policyOf, postRule, sampleCall } from '../../../../../test/sample-policy.ts';
import type { JsonValue } from '../../base/json.ts';
import { viewOutput } from './output-view.ts';

const letters = fc.constantFrom('a', 'b', '"', '\\', '\n', ',', ':', '{', '\u{1f600}', '\ud83d', '\u2028');
const word = fc.string({ unit: letters, minLength: 1, maxLength: 3 });
const output = fc.oneof(
  word,
  fc.array(fc.string({ unit: letters, maxLength: 5 }), { maxLength: 3 }),
  fc.dictionary(word, fc.string({ unit: letters, maxLength: 5 }), { maxKeys: 3 }),
) as fc.Arbitrary<JsonValue>;

test('a word is found in the text of an output exactly if its JSON or its plain text contains it', () => {
  fc.assert(
    fc.property(output, word, (value, wanted) => {
      const view = viewOutput({ type: 'result', value });
      const isThere = view.text().includes(wanted) || view.plainText().includes(wanted);
      const policy = policyOf([postRule('hide', 'warn', { 'output.text': { contains: wanted } })]);
      const ruling = policy.judgeOutput(sampleCall(), { type: 'result', value });
      expect(ruling).toMatchObject({ decision: isThere ? 'warn' : 'pass' });
    }),
    { numRuns: 500 },
  );
});
