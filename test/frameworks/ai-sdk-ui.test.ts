/** What a page gets that uses the AI SDK through UI messages, like `useChat`, with versions 6 and 7. */
import * as ai7 from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import * as ai6 from 'ai6';
import { MockLanguageModelV3 } from 'ai6/test';
import { outcomeToModelContent, ToolDecision } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { AiSdkOptions, GovernedTools } from '@quittance/ai-sdk';
import { governTools, isToolOutcome, isToolOutcomeError, toErrorText } from '@quittance/ai-sdk';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import type { MockModel } from './harnesses/ai-sdk.ts';
import { scriptedModel } from './harnesses/ai-sdk.ts';
import type { Script, Told } from './suite/harness.ts';

const sessionId = 'chat-1';
type UiPart = {
  readonly type: string;
  readonly toolCallId?: string;
  readonly state?: string;
  readonly output?: unknown;
  readonly errorText?: string;
  readonly approval?: { readonly id: string; readonly approved?: boolean };
};
type UiMessage = { readonly id: string; readonly role: string; readonly parts: readonly UiPart[] };

/** The parts of either version that are used here. */
type Sdk = {
  readonly streamText: (settings: never) => {
    toUIMessageStream(options: object): ReadableStream;
    readonly steps: PromiseLike<readonly { readonly content: readonly { readonly type: string }[] }[]>;
  };
  readonly readUIMessageStream: (options: never) => AsyncIterable<unknown>;
  readonly convertToModelMessages: (messages: never, options: never) => Promise<readonly unknown[]>;
  readonly stepCountIs: (count: number) => unknown;
  readonly tool: (tool: never) => unknown;
};

const versions = [
  [7, ai7 as unknown as Sdk, MockLanguageModelV4 as unknown as MockModel],
  [6, ai6 as unknown as Sdk, MockLanguageModelV3 as unknown as MockModel],
] as const;

const question: UiMessage = { id: 'u1', role: 'user', parts: [{ type: 'text' }] };
const asked: UiMessage = { ...question, parts: [{ type: 'text', text: 'Go.' } as UiPart] };
const call = (id: string, name: string, args: Record<string, unknown>) => ({
  calls: [{ id, name, arguments: args }],
});
const done: Script = [{ text: 'Done.' }];

