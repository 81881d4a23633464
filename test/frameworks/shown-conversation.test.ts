/** The conversation before a call, recorded for approvers, through every framework that passes its messages. */
import type { Runtime } from 'quittance';
import { governTools as governAnthropic } from '@quittance/anthropic';
import { governTools as governOpenAi } from '@quittance/openai';
import { governTools as governOpenAiAgents } from '@quittance/openai-agents';
import { RunContext, tool } from '@openai/agents';
import { expect, test } from 'vitest';
import type { Harness } from './suite/harness.ts';

const attrsOf = async (runtime: Runtime): Promise<unknown> =>
  (await runtime.calls.list({ sessionId: 's' }))[0]?.attrs;

const pay = { name: 'pay', parameters: { cents: 'number' }, run: () => 'paid' } as const;
const script = [{ calls: [{ id: 'c1', name: 'pay', arguments: { cents: 5 } }] }, { text: 'Done.' }] as const;

test.each<[string, () => Promise<{ readonly default: Harness }>]>([
  ['AI SDK 7', () => import('./harnesses/ai-sdk-7.ts')],
  ['AI SDK 6', () => import('./harnesses/ai-sdk-6.ts')],
  ['LangChain', () => import('./harnesses/langchain.ts')],
  ['LangGraph', () => import('./harnesses/langgraph.ts')],
  ['Mastra', () => import('./harnesses/mastra.ts')],
  ['Google ADK', () => import('./harnesses/google-adk.ts')],
  ['Google GenAI SDK', () => import('./harnesses/google-genai.ts')],
])(
  '%s: the messages of the run are recorded with the call if the host wants it, with the metadata of the turn',
  async (_, load) => {
    const harness = (await load()).default;
    const turn = { attrs: { ticket: 'T-1' } };
    const shown = await harness.start([pay], { showConversation: true, turn });
    await shown.run(script, { sessionId: 's' });
    expect(await attrsOf(shown.runtime)).toEqual({
      ticket: 'T-1',
      conversation: [{ role: 'user', text: 'Go.' }],
    });
    const silent = await harness.start([pay], { turn });
    await silent.run(script, { sessionId: 's' });
    expect(await attrsOf(silent.runtime)).toEqual({ ticket: 'T-1' });
  },
);

const long = 'x'.repeat(5_000);
const messages = [
  { role: 'system', content: 'The house rules are confidential.' },
  ...Array.from({ length: 9 }, (__, n) => ({ role: 'user', content: `Message ${n}` })),
  { role: 'assistant', content: [{ type: 'text', text: 'I look it up.' }] },
  { role: 'tool', content: 'secret result' },
  { role: 'user', content: `My card is 4111 1111 1111 1111. ${long}` },
];

test('[secrets-stay-out] plain loops record the messages they are given: the last few, cut, redacted, without prompts and results', async () => {
  const tools = { pay: () => 'paid' };
  const anthropic = await governAnthropic(tools, { showConversation: true });
  await anthropic
    .run({ sessionId: 's' })
    .answer([{ type: 'tool_use', id: 'c', name: 'pay', input: {} }], { conversation: messages });
  const openAi = await governOpenAi(tools, { showConversation: { messages: 3 } });
  await openAi.run({ sessionId: 's' }).answerResponse(
    { output: [{ type: 'function_call', call_id: 'c', name: 'pay', arguments: '{}' }] } as never, // as the API answers
    { conversation: messages },
  );
  const [six, three] = (await Promise.all(
    [anthropic, openAi].map(async ({ runtime }) => attrsOf(runtime)),
  )) as { conversation: { role: string; text: string }[] }[];
  expect(six?.conversation.map(({ role }) => role)).toEqual([
    'user',
    'user',
    'user',
    'user',
    'assistant',
    'user',
  ]);
  expect(six?.conversation[0]?.text).toBe('Message 5');
  expect(three?.conversation).toEqual(six?.conversation.slice(-3));
  const text = JSON.stringify([six, three]);
  expect(text).not.toMatch(/confidential|secret result|4111 1111/);
  expect(text.length).toBeLessThan(5_000);
});

test('OpenAI Agents: the items that the host gives are recorded with the call', async () => {
  const given = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: {}, required: [], additionalProperties: true } as const,
    strict: false,
    execute: () => 'paid',
  });
  const governed = await governOpenAiAgents([given], {
    showConversation: true,
    conversation: () => [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Pay it.' }] },
    ],
  });
  const context = new RunContext({ sessionId: 's' });
  await governed.tools[0].invoke(context as never, '{}', {
    toolCall: { callId: 'c', arguments: '{}' },
  } as never);
  expect(await attrsOf(governed.runtime)).toEqual({ conversation: [{ role: 'user', text: 'Pay it.' }] });
});

test('another value of the option is refused', async () => {
  for (const showConversation of ['yes', 3, { messages: 0 }, { messages: 21 }, { messages: 1.5 }])
    await expect(
      governAnthropic({ pay: () => 1 }, { showConversation: showConversation as never }),
    ).rejects.toMatchObject({ code: 'config.invalid' });
});
