import type { ToolOutcome, Turn } from 'quittance';
import { defineTool, QuittanceError, outcomeToContentParts, outcomeToModelContent } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { envelope, eventsOf, expectSettledOnce, setStage } from '../../../../test/stage.ts';
import { alterLedger } from '../../../../test/alter-ledger.ts';
import { readWholeArtifact } from '../ledger/reads.ts';

const text = Array.from({ length: 2_000 }, (_, n) => `line ${n};`).join(' ');

const offloading = (give: unknown = text, inlineLimit?: number) =>
  setStage({
    ...(inlineLimit !== undefined && { inlineLimit }),
    tools: [
      defineTool({ name: 'get_it', run: () => give }),
      defineTool({ name: 'echo', run: ({ it: given }) => given }),
    ],
  });

async function artifactOf(turn: Pick<Turn, 'call'>, id = 'a'): Promise<string> {
  const outcome = await turn.call(envelope(id, 'get_it'));
  if (outcome.type !== 'ToolArtifactReference')
    throw new Error(`expected an artifact, found ${outcome.type}`);
  return outcome.artifactId;
}

const read = async (turn: Pick<Turn, 'call'>, args: object, id = JSON.stringify(args)): Promise<unknown> => {
  const outcome: ToolOutcome = await turn.call(envelope(id, 'read_artifact', { ...args }));
  return outcome.type === 'ToolExecutionResult' ? outcome.output : outcome;
};

describe('an output that is too long', () => {
  it('is stored as an artifact, and the model gets head, tail, size and how to read it', async () => {
    const { runtime, turn } = offloading();
    const outcome = await turn.call(envelope('c', 'get_it'));
    if (outcome.type !== 'ToolArtifactReference') throw new Error(outcome.type);
    expect(outcome.summary.length).toBeLessThanOrEqual(200);
    expect(outcome.summary).toMatch(/^"line 0; .* … .*line 1999;"$/);
    expect(outcome.sizeBytes).toBe(JSON.stringify(text).length);
    expect(outcome.wasCoerced).toBe(false);
    expect(JSON.parse(outcomeToModelContent(outcome))).toMatchObject({
      artifact_reference: outcome.artifactId,
      summary: outcome.summary,
      hint: expect.stringContaining('read_artifact') as string,
    });
    await expectSettledOnce(runtime);
  });

  it('starts above the limit in UTF-16 units of JSON, by default 12,000', async () => {
    const { turn } = setStage({
      tools: [
        defineTool({ name: 'get_it', run: ({ n }) => 'x'.repeat(n as number) }),
        defineTool({ name: 'get_less', inlineLimit: 10, run: ({ n }) => '💥'.repeat(n as number) }),
      ],
    });
    const types = [];
    for (const [name, n] of [
      ['get_it', 11_998],
      ['get_it', 11_999],
      ['get_less', 4],
      ['get_less', 5],
    ] as const)
      types.push((await turn.call(envelope(`${name}${n}`, name, { n }))).type);
    expect(types).toEqual([
      'ToolExecutionResult',
      'ToolArtifactReference',
      'ToolExecutionResult',
      'ToolArtifactReference',
    ]);
  });

  it('is summarized without half characters', async () => {
    const { turn } = offloading('💥'.repeat(10_000));
    const outcome = await turn.call(envelope('c', 'get_it'));
    expect('summary' in outcome && outcome.summary.isWellFormed()).toBe(true);
  });

  it('an output that is too long of a failure is stored as an artifact too', async () => {
    const { turn } = offloading({ error: 'no', log: 'x'.repeat(20_000) });
    const outcome = await turn.call(envelope('c', 'get_it'));
    expect(outcome).toMatchObject({ type: 'ToolFailure', error: 'no' });
    const extras = 'payloadExtras' in outcome ? outcome.payloadExtras : {};
    expect(await read(turn, { artifactId: extras?.['output_artifact'], limit: 9 })).toMatchObject({
      content: '{"error":',
    });
  });
});