describe.each(versions)('AI SDK %s', (version, sdk, Mock) => {
  const define = (tools: Record<string, (input: never) => unknown>) =>
    Object.fromEntries(
      Object.entries(tools).map(([name, execute]) => [
        name,
        sdk.tool({ inputSchema: z.object({ cents: z.number() }), execute } as never),
      ]),
    );
  const govern = (tools: Record<string, unknown>, options: AiSdkOptions = {}) =>
    governTools(tools, { ledger: createMemoryLedger(), ...options });

  /** One request of the page: sends its messages and returns those it has afterwards. */
  async function request(
    { run }: GovernedTools<Record<string, unknown>>,
    messages: readonly UiMessage[],
    script: Script,
    { approver, forgets = false }: { readonly approver?: string; readonly forgets?: boolean } = {},
  ): Promise<{
    readonly messages: readonly UiMessage[];
    readonly told: readonly Told[];
    readonly errors: unknown[];
  }> {
    const opened = run({ sessionId, ...(approver !== undefined && { approver }) });
    if (!forgets) await opened.takeApprovals(messages);
    const told: Told[] = [];
    const streaming = sdk.streamText({
      model: scriptedModel(Mock, script, told, 1),
      messages: await sdk.convertToModelMessages(messages as never, { tools: opened.tools } as never),
      tools: opened.tools,
      ...(version === 7 && approver !== undefined && { toolApproval: opened.toolApproval }),
      stopWhen: sdk.stepCountIs(5),
    } as never);
    const last = messages.at(-1);
    const stream = streaming.toUIMessageStream({ originalMessages: messages, onError: toErrorText });
    const goesOn = last?.role === 'assistant' ? { message: structuredClone(last) } : {};
    let answer: UiMessage | undefined;
    for await (const read of sdk.readUIMessageStream({ stream, ...goesOn } as never))
      answer = read as UiMessage;
    if (answer === undefined) throw new Error('Nothing came.');
    const steps = await streaming.steps;
    const errors = steps.flatMap(({ content }) =>
      content.flatMap((part) => (part.type === 'tool-error' && 'error' in part ? [part.error] : [])),
    );
    return {
      messages: [...messages.filter((one) => one !== last || last.role === 'user'), answer],
      told,
      errors,
    };
  }

  const toolParts = (messages: readonly UiMessage[]): readonly UiPart[] =>
    messages.flatMap(({ parts }) => parts.filter(({ type }) => type.startsWith('tool-')));

  /** Does what `addToolApprovalResponse` of the page does. */
  const respond = (messages: readonly UiMessage[], approved: boolean): readonly UiMessage[] =>
    messages.map((message) => ({
      ...message,
      parts: message.parts.map((part) =>
        part.state === 'approval-requested' && part.approval !== undefined
          ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved } }
          : part,
      ),
    }));

  test('calls that were denied, failed, timed out or did not match are errors in the parts', async () => {
    const governed = await govern(
      define({
        pay: () => 'paid',
        fall: () => {
          throw new Error('It fell.');
        },
        wait: () => new Promise(() => undefined),
      }),
      {
        overrides: { wait: { timeoutMs: 20 } },
        onPreToolUse: ({ toolName }) =>
          toolName === 'pay' ? ToolDecision.block('Not on a Sunday.') : ToolDecision.allow,
      },
    );
    const script: Script = [
      call('c1', 'pay', { cents: 5 }),
      call('c2', 'fall', { cents: '5' }),
      call('c3', 'wait', { cents: 5 }),
      call('c4', 'fall', { cents: 'many' }),
      ...done,
    ];
    const first = await request(governed, [asked], script);
    const parts = toolParts(first.messages);
    expect(parts.map(({ state }) => state)).toEqual(Array.from({ length: 4 }, () => 'output-error'));
    for (const { toolCallId, errorText } of parts) {
      const [made] = await governed.runtime.calls.list({ sessionId, callId: toolCallId ?? '' });
      const outcome = made?.settled?.outcome;
      if (outcome === undefined) throw new Error('The call did not end.');
      const { note, ...said } = JSON.parse(errorText ?? '') as { note?: string };
      expect(JSON.stringify(said)).toBe(outcomeToModelContent(outcome));
      expect(note).toBe(outcome.modelNote);
    }
    expect(first.errors.map((error) => isToolOutcomeError(error) && error.outcome.type)).toEqual([
      'ToolDenied',
      'ToolFailure',
      'ToolTimeout',
      'ToolDenied',
    ]);
    // The page sends its messages back, and the model gets the same again.
    const second = await request(governed, [...first.messages, { ...asked, id: 'u2' }], done);
    expect(second.told.map(({ texts }) => texts)).toEqual(parts.map(({ errorText }) => [errorText]));
  });

  test('a successful output keeps its shape if arguments were coerced; the model gets a separate note', async () => {
    const governed = await govern(define({ pay: ({ cents }: { cents: number }) => ({ paid: cents }) }));
    const first = await request(governed, [asked], [call('c1', 'pay', { cents: '500' }), ...done]);
    expect(toolParts(first.messages)).toMatchObject([{ state: 'output-available', output: { paid: 500 } }]);
    const [made] = await governed.runtime.calls.list({ sessionId, callId: 'c1' });
    const texts = ['{"paid":500}', made?.settled?.outcome.modelNote];
    expect(first.told.map((one) => one.texts)).toEqual([texts]);
    // A later request, by another run, from the messages of the page.
    const second = await request(governed, [...first.messages, { ...asked, id: 'u2' }], done);
    expect(second.told.map((one) => one.texts)).toEqual([texts]);
  });

  test("the tool's own view of a coerced success is shown, with the note next to it", async () => {
    const governed = await govern({
      pay: sdk.tool({
        inputSchema: z.object({ cents: z.number() }),
        execute: ({ cents }: { cents: number }) => ({ paid: cents }),
        toModelOutput: ({ output }: { output: { paid: number } }) => ({
          type: 'text',
          value: `Paid ${output.paid}.`,
        }),
      } as never),
    });
    const { told } = await request(governed, [asked], [call('c1', 'pay', { cents: '500' }), ...done]);
    expect(told[0]?.texts).toEqual(['Paid 500.', expect.stringContaining('cents') as string]);
  });

  test('an output too long to show is an outcome, and the guard tells it from an output', async () => {
    const governed = await govern(define({ pay: () => 'x'.repeat(50_000) }));
    const { messages } = await request(governed, [asked], [call('c1', 'pay', { cents: 5 }), ...done]);
    const [part] = toolParts(messages);
    expect(isToolOutcome(part?.output) && part.output.type).toBe('ToolArtifactReference');
    expect([{ type: 'ToolDenied' }, 'text', null, { paid: 5 }].some(isToolOutcome)).toBe(false);
  });

  test('a schema of zod 3 is shown to the model, and arguments are coerced and refused under Quittance', async () => {
    const pay = vi.fn<(input: { cents: number }) => string>(() => 'paid');
    const governed = await govern({
      pay: sdk.tool({ inputSchema: z3.object({ cents: z3.number() }), execute: pay } as never),
    });
    const script: Script = [
      call('c1', 'pay', { cents: '500' }),
      call('c2', 'pay', { cents: 'many' }),
      ...done,
    ];
    const { messages } = await request(governed, [asked], script);
    expect(pay.mock.calls.map(([input]) => input)).toEqual([{ cents: 500 }]);
    expect(toolParts(messages).map(({ state }) => state)).toEqual(['output-available', 'output-error']);
    const made = await governed.runtime.calls.list({ sessionId });
    expect(made.map(({ settled }) => settled?.outcome.type)).toEqual(['ToolExecutionResult', 'ToolDenied']);
  });

  describe('a denial in the page', () => {
    const hold = async (pay: () => unknown, options: AiSdkOptions = {}) => {
      const governed = await govern(define({ pay, look: () => 'seen' }), {
        overrides: { pay: { mode: 'destructive' }, look: { mode: 'read' } },
        ...options,
      });
      const script: Script = [call('c1', 'pay', { cents: 5 })];
      const { messages } = await request(governed, [asked], script, { approver: 'grace' });
      expect(toolParts(messages)).toMatchObject([{ state: 'approval-requested' }]);
      const [held] = (await governed.runtime.confirmations.list({ status: 'pending' })).rows;
      if (held === undefined) throw new Error('Nothing is held.');
      const approveLater = (): Promise<unknown> =>
        governed.runtime.confirmations.decide(held.confirmationId, {
          decision: 'approve',
          by: 'ada',
          inputDigest: held.inputDigest,
        });
      return { governed, denied: respond(messages, false), approved: respond(messages, true), approveLater };
    };

    test('is recorded from UI messages, and the call cannot be approved later', async () => {
      const pay = vi.fn<() => string>(() => 'paid');
      const { governed, denied, approved, approveLater } = await hold(pay);
      const { messages } = await request(governed, denied, done, { approver: 'grace' });
      // Version 7.0.0 shows the answer of the person until the next request.
      expect(['output-denied', 'approval-responded']).toContain(toolParts(messages)[0]?.state);
      await expect(approveLater()).rejects.toMatchObject({ code: 'confirmation.decided' });
      await request(governed, approved, done, { approver: 'grace' }).catch(() => undefined);
      expect(pay).not.toHaveBeenCalled();
      const [made] = await governed.runtime.calls.list({ sessionId, callId: 'c1' });
      expect(made?.confirmation).toMatchObject({ status: 'denied', by: { name: 'grace' } });
    });

    test('is recorded if the host forgot it, as soon as the SDK runs any tool', async () => {
      const pay = vi.fn<() => string>(() => 'paid');
      const { governed, denied, approveLater } = await hold(pay);
      const script: Script = [call('c2', 'look', { cents: 1 }), ...done];
      await request(governed, denied, script, { approver: 'grace', forgets: true });
      await expect(approveLater()).rejects.toMatchObject({ code: 'confirmation.decided' });
      expect(pay).not.toHaveBeenCalled();
    });

    test('is refused if the run names no person to record it for', async () => {
      const { governed, denied } = await hold(() => 'paid');
      await expect(governed.run({ sessionId }).takeApprovals(denied)).rejects.toMatchObject({
        code: 'confirmation.forbidden',
      });
    });

    test('after an approval elsewhere changes nothing, and the host learns who decided', async () => {
      const pay = vi.fn<() => string>(() => 'paid');
      const { governed, denied, approved, approveLater } = await hold(pay);
      await approveLater();
      await expect(request(governed, denied, done, { approver: 'grace' })).rejects.toMatchObject({
        code: 'confirmation.decided',
        message: expect.stringContaining('ada had already approved it') as string,
      });
      const { messages } = await request(governed, approved, done, { approver: 'grace' });
      expect(toolParts(messages)).toMatchObject([{ state: 'output-available', output: 'paid' }]);
      expect(pay).toHaveBeenCalledOnce();
    });

    test('a denial in the page and an approval there runs the call once', async () => {
      const pay = vi.fn<() => string>(() => 'paid');
      const { governed, approved } = await hold(pay);
      const { messages } = await request(governed, approved, done, { approver: 'grace' });
      expect(toolParts(messages)).toMatchObject([{ state: 'output-available', output: 'paid' }]);
      expect(pay).toHaveBeenCalledOnce();
    });
  });

  test.each([
    ['nothing', undefined],
    ['an object', { messages: [] }],
    ['a text', 'Go.'],
    ['a list of texts', ['Go.']],
    ['a message without content', [{ role: 'user' }]],
    ['a message whose content is a number', [{ role: 'user', content: 5 }]],
    ['a message of an unknown role', [{ role: 'robot', content: 'Go.' }]],
    ['parts that are not objects', [{ role: 'assistant', parts: ['text'] }]],
    ['a result of the SDK', [{ type: 'tool-approval-response', approvalId: 'a', approved: false }]],
  ])('takeApprovals refuses %s', async (_, messages) => {
    const { takeApprovals } = (await govern(define({ pay: () => 'paid' }))).run({ sessionId });
    await expect(takeApprovals(messages as never)).rejects.toThrow(
      /takeApprovals expects the messages of the run/,
    );
  });
});
