/** The tools that the scenarios of the official suite call, as their descriptions ask for them. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { MissingRequiredClientCapabilityError, ProtocolError } from '@modelcontextprotocol/server';
import type {
  CreateMessageRequest,
  ElicitRequestFormParams,
  ServerContext,
} from '@modelcontextprotocol/server';
import type { FixtureTasks } from './fixture-tasks.ts';
import { clientCapabilities, mayUseTasks, requireTasks } from './fixture-tasks.ts';

type Facts = Record<string, unknown>;

export type FixtureTool = {
  readonly inputSchema?: Facts;
  readonly run: (args: Facts, ctx: ServerContext) => unknown;
};

/** What the tools change or announce outside of their own call. */
export type FixtureHost = {
  readonly tasks: FixtureTasks;
  readonly changeTools: () => void;
  readonly changePrompts: () => void;
};

export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

export const text = (said: string, isError = false): Facts => ({
  content: [{ type: 'text', text: said }],
  ...(isError && { isError }),
});

const pause = (delayMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, delayMs));

export const elicit = (message: string, properties: Facts): Facts => ({
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties, required: Object.keys(properties) },
  },
});
const sample = (said: string, maxTokens: number): Facts => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: said } }], maxTokens },
});
const listRoots: Facts = { method: 'roots/list', params: {} };

const needInput = (inputRequests: Facts, requestState?: string): Facts => ({
  resultType: 'input_required',
  inputRequests,
  ...(requestState !== undefined && { requestState }),
});

/** The state that a client brings back is signed. */
const key = randomBytes(32);
const sign = (state: string): string =>
  `${state}.${createHmac('sha256', key).update(state).digest('base64url')}`;
function verify(given: unknown): string {
  const [state = '', mac = ''] = typeof given === 'string' ? given.split('.') : [];
  const [expected, found] = [sign(state).split('.')[1] ?? '', mac].map((part) => Buffer.from(part ?? ''));
  if (expected?.length === found?.length && timingSafeEqual(expected ?? key, found ?? key)) return state;
  throw new ProtocolError(-32_602, 'Invalid or expired requestState');
}

/** The accepted answer to an input request. Undefined if it is missing or not an object. */
function answerOf(ctx: ServerContext, name: string): Facts | undefined {
  const answer = ctx.mcpReq.inputResponses?.[name];
  return typeof answer === 'object' && answer !== null ? (answer as Facts) : undefined;
}

function contentOf(ctx: ServerContext, name: string, field: string): unknown {
  const answer = answerOf(ctx, name);
  const value = (answer?.['content'] as Facts | undefined)?.[field];
  return answer?.['action'] === 'accept' && value !== undefined ? value : undefined;
}

const asObject = (properties: Facts, required: readonly string[] = Object.keys(properties)): Facts => ({
  type: 'object',
  properties,
  required,
});

const anyText = { type: 'string' };

/** Elicitation in the old era: the server asks while the call runs. */
async function elicitNow(ctx: ServerContext, message: string, properties: Facts): Promise<Facts> {
  const requestedSchema = { type: 'object', properties } as ElicitRequestFormParams['requestedSchema'];
  const { action, content } = await ctx.mcpReq.elicitInput({ mode: 'form', message, requestedSchema });
  return text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
}

const titled = (word: string): Facts[] =>
  ['First', 'Second', 'Third'].map((nth, index) => ({ const: `value${index + 1}`, title: `${nth} ${word}` }));
const options = ['option1', 'option2', 'option3'];