describe('read_artifact', () => {
  it('reads pieces, and says where the next one starts', async () => {
    const { turn } = offloading();
    const artifactId = await artifactOf(turn);
    expect(await read(turn, { artifactId, offset: 10, limit: 20 })).toEqual({
      artifactId,
      offset: 10,
      totalChars: text.length,
      nextOffset: 30,
      content: text.slice(10, 30),
    });
    let content = '';
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const piece = (await read(turn, { artifactId, offset })) as { content: string; nextOffset?: number };
      content += piece.content;
      offset = piece.nextOffset;
    }
    expect(content).toBe(text);
  });

  it('shows the lines of a text as lines, and other outputs as JSON', async () => {
    const lines = 'a "line"\n'.repeat(3_000);
    const { turn } = offloading(lines);
    const first = await read(turn, { artifactId: await artifactOf(turn), limit: 18 });
    expect(first).toMatchObject({ content: 'a "line"\na "line"\n', totalChars: lines.length });
    const list = offloading([lines]);
    const other = await read(list.turn, { artifactId: await artifactOf(list.turn), limit: 6 });
    expect(other).toMatchObject({ content: '["a \\"' });
  });

  it('returns nothing beyond the end', async () => {
    const { turn } = offloading();
    const artifactId = await artifactOf(turn);
    expect(await read(turn, { artifactId, offset: 10_000_000 })).toMatchObject({ content: '' });
  });

  it('finds text with its context, and says where to continue', async () => {
    const { turn } = offloading();
    const artifactId = await artifactOf(turn);
    const found = (await read(turn, { artifactId, search: 'line 1234;' })) as {
      matches: { offset: number; text: string }[];
    };
    expect(found.matches).toHaveLength(1);
    expect(found.matches[0]?.text).toContain('line 1234; line 1235;');
    expect(text.indexOf('line 1234;')).toBe(found.matches[0]?.offset);
    const many = (await read(turn, { artifactId, search: 'line' })) as {
      matches: unknown[];
      nextOffset: number;
    };
    expect(many.matches).toHaveLength(20);
    const more = (await read(turn, { artifactId, search: 'line', offset: many.nextOffset })) as {
      matches: { offset: number }[];
    };
    expect(more.matches[0]?.offset).toBe(many.nextOffset);
    expect(await read(turn, { artifactId, search: 'nowhere' })).toMatchObject({ matches: [] });
  });

  it.each([
    ['text full of quotes', '"\\'.repeat(30_000), undefined],
    ['text full of control characters', '\u0001'.repeat(30_000), undefined],
    ['anything under a small limit', text, 300],
  ])('shows %s instead of storing it as an artifact again', async (_, give, inlineLimit) => {
    const { turn } = offloading(give, inlineLimit);
    const artifactId = await artifactOf(turn);
    expect(await read(turn, { artifactId })).toHaveProperty('content');
    expect(await read(turn, { artifactId, search: give.slice(0, 3) })).toHaveProperty('matches');
  });

  it.each([
    ['no id', {}],
    ['an empty id', { artifactId: '' }],
    ['a negative offset', { artifactId: 'x', offset: -1 }],
    ['a huge limit', { artifactId: 'x', limit: 1_000_000 }],
    ['an empty search', { artifactId: 'x', search: '' }],
    ['another field', { artifactId: 'x', path: '/etc/passwd' }],
  ])('rejects %s', async (_, args) => {
    const { turn } = offloading();
    expect(await read(turn, args)).toMatchObject({ reason: 'validation' });
  });

  it('limits its pieces to the host’s limit, whatever limit the model requests', async () => {
    const { turn } = offloading('"\\'.repeat(30_000), 2_000);
    const artifactId = await artifactOf(turn);
    const outcome = await turn.call(envelope('c', 'read_artifact', { artifactId, limit: 8_000 }));
    expect(outcomeToModelContent(outcome).length).toBeLessThanOrEqual(2_000);
    expect(outcome).toMatchObject({ output: { offset: 0, nextOffset: expect.any(Number) as number } });
  });

  it('is not judged by the success check of the host’s own tools', async () => {
    const { turn } = setStage({
      tools: [defineTool({ name: 'get_it', successCheck: () => true, run: () => text })],
      successCheck: () => false,
    });
    expect(await read(turn, { artifactId: await artifactOf(turn) })).toHaveProperty('content');
  });

  it('reads within its session only', async () => {
    const { runtime, turn } = offloading();
    const artifactId = await artifactOf(turn);
    const answer = await read(runtime.turn({ sessionId: 'other' }), { artifactId });
    expect(answer).toMatchObject({ type: 'ToolFailure', code: 'tool.reported_error' });
    expect(await read(turn, { artifactId: 'art_unknown' })).toMatchObject({ code: 'tool.reported_error' });
  });
});

