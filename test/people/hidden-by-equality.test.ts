/**
 * A value that is masked because it also has the name of a secret elsewhere: the person who decides learns
 * this.
 */
import type { AnyTool, RuntimeOptions } from 'quittance';
import { defineTool, ToolDecision } from 'quittance';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { envelope, setStage } from '../stage.ts';
import { riskRank } from '../../packages/cli/src/confirmation-columns.ts';
import { openQuestions, question, yes } from './question.ts';

const account = 'DE89 3704 0044 0532 0130 00';
const because = 'hidden because the same value has a secret name elsewhere';

async function askAbout(
  args: Record<string, unknown>,
  tool: Partial<Parameters<typeof defineTool>[0]> = {},
  attrs?: Record<string, string>,
  options: Partial<Pick<RuntimeOptions<readonly AnyTool[]>, 'onPreToolUse'>> = {},
) {
  const { runtime, turn } = setStage({
    ...options,
    tools: [defineTool({ name: 'pay', mode: 'destructive', run: () => 'paid', ...tool })],
  });
  void turn.call(envelope('c', 'pay', args as never), attrs === undefined ? {} : { attrs }).catch(() => {});
  const [open] = await openQuestions(runtime);
  if (open === undefined) throw new Error('Nothing was asked.');
  return open;
}
const hiddenWords = (risk: readonly string[]): readonly string[] =>
  risk.filter((word) => word.includes('hidden'));

describe('[secrets-stay-out] a person who decides about masked arguments', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['as it is', { recipient: account, token: account }, '$.recipient'],
    ['inside a text', { note: `pay ${account} now`, password: account }, '$.note'],
    ['deep', { to: [{ iban: account }], api_key: account }, '$.to[0].iban'],
    ['as a number', { amount: 12_345_678, pin: 1, secret: '12345678' }, '$.amount'],
    ['as a key', { shares: { [account]: 1 }, token: account }, '$.shares["[REDACTED]"]'],
  ])('learns which argument repeats a hidden value: %s', async (_, args, path) => {
    const { risk, effectiveInput } = await askAbout(args);
    expect(JSON.stringify(effectiveInput)).not.toContain('0532 0130');
    expect(hiddenWords(risk)).toEqual([`${because}: ${path}`]);
    expect(riskRank({ risk: risk.filter((word) => word.startsWith('hidden')) })).toBe(3);
  });

  it('learns when the schema drops the argument that hides the other', async () => {
    const { risk, effectiveInput } = await askAbout(
      { recipient: account, token: account },
      { input: z.object({ recipient: z.string() }) },
    );
    expect(effectiveInput).toEqual({ recipient: '[REDACTED]' });
    expect(hiddenWords(risk)).toEqual([`${because}: $.recipient`]);
  });

  it('learns when the schema moves a short secret to another argument', async () => {
    const { risk, effectiveInput } = await askAbout(
      { token: '4711', amount: 1 },
      {
        input: z
          .object({ token: z.string(), amount: z.number() })
          .transform(({ token }) => ({ amount: token })),
      },
    );
    expect(effectiveInput).toEqual({ amount: '[REDACTED]' });
    expect(hiddenWords(risk)).toEqual([`${because}: $.amount`]);
  });

  it('learns when the caller’s facts hide an argument', async () => {
    const { risk } = await askAbout({ recipient: account }, {}, { token: account });
    expect(hiddenWords(risk)).toEqual([`${because}: $.recipient`]);
  });

  it('learns when a preview is partly hidden', async () => {
    const { risk } = await askAbout(
      { token: account },
      { preview: () => ({ kind: 'text', text: `To ${account}`, snapshot: {} }) },
    );
    expect(hiddenWords(risk)).toEqual(['preview is partly hidden']);
  });

  it('learns when the question is partly hidden', async () => {
    const onPreToolUse = () => ToolDecision.requiresConfirmation(`May ${account} be paid?`);
    const { risk } = await askAbout({ token: account }, {}, undefined, { onPreToolUse });
    expect(hiddenWords(risk)).toEqual(['question is partly hidden']);
  });

  it('gets a short list of many paths', async () => {
    const { risk } = await askAbout({ token: account, to: Array.from({ length: 500 }, () => account) });
    expect(hiddenWords(risk)).toEqual([`${because}: $.to[0], $.to[1], $.to[2], $.to[3] and 496 more`]);
  });

  it('sees no such risk for secrets in their expected places', async () => {
    const { risk } = await askAbout({ token: account, recipient: 'Ada', note: 'password=hunter2-and-more' });
    expect(hiddenWords(risk)).toEqual([]);
  });
});

describe('[secrets-stay-out] a value hidden in the snapshot of a preview', () => {
  it('is hidden in the output of the body that got it', async () => {
    const { runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'pay',
          mode: 'destructive',
          redact: { snapshot: ['$.key'] },
          preview: () => ({ kind: 'text', text: 'pays', snapshot: { key: 'k-4711-8' } }),
          run: (_, { approved }) => `ran with ${JSON.stringify(approved?.snapshot)}`,
        }),
      ],
    });
    const ended = turn.call(envelope('c', 'pay', {}));
    const open = await question(runtime);
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    expect(await ended).toMatchObject({ output: 'ran with {"key":"[REDACTED]"}' });
    expect(JSON.stringify(await runtime.events.list({ sessionId: open.sessionId }))).not.toContain(
      'k-4711-8',
    );
  });
});