export function createFixtureTools({
  tasks,
  changeTools,
  changePrompts,
}: FixtureHost): Readonly<Record<string, FixtureTool>> {
  return {
    test_simple_text: { run: () => text('This is a simple text response for testing.') },
    test_image_content: { run: () => ({ content: [{ type: 'image', data: png, mimeType: 'image/png' }] }) },
    test_audio_content: { run: () => ({ content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }] }) },
    test_embedded_resource: {
      run: () => ({
        content: [
          {
            type: 'resource',
            resource: {
              uri: 'test://embedded-resource',
              mimeType: 'text/plain',
              text: 'This is an embedded resource content.',
            },
          },
        ],
      }),
    },
    test_multiple_content_types: {
      run: () => ({
        content: [
          { type: 'text', text: 'Multiple content types test:' },
          { type: 'image', data: png, mimeType: 'image/png' },
          {
            type: 'resource',
            resource: {
              uri: 'test://mixed-content-resource',
              mimeType: 'application/json',
              text: '{"test":"data","value":123}',
            },
          },
        ],
      }),
    },
    test_error_handling: { run: () => text('This tool intentionally returns an error for testing', true) },
    test_tool_with_logging: { run: (_, ctx) => logThrice(ctx) },
    test_logging_tool: { run: (_, ctx) => logThrice(ctx) },
    test_tool_with_progress: {
      async run(_, ctx) {
        const progressToken = ctx.mcpReq._meta?.progressToken;
        for (const progress of [0, 50, 100]) {
          if (progressToken !== undefined)
            await ctx.mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken, progress, total: 100 },
            });
          if (progress < 100) await pause(50);
        }
        return text('Progress completed');
      },
    },
    test_sampling: {
      inputSchema: asObject({ prompt: anyText }),
      async run({ prompt }, ctx) {
        const params = sample(String(prompt), 100)['params'] as CreateMessageRequest['params'];
        const { content } = await ctx.mcpReq.requestSampling(params);
        const [part] = [content].flat();
        return text(`LLM response: ${part?.type === 'text' ? part.text : 'none'}`);
      },
    },
    test_elicitation: {
      inputSchema: asObject({ message: anyText }),
      run: ({ message }, ctx) =>
        elicitNow(ctx, String(message), {
          username: { type: 'string', description: "User's response" },
          email: { type: 'string', description: "User's email address" },
        }),
    },
    test_elicitation_sep1034_defaults: {
      run: (_, ctx) =>
        elicitNow(ctx, 'Please review', {
          name: { type: 'string', default: 'John Doe' },
          age: { type: 'integer', default: 30 },
          score: { type: 'number', default: 95.5 },
          status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
          verified: { type: 'boolean', default: true },
        }),
    },
    test_elicitation_sep1330_enums: {
      run: (_, ctx) =>
        elicitNow(ctx, 'Please choose', {
          untitledSingle: { type: 'string', enum: options },
          titledSingle: { type: 'string', oneOf: titled('Option') },
          legacyEnum: {
            type: 'string',
            enum: ['opt1', 'opt2', 'opt3'],
            enumNames: ['Option One', 'Option Two', 'Option Three'],
          },
          untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
          titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
        }),
    },
    json_schema_2020_12_tool: { inputSchema: schema2020, run: () => text('ok') },
    test_header_param: {
      inputSchema: asObject({ region: { type: 'string', 'x-mcp-header': 'Region' } }),
      run: ({ region }) => text(`Region ${String(region)}`),
    },
    test_missing_capability: {
      run(_, ctx) {
        if (clientCapabilities(ctx)['sampling'] !== undefined) return text('The client can sample.');
        throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
      },
    },
    test_streaming_elicitation: {
      run: (_, ctx) =>
        contentOf(ctx, 'answer', 'ok') === undefined
          ? needInput({ answer: elicit('Go on?', { ok: { type: 'boolean' } }) })
          : text('done'),
    },
    test_trigger_tool_change: { run: () => (changeTools(), text('The tools changed.')) },
    test_trigger_prompt_change: { run: () => (changePrompts(), text('The prompts changed.')) },
    test_input_required_result_elicitation: {
      run(_, ctx) {
        const name = contentOf(ctx, 'user_name', 'name');
        return typeof name === 'string'
          ? text(`Hello, ${name}!`)
          : needInput({ user_name: elicit('What is your name?', { name: anyText }) });
      },
    },
    test_input_required_result_sampling: {
      run(_, ctx) {
        const answer = answerOf(ctx, 'capital_question');
        const content = answer?.['content'] as Facts | undefined;
        return content === undefined
          ? needInput({ capital_question: sample('What is the capital of France?', 100) })
          : text(String(content['text']));
      },
    },
    test_input_required_result_list_roots: {
      run(_, ctx) {
        const roots = answerOf(ctx, 'client_roots')?.['roots'];
        return Array.isArray(roots)
          ? text(`Roots: ${JSON.stringify(roots)}`)
          : needInput({ client_roots: listRoots });
      },
    },
    test_input_required_result_request_state: {
      run(_, ctx) {
        if (answerOf(ctx, 'confirm') === undefined)
          return needInput(
            { confirm: elicit('Please confirm', { ok: { type: 'boolean' } }) },
            sign('confirm'),
          );
        return text(`state-ok ${verify(ctx.mcpReq.requestState())}`);
      },
    },
    test_input_required_result_tampered_state: {
      run(_, ctx) {
        if (ctx.mcpReq.requestState() === undefined)
          return needInput(
            { confirm: elicit('Please confirm', { ok: { type: 'boolean' } }) },
            sign('tamper'),
          );
        return text(`state-ok ${verify(ctx.mcpReq.requestState())}`);
      },
    },
    test_input_required_result_multiple_inputs: {
      run(_, ctx) {
        const names = ['user_name', 'greeting', 'client_roots'];
        if (names.every((name) => answerOf(ctx, name) !== undefined)) {
          verify(ctx.mcpReq.requestState());
          return text('All inputs received.');
        }
        return needInput(
          {
            user_name: elicit('What is your name?', { name: anyText }),
            greeting: sample('Generate a greeting', 50),
            client_roots: listRoots,
          },
          sign('multiple'),
        );
      },
    },
    test_input_required_result_multi_round: {
      run(_, ctx) {
        const state = ctx.mcpReq.requestState();
        if (state === undefined || (answerOf(ctx, 'step1') ?? answerOf(ctx, 'step2')) === undefined)
          return needInput(
            { step1: elicit('Step 1: What is your name?', { name: anyText }) },
            sign('round1'),
          );
        if (verify(state) === 'round1')
          return needInput(
            { step2: elicit('Step 2: What is your favorite color?', { color: anyText }) },
            sign('round2'),
          );
        return text('All rounds completed.');
      },
    },
    test_input_required_result_capabilities: {
      run(_, ctx) {
        if (Object.keys(ctx.mcpReq.inputResponses ?? {}).length > 0) return text('Inputs received.');
        const capabilities = clientCapabilities(ctx);
        const requests = {
          ...(capabilities['elicitation'] !== undefined && {
            user_name: elicit('What is your name?', { name: anyText }),
          }),
          ...(capabilities['sampling'] !== undefined && { greeting: sample('Generate a greeting', 50) }),
        };
        return Object.keys(requests).length > 0
          ? needInput(requests)
          : text('The client has no capabilities.');
      },
    },
    greet: { inputSchema: asObject({ name: anyText }), run: ({ name }) => text(`Hello, ${String(name)}!`) },
    slow_compute: {
      inputSchema: asObject({ seconds: { type: 'number' } }, []),
      async run({ seconds = 0 }, ctx) {
        const delayMs = Number(seconds) * 1_000;
        if (mayUseTasks(ctx) && delayMs > 0)
          return tasks.create((task) => tasks.after(task, delayMs, text('done')));
        await pause(Math.min(delayMs, 2_000));
        return text('done');
      },
    },
    failing_job: {
      run: (_, ctx) => (
        requireTasks(ctx),
        tasks.create((task) => tasks.after(task, 1_000, text('the job failed', true)))
      ),
    },
    protocol_error_job: {
      run: (_, ctx) => (requireTasks(ctx), tasks.create((task) => tasks.failAfter(task, 200))),
    },
    confirm_delete: {
      run: (_, ctx) => (
        requireTasks(ctx),
        tasks.create((task) =>
          tasks.ask(task, { confirm: elicit('Delete?', { confirm: { type: 'boolean' } }) }, () =>
            tasks.complete(task, text('deleted')),
          ),
        )
      ),
    },
    multi_input: {
      run: (_, ctx) => (
        requireTasks(ctx),
        tasks.create((task) =>
          tasks.ask(
            task,
            {
              first: elicit('One?', { ok: { type: 'boolean' } }),
              second: elicit('Two?', { ok: { type: 'boolean' } }),
            },
            () => tasks.complete(task, text('both')),
          ),
        )
      ),
    },
    test_tool_with_task: {
      run(_, ctx) {
        requireTasks(ctx);
        const answer = answerOf(ctx, 'user_name');
        if (answer === undefined) return needInput({ user_name: elicit('Name?', { name: anyText }) });
        const [name] = Object.values((answer['content'] ?? {}) as Facts);
        return tasks.create((task) => tasks.after(task, 100, text(`Hello, ${String(name)}!`)));
      },
    },
  };
}

async function logThrice(ctx: ServerContext): Promise<Facts> {
  for (const said of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
    await ctx.mcpReq.log('info', said);
    await pause(50);
  }
  return text('Logging completed');
}

const schema2020: Facts = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: anyText, city: anyText },
    },
  },
  properties: {
    name: anyText,
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: anyText,
    email: anyText,
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};