describe('an argument that names an artifact', () => {
  it('is filled in for the schema, the hooks and the body, and stored by its name', async () => {
    const seen: unknown[] = [];
    const { runtime, turn } = setStage({
      inlineLimit: 100,
      tools: [
        defineTool({ name: 'get_it', run: () => ({ rows: Array.from({ length: 99 }, (_, n) => n) }) }),
        defineTool({
          name: 'sum_up',
          input: z.object({
            data: z.object({ rows: z.array(z.number()) }),
            as_text: z.string(),
            n: z.number(),
          }),
          run: ({ data, as_text: asText }) => [data.rows.length, asText.length],
        }),
      ],
      onPreToolUse: ({ arguments: args, toolName }) => {
        if (toolName === 'sum_up') seen.push(args);
        return { type: 'allow' };
      },
    });
    const artifactId = await artifactOf(turn);
    const name = { $artifact: artifactId };
    const outcome = await turn.call(
      envelope('c', 'sum_up', { data: name, as_text: { ...name, as: 'text' }, n: '5' }),
    );
    const length = JSON.stringify({ rows: Array.from({ length: 99 }, (_, n) => n) }).length;
    expect(outcome).toMatchObject({ output: [99, length], wasCoerced: true });
    expect(seen).toMatchObject([{ data: { rows: expect.any(Array) as unknown }, n: 5 }]);
    const call = (await runtime.calls.list({ sessionId: 's', callId: 'c' }))[0];
    expect(call).toMatchObject({
      requestedInput: { data: name, n: '5' },
      effectiveInput: { data: name, as_text: { ...name, as: 'text' }, n: 5 },
    });
    expect(JSON.stringify(await runtime.events.list({ sessionId: 's', callId: 'c' }))).not.toContain(
      '"rows"',
    );
  });

  it.each([
    ['an unknown artifact', { $artifact: 'art_nope' }, 'no artifact'],
    ['no text', { $artifact: 7 }, '$artifact'],
    ['an extra member', { $artifact: 'art_x', more: 1 }, 'nothing else'],
    ['a wrong form', { $artifact: 'art_x', as: 'image' }, 'nothing else'],
  ])('is denied when it names %s', async (_, it_, details) => {
    const { turn } = offloading();
    expect(await turn.call(envelope('c', 'echo', { it: it_ }))).toMatchObject({
      reason: 'validation',
      details: expect.stringContaining(details) as string,
    });
  });

  it('is denied when it names one of another session', async () => {
    const { runtime, turn } = offloading();
    const artifactId = await artifactOf(turn);
    expect(
      await runtime
        .turn({ sessionId: 'other' })
        .call(envelope('c', 'echo', { it: { $artifact: artifactId } })),
    ).toMatchObject({ reason: 'validation' });
  });

  it('ends the call if the content was changed after it was stored', async () => {
    const ledger = alterLedger(createMemoryLedger(), {
      readArtifact() {
        throw new QuittanceError('ledger.altered', 'Its digest is another one.');
      },
    });
    const { turn } = setStage({
      ledger,
      inlineLimit: 20,
      tools: [
        defineTool({ name: 'get_it', run: () => text }),
        defineTool({ name: 'echo', run: ({ it: given }) => given }),
      ],
    });
    const artifactId = await artifactOf(turn);
    expect(await turn.call(envelope('c', 'echo', { it: { $artifact: artifactId } }))).toMatchObject({
      type: 'ToolFailure',
      code: 'ledger.altered',
      retryable: false,
    });
  });

  it('is found at any depth, many times, and in lists', async () => {
    const { turn } = setStage({
      inlineLimit: 20,
      tools: [
        defineTool({ name: 'get_it', run: () => 'the whole of it, which is long' }),
        defineTool({ name: 'echo', inlineLimit: 10_000, run: (args) => args }),
      ],
    });
    const artifactId = await artifactOf(turn);
    const name = { $artifact: artifactId };
    const outcome = await turn.call(envelope('c', 'echo', { a: [{ b: name }, name], c: { d: { e: name } } }));
    const whole = 'the whole of it, which is long';
    expect(outcome).toMatchObject({ output: { a: [{ b: whole }, whole], c: { d: { e: whole } } } });
  });
});

