import { describe, expect, test } from 'vitest';
import { governTools } from './govern-tools.ts';

const unsafe = (why: string) =>
  expect.objectContaining({
    code: 'adapter.unsafe',
    message: expect.stringContaining(why) as string,
  }) as Error;

/** Classes as a version of the framework might have them, with the parts the adapter reads. */
describe('the self-test', () => {
  test('accepts a framework whose tools run the function behind `call`', async () => {
    class Sound {
      readonly name: string = 'pay';
      readonly schema = { type: 'object' };
      invoke(toolCall: { readonly args: unknown }, config: object): Promise<unknown> {
        return this.call(toolCall.args, { ...config, toolCall });
      }
      async call(args: unknown, config: object): Promise<unknown> {
        return { content: await this._call(args, undefined, config) };
      }
      _call(_args: unknown, _runManager: unknown, _config: object): unknown {
        return 'paid';
      }
    }
    const { tools } = await governTools([new Sound()]);
    expect(tools.map(({ name }) => name)).toEqual(['pay', 'read_artifact']);
  });

  test("refuses a framework that runs another function than the tool's", async () => {
    const made: { readonly name: string; readonly _call: () => unknown }[] = [];
    class Remembering {
      readonly name: string = 'pay';
      readonly schema = { type: 'object' };
      constructor() {
        made.push(this);
      }
      async invoke(): Promise<unknown> {
        return made.find(({ name }) => name === this.name)?._call();
      }
      async call(): Promise<unknown> {
        return this._call();
      }
      _call(): unknown {
        return 'paid';
      }
    }
    await expect(governTools([new Remembering()])).rejects.toThrow(unsafe('still ran'));
  });

  test('refuses a framework whose tools answer by themselves', async () => {
    class Mute {
      readonly name: string = 'pay';
      readonly schema = { type: 'object' };
      async invoke(): Promise<unknown> {
        return 'done';
      }
      async call(): Promise<unknown> {
        return 'done';
      }
    }
    await expect(governTools([new Mute()])).rejects.toThrow(unsafe('never reached the ledger'));
  });
});

test('refuses a list without a tool of the framework, and says what is missing', async () => {
  await expect(governTools([{ type: 'web_search', name: 'web_search' }])).rejects.toThrow(
    /At least one must be made by tool\(…\)/,
  );
});

test('accepts an empty list: an agent without tools', async () => {
  const { tools, wrapToolCall } = await governTools([]);
  expect(tools).toEqual([]);
  const request = { toolCall: { id: 'c1', name: 'invented', args: {} }, tool: undefined };
  const answer = await wrapToolCall(request as never, (async () => 'no such tool') as never);
  expect(answer).toBe('no such tool');
  await expect(
    wrapToolCall({ ...request, tool: { name: 'invented' } } as never, (async () => 'ran') as never),
  ).rejects.toThrow('invented');
});

test.each([[{}], [{ pay: {} }], [undefined], ['pay']])(
  'refuses tools that are not a list: %j',
  async (tools) => {
    await expect(governTools(tools as never)).rejects.toThrow('expects a list of tools');
  },
);