describe('an attached file', () => {
  it('is stored as an artifact, listed in the outcome and shown as a separate part', async () => {
    const png = Uint8Array.from([137, 80, 78, 71]);
    const { ledger, runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'screenshot',
          run: (_, context) => ({
            shot: context.attach({ mimeType: 'image/png', content: png, name: 'shot.png' }),
            notes: context.attach({ mimeType: 'text/plain', content: 'hello ü' }),
          }),
        }),
        defineTool({ name: 'echo', run: (args) => args }),
      ],
    });
    const outcome = await turn.call(envelope('c', 'screenshot'));
    if (outcome.type !== 'ToolExecutionResult') throw new Error(outcome.type);
    const [shot, notes] = outcome.files ?? [];
    expect(outcome.files).toMatchObject([
      { mimeType: 'image/png', sizeBytes: 4, name: 'shot.png' },
      { mimeType: 'text/plain', sizeBytes: 8 },
    ]);
    expect(outcome.output).toEqual({
      shot: { $artifact: shot?.artifactId },
      notes: { $artifact: notes?.artifactId },
    });
    expect(outcomeToContentParts(outcome).slice(1)).toEqual([
      { type: 'file', mimeType: 'image/png', artifactId: shot?.artifactId },
      { type: 'file', mimeType: 'text/plain', artifactId: notes?.artifactId },
    ]);
    expect((await readWholeArtifact(ledger, 's', shot?.artifactId ?? ''))?.content).toEqual(png);
    expect(await turn.call(envelope('d', 'echo', { it: { $artifact: notes?.artifactId } }))).toMatchObject({
      output: { it: 'hello ü' },
    });
    expect(await turn.call(envelope('e', 'echo', { it: { $artifact: shot?.artifactId } }))).toMatchObject({
      reason: 'validation',
      details: expect.stringContaining('image/png') as string,
    });
    expect(await read(turn, { artifactId: shot?.artifactId })).toMatchObject({ code: 'tool.reported_error' });
    expect((await eventsOf(runtime, 'tool.responded'))[0]?.outcome).toEqual(outcome);
  });

  it.each([null, {}, { mimeType: 'x' }, { mimeType: 1, content: 'x' }, { mimeType: 'x', content: 7 }])(
    'must have the right shape: %j',
    async (wrong) => {
      const { turn } = setStage({
        tools: [defineTool({ name: 'get_it', run: (_, context) => context.attach(wrong as never) })],
      });
      expect(await turn.call(envelope('c', 'get_it'))).toMatchObject({ code: 'tool.execution_error' });
    },
  );
});
